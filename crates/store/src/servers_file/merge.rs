//! Merges the file with its confirmed copy: which entry is which server, what runs, and what waits for
//! confirmation. Pure functions. What runs never comes from the file, except for display properties and the
//! order.

use std::collections::HashSet;

use gatehouse_model::approval::{ConfigChangeKind, ConfigChangeRequest};
use gatehouse_model::{ErrorCode, Message, MessageParam, ServerConfig, ServerId, UserError, message};
use serde_json::value::RawValue;

use super::document::RawEntry;
use super::entry::{self, ServerEntry};
use super::name::{fold_case, shown_name};
use super::problem::ConfigProblem;
use super::rules::validate_name;
use super::{FILE, HandEdit, changes};

/// How many problems of one entry its error says; the others are only mentioned.
const MAX_SENTENCES: usize = 10;

/// One entry of the file, and what it corresponds to.
pub(super) struct MergedEntry {
    pub(super) name: String,
    pub(super) raw: Box<RawValue>,
    /// The parsed entry, unless it is invalid.
    pub(super) entry: Option<ServerEntry>,
    /// Index of its server in [`MergedServers::servers`].
    pub(super) server: Option<usize>,
    /// Index of its hand edit in [`MergedServers::edits`], if it is one.
    pub(super) edit: Option<usize>,
}

/// The file merged with its confirmed copy.
#[derive(Default)]
pub(super) struct MergedServers {
    pub(super) servers: Vec<ServerConfig>,
    pub(super) problems: Vec<UserError>,
    pub(super) edits: Vec<HandEdit>,
    pub(super) slots: Vec<MergedEntry>,
}

/// Merges the entries of the file with the confirmed copy.
pub(super) fn merge(entries: Vec<RawEntry>, confirmed: &[ServerConfig]) -> MergedServers {
    let mut merged = MergedServers::default();
    let mut used = HashSet::new();
    for RawEntry { name, raw, line } in entries {
        let read = if used.insert(fold_case(&name)) {
            match validate_name(&name, None, &[]) {
                Some(problem) => Err(problem.sentence()),
                None => entry::read_stored(&raw).map_err(|problems| all_sentences(&problems)),
            }
        } else {
            Err(message!("problem.name.twice"))
        };
        let entry = match read {
            Ok(entry) => Some(entry),
            Err(fault) => {
                merged.problems.push(entry_error(FILE, &name, line, fault));
                None
            }
        };
        merged.slots.push(MergedEntry { name, raw, entry, server: None, edit: None });
    }
    let owners = match_confirmed(&merged.slots, confirmed);
    for (index, owner) in owners.iter().enumerate() {
        merged.classify(index, owner.map(|owner| &confirmed[owner]));
    }
    for (index, server) in confirmed.iter().enumerate() {
        if !owners.contains(&Some(index)) {
            merged.servers.push(server.clone());
            merged.edits.push(hand_edit(ConfigChangeKind::Removed, Some(server.clone()), None));
        }
    }
    merged
}

impl MergedServers {
    /// Determines what one slot corresponds to.
    fn classify(&mut self, index: usize, owner: Option<&ServerConfig>) {
        let slot = &mut self.slots[index];
        let running = self.servers.len();
        match (&slot.entry, owner) {
            (None, None) => {}
            (None, Some(owner)) => {
                slot.server = Some(running);
                self.servers.push(owner.clone());
            }
            (Some(entry), None) => {
                let id = ServerId::new(format!("unconfirmed:{}", slot.name));
                let after = ServerConfig::from_draft(id, entry.clone().into_draft(&slot.name));
                slot.edit = Some(self.edits.len());
                self.edits.push(hand_edit(ConfigChangeKind::Added, None, Some(after)));
            }
            (Some(entry), Some(owner)) => {
                let runs = ServerConfig { look: entry.look.clone(), ..owner.clone() };
                let after = owner.with_draft(entry.clone().into_draft(&slot.name));
                slot.server = Some(running);
                if after != runs {
                    slot.edit = Some(self.edits.len());
                    self.edits.push(hand_edit(ConfigChangeKind::Changed, Some(runs.clone()), Some(after)));
                }
                self.servers.push(runs);
            }
        }
    }
}

/// Which confirmed server each slot is: the one with its id and name; else, for an entry without a known id,
/// the one with its name; else the one with its id (renamed by hand). Each server is assigned once.
fn match_confirmed(slots: &[MergedEntry], confirmed: &[ServerConfig]) -> Vec<Option<usize>> {
    let claims: Vec<Option<usize>> = slots
        .iter()
        .map(|slot| {
            let claimed = match &slot.entry {
                Some(entry) => {
                    entry.gatehouse_member.as_ref().map(|gatehouse_member| gatehouse_member.id.clone())
                }
                None => entry::claimed_id(&slot.raw),
            };
            claimed.and_then(|id| confirmed.iter().position(|server| server.id == id))
        })
        .collect();
    let by_name = |slot: &MergedEntry| confirmed.iter().position(|server| server.name == slot.name);
    let mut owners: Vec<Option<usize>> = vec![None; slots.len()];
    let mut taken = HashSet::new();
    let passes: [&dyn Fn(usize) -> Option<usize>; 3] = [
        &|index| claims[index].filter(|claim| by_name(&slots[index]) == Some(*claim)),
        &|index| if claims[index].is_none() { by_name(&slots[index]) } else { None },
        &|index| claims[index],
    ];
    for pass in passes {
        for (index, slot_owner) in owners.iter_mut().enumerate() {
            if slot_owner.is_none()
                && let Some(owner) = pass(index)
                && taken.insert(owner)
            {
                *slot_owner = Some(owner);
            }
        }
    }
    owners
}

fn hand_edit(
    action: ConfigChangeKind,
    before: Option<ServerConfig>,
    after: Option<ServerConfig>,
) -> HandEdit {
    let server = before.as_ref().or(after.as_ref()).map(|server| server.name.clone()).unwrap_or_default();
    let changes = changes::diff_fields(before.as_ref(), after.as_ref());
    HandEdit {
        request: ConfigChangeRequest { file: FILE.to_owned(), server, changes, action, profile: None },
        before,
        after,
    }
}

/// The problems of an entry, one after the other.
pub(super) fn all_sentences(problems: &[ConfigProblem]) -> Message {
    let mut sentences: Vec<Message> =
        problems.iter().take(MAX_SENTENCES).map(ConfigProblem::sentence).collect();
    if problems.len() > MAX_SENTENCES {
        sentences.push(message!("problem.more"));
    }
    message!("problem.all", problems = MessageParam::Sentences(sentences))
}

/// The error for an entry of a file that is left out.
pub(super) fn entry_error(file: &str, name: &str, line: usize, cause: Message) -> UserError {
    UserError::new(
        ErrorCode::BadConfig,
        message!("error.store.entryUnusable", name = shown_name(name), file = file, line = line.to_string()),
    )
    .with_cause(cause)
}
