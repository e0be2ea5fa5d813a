//! Merges the file with its confirmed copy: which entry is which server, what runs, and what waits for
//! confirmation. Pure functions. What runs never comes from the file, except for display properties and the
//! order.

use std::collections::HashSet;

use gatehouse_model::ask::{ConfigChangeAsk, ConfigChangeKind};
use gatehouse_model::server::Origin;
use gatehouse_model::{ErrorCode, Generation, Problem, ServerConfig, ServerId};
use serde_json::value::RawValue;

use super::document::RawEntry;
use super::entry::{self, Entry, Fault};
use super::name::{check_server_name, folded};
use super::{FILE, HandEdit, changes};

/// One entry of the file, and what it corresponds to.
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) raw: Box<RawValue>,
    /// The parsed entry, unless it is invalid.
    pub(super) entry: Option<Entry>,
    /// Index of its server in [`Merged::servers`].
    pub(super) server: Option<usize>,
    /// Index of its hand edit in [`Merged::edits`], if it is one.
    pub(super) edit: Option<usize>,
}

/// The file merged with its confirmed copy.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) servers: Vec<ServerConfig>,
    pub(super) problems: Vec<Problem>,
    pub(super) edits: Vec<HandEdit>,
    pub(super) slots: Vec<Slot>,
}

/// Merges the entries of the file with the confirmed copy.
pub(super) fn merge(entries: Vec<RawEntry>, confirmed: &[ServerConfig]) -> Merged {
    let mut merged = Merged::default();
    let mut used = HashSet::new();
    for RawEntry { name, raw, line } in entries {
        let read = if used.insert(folded(&name)) {
            check_server_name(&name)
                .map_err(|problem| Fault { why: problem.why.unwrap_or(problem.what), todo: problem.todo })
                .and_then(|()| entry::read(&raw))
        } else {
            Err(Fault { why: "The name is used twice (case does not count).".to_owned(), todo: None })
        };
        let entry = match read {
            Ok(entry) => Some(entry),
            Err(fault) => {
                merged.problems.push(faulty(&name, line, fault));
                None
            }
        };
        merged.slots.push(Slot { name, raw, entry, server: None, edit: None });
    }
    let owners = owners(&merged.slots, confirmed);
    for (index, owner) in owners.iter().enumerate() {
        merged.settle(index, owner.map(|owner| &confirmed[owner]));
    }
    for (index, server) in confirmed.iter().enumerate() {
        if !owners.contains(&Some(index)) {
            merged.servers.push(server.clone());
            merged.edits.push(hand_edit(ConfigChangeKind::Removed, Some(server.clone()), None));
        }
    }
    merged
}

impl Merged {
    /// Determines what one slot corresponds to.
    fn settle(&mut self, index: usize, owner: Option<&ServerConfig>) {
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
                let after = config(&slot.name, entry, (id, Generation::default(), Origin::User));
                slot.edit = Some(self.edits.len());
                self.edits.push(hand_edit(ConfigChangeKind::Added, None, Some(after)));
            }
            (Some(entry), Some(owner)) => {
                let runs = ServerConfig { look: entry.look.clone(), ..owner.clone() };
                let same = entry.transport == owner.transport;
                let generation = if same { owner.generation } else { owner.generation.next() };
                let after = config(&slot.name, entry, (owner.id.clone(), generation, owner.origin));
                slot.server = Some(running);
                if after != runs {
                    slot.edit = Some(self.edits.len());
                    let after = ServerConfig { origin: Origin::User, ..after };
                    self.edits.push(hand_edit(ConfigChangeKind::Changed, Some(runs.clone()), Some(after)));
                }
                self.servers.push(runs);
            }
        }
    }
}

fn config(
    name: &str,
    entry: &Entry,
    (id, generation, origin): (ServerId, Generation, Origin),
) -> ServerConfig {
    ServerConfig {
        id,
        generation,
        name: name.to_owned(),
        transport: entry.transport.clone(),
        enabled: entry.enabled,
        autostart: entry.autostart,
        look: entry.look.clone(),
        limits: entry.limits.clone(),
        origin,
    }
}

/// Which confirmed server each slot is: the one with its id and name; else, for an entry without a known id,
/// the one with its name; else the one with its id (renamed by hand). Each server is assigned once.
fn owners(slots: &[Slot], confirmed: &[ServerConfig]) -> Vec<Option<usize>> {
    let claims: Vec<Option<usize>> = slots
        .iter()
        .map(|slot| {
            let claimed = match &slot.entry {
                Some(entry) => entry.mark.as_ref().map(|mark| mark.id.clone()),
                None => entry::claimed_id(&slot.raw),
            };
            claimed.and_then(|id| confirmed.iter().position(|server| server.id == id))
        })
        .collect();
    let by_name = |slot: &Slot| confirmed.iter().position(|server| server.name == slot.name);
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

fn hand_edit(kind: ConfigChangeKind, before: Option<ServerConfig>, after: Option<ServerConfig>) -> HandEdit {
    let server = before.as_ref().or(after.as_ref()).map(|server| server.name.clone()).unwrap_or_default();
    let changes = changes::between(before.as_ref(), after.as_ref());
    HandEdit { ask: ConfigChangeAsk { file: FILE.to_owned(), server, changes, kind }, before, after }
}

fn faulty(name: &str, line: usize, fault: Fault) -> Problem {
    let problem = Problem::new(
        ErrorCode::BadConfig,
        format!("The server “{name}” in {FILE} (line {line}) cannot be used as it is written."),
    )
    .why(fault.why);
    match fault.todo {
        Some(todo) => problem.todo(todo),
        None => problem,
    }
}
