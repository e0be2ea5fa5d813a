//! Simulation (PERM-15): judges past calls by the rules in force and by a draft of other rules.
//!
//! Calls are judged as if they came now, with the current servers, tools and access classes. Only the rules
//! and the managed policy are applied; pauses, late approvals and answers of users aren't. Records don't say
//! for certain which program or session a call came from, so rules are applied as if every call came from the
//! program that they are bound to, and rules for a session cover nothing. A rule for one exact call is found
//! only if its client wrote the arguments exactly as records store them. The user's own calls in Gatehouse's
//! window are left out, since they need no approval. Paths are resolved as they are now; if a slow disk
//! doesn't resolve one in time, an allow with a condition on it doesn't count, and a deny does. A simulation
//! stores and changes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::json::{Json, read};
use gatehouse_model::ask::Subject;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::record::CallFilter;
use gatehouse_model::rehearsal::{Rehearsal, RehearsedChange, Tally};
use gatehouse_model::secret::REDACTED;
use gatehouse_model::{
    CallHash, CallRecord, ClientId, Decision, Effect, ErrorCode, Grant, GrantId, Problem, RuleAuthor,
    ServerConfig, ServerId, Timestamp, Verdict, Width,
};
use gatehouse_policy::exact::{ExactCall, call_hash};
use gatehouse_policy::verdict::{CallFacts, RuleBook, Standing};
use gatehouse_store::{Store, StoreError};
use tokio::time::Instant;

use crate::call::Caller;
use crate::catalogue::Catalogue;
use crate::manager::ToolManager;
use crate::origin::{Known, Origin};
use crate::path_lookup::{self, KnownPaths, PathLookup};
use crate::rights::{Keeper, PresetOrder, RuleOrder, no_rule, nothing_left};
use crate::rules::{put, take_out};
use crate::standing::RightsNow;

/// Most calls that are simulated.
const MOST: usize = 50_000;
/// The program that every call and every rule is simulated with.
const PROGRAM: &str = "program";
/// Records that are in memory at a time.
const PAGE: u32 = 500;
/// Total time that a simulation waits for path look-ups.
const PATHS_TIME: Duration = Duration::from_secs(5);

/// A draft of rules, applied to those in force in this order: revoke, set, add.
#[derive(Clone, Debug, Default)]
pub struct DraftOrder {
    /// Rules that would be revoked.
    pub without: Vec<GrantId>,
    /// Auto-approve settings that would be set.
    pub presets: Vec<PresetOrder>,
    /// Rules that would be added.
    pub rules: Vec<(Effect, RuleOrder)>,
}

impl ToolManager {
    /// Judges the calls since a point in time by the rules in force and by a draft, and reports the
    /// differences. Nothing is changed. Rules of the draft have the ids `draft-1`, `draft-2` and so on, in the
    /// order in which they are made.
    ///
    /// # Errors
    /// If the draft is invalid, or the records can't be read.
    pub async fn rehearse(&self, since: Timestamp, draft: DraftOrder) -> Result<Rehearsal, Problem> {
        let inner = &self.inner;
        inner.refresh().await;
        let keeper = &inner.rights.inner;
        let rights = Arc::clone(&keeper.now());
        let rules: Vec<Grant> = rights.rules().cloned().collect();
        let now = Books::new(&rules);
        let draft = Books::new(&drafted(keeper, rules, &draft)?);
        let catalogue = keeper.catalogue.load_full();
        let configs: Vec<_> = inner.servers.handles().into_iter().map(|handle| handle.config()).collect();
        let (servers, store, moment) = (inner.servers.clone(), inner.store.clone(), keeper.time());
        let play = aside(move || {
            let server = |config: Arc<ServerConfig>| {
                let forbidden = servers.forbids(&config);
                (config.id.clone(), ServerNow { config, forbidden })
            };
            let servers = configs.into_iter().filter(|config| config.enabled).map(server).collect();
            // Records of the last moments may not be on disk yet.
            store.activity().flush();
            Play::new(store, since, Stage { now, draft, rights, catalogue, servers, moment })
        });
        play.await?.finish(&inner.shown_paths).await
    }
}

/// Runs blocking or long work on a blocking thread.
async fn aside<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Problem::new(ErrorCode::Internal, "The rehearsal broke off.").why(format!("{error}."))
    })
}

/// The rules as the draft would make them.
fn drafted(keeper: &Keeper, mut rules: Vec<Grant>, draft: &DraftOrder) -> Result<Vec<Grant>, Problem> {
    let mut made = 0;
    let mut name = || {
        made += 1;
        GrantId::new(format!("draft-{made}"))
    };
    if let Some(unknown) = draft.without.iter().find(|id| !rules.iter().any(|rule| rule.id == **id)) {
        return Err(no_rule(unknown));
    }
    rules.retain(|rule| !draft.without.contains(&rule.id));
    for order in &draft.presets {
        for preset in keeper.presets(order)? {
            take_out(&mut rules, |rule| preset.replaces(rule));
            if preset.sets_a_rule() {
                rules.extend(keeper.preset_rule(&preset, name()));
            }
        }
    }
    for (effect, order) in &draft.rules {
        let draft = keeper.order(*effect, order.clone(), None, RuleAuthor::Person)?;
        keeper.has_its_tool(&draft)?;
        let rule = keeper.rule_called(name(), &draft)?.ok_or_else(nothing_left)?;
        put(&mut rules, rule);
    }
    Ok(rules)
}

/// Indexed rules: one book for calls with known arguments, and one for the others. In the latter, allows with
/// conditions don't count, and denies do regardless of their conditions.
struct Books {
    whole: RuleBook,
    blind: RuleBook,
    /// Whether any rule is for one exact call.
    know_calls: bool,
    /// Whether any rule has a condition on a resolved path.
    know_paths: bool,
}

impl Books {
    fn new(rules: &[Grant]) -> Self {
        let of_program = |rule: &Grant| Grant { program: Some(PROGRAM.to_owned()), ..rule.clone() };
        let whole: Vec<Grant> = rules.iter().map(of_program).collect();
        let counts = |rule: &&Grant| rule.effect == Effect::Deny || rule.conditions.is_empty();
        let blind = whole
            .iter()
            .filter(counts)
            .map(|rule| Grant { conditions: Vec::new(), ..rule.clone() })
            .collect();
        let know_calls = rules.iter().any(|rule| matches!(rule.width, Width::Call { .. }));
        let is_inside = |condition: &Condition| matches!(condition.test, ConditionTest::Inside { .. });
        let know_paths = rules.iter().flat_map(|rule| &rule.conditions).any(is_inside);
        Self { whole: RuleBook::new(whole), blind: RuleBook::new(blind), know_calls, know_paths }
    }

    fn decide(&self, call: &CallFacts<'_>, is_whole: bool) -> Verdict {
        if is_whole { self.whole.decide(call) } else { self.blind.decide(call) }
    }
}

/// The current state of a server.
struct ServerNow {
    config: Arc<ServerConfig>,
    /// Why the managed policy forbids it.
    forbidden: Option<String>,
}

/// The current state that calls are judged in.
struct Stage {
    now: Books,
    draft: Books,
    rights: Arc<RightsNow>,
    catalogue: Arc<Catalogue>,
    servers: HashMap<ServerId, ServerNow>,
    moment: Timestamp,
}

/// The two verdicts on one call.
struct Judged {
    now: Verdict,
    draft: Verdict,
    /// Whether its arguments are known.
    is_whole: bool,
}

impl Stage {
    /// The paths that [`Self::judge`] needs.
    fn paths(&self, record: &CallRecord, known: &KnownPaths) -> Vec<String> {
        if !self.now.know_paths && !self.draft.know_paths {
            return Vec::new();
        }
        let paths = self.with_facts(record, known, |facts, is_whole| {
            if is_whole {
                [self.now.whole.paths(facts), self.draft.whole.paths(facts)].concat()
            } else {
                Vec::new()
            }
        });
        paths.unwrap_or_default()
    }

    /// Judges one call; `None` if its server or tool no longer exists.
    fn judge(&self, record: &CallRecord, known: &KnownPaths) -> Option<Judged> {
        self.with_facts(record, known, |facts, is_whole| {
            let (now, draft) = (self.now.decide(facts, is_whole), self.draft.decide(facts, is_whole));
            Judged { now, draft, is_whole }
        })
    }

    /// Calls `work` with the facts of one call and whether its arguments are known; `None` if its server or
    /// tool no longer exists.
    fn with_facts<R>(
        &self,
        record: &CallRecord,
        known: &KnownPaths,
        work: impl FnOnce(&CallFacts<'_>, bool) -> R,
    ) -> Option<R> {
        let ServerNow { config, forbidden } = self.servers.get(&record.server)?;
        let Known { class, origin, lists: _ } = match &record.subject {
            Subject::Tool { name } => {
                let tool = self.catalogue.find(&record.server, name)?;
                let origin = Origin::Tool(tool.definition.clone());
                Known { class: self.rights.class_of(tool).clone(), origin, lists: None }
            }
            subject @ (Subject::Resource { .. } | Subject::Prompt { .. } | Subject::Completion { .. }) => {
                self.catalogue.origin(&record.server, config.generation, subject)
            }
        };
        let binding = config.binding();
        let subject = record.subject.rule_name();
        let kept = record.arguments.as_deref().filter(|text| !text.contains(REDACTED));
        let arguments = kept.and_then(|text| read(text).ok());
        let is_whole = arguments.is_some();
        let hash = match kept {
            Some(text) if is_whole && (self.now.know_calls || self.draft.know_calls) => {
                call_hash(&ExactCall {
                    client: &record.client,
                    server: &binding,
                    subject: &subject,
                    fingerprint: origin.fingerprint(),
                    arguments: text,
                })
            }
            // Matches no rule.
            _ => CallHash::from(""),
        };
        let facts = CallFacts {
            client: &record.client,
            session: None,
            program: Some(PROGRAM),
            server: &binding,
            subject: &subject,
            class: &class,
            definition: origin.defined(),
            arguments: &arguments.unwrap_or(Json::Null),
            hash: &hash,
            now: self.moment,
            resolve_path: &|path: &str| known.resolve(path),
            standing: Standing {
                blocked_by_file: forbidden.as_deref(),
                paused: false,
                verified: self.rights.verified,
                ticket: None,
            },
        };
        Some(work(&facts, is_whole))
    }
}

/// A simulation in progress.
struct Play {
    store: Arc<Store>,
    since: Timestamp,
    stage: Stage,
    filter: CallFilter,
    looked_at: usize,
    /// Calls that were read and not judged yet.
    page: Vec<CallRecord>,
    known: KnownPaths,
    report: Report,
    /// Whether there were more calls than the maximum.
    cut: bool,
    /// Whether all calls to simulate were read.
    all_read: bool,
}

impl Play {
    fn new(store: Arc<Store>, since: Timestamp, stage: Stage) -> Self {
        Self {
            store,
            since,
            stage,
            filter: CallFilter { limit: Some(PAGE), ..CallFilter::default() },
            looked_at: 0,
            page: Vec::new(),
            known: KnownPaths::default(),
            report: Report::default(),
            cut: false,
            all_read: false,
        }
    }

    /// Reads the calls, newest first, and judges each.
    async fn finish(self, lookup: &PathLookup) -> Result<Rehearsal, Problem> {
        let mut play = self;
        let mut waited = Duration::ZERO;
        while !play.all_read {
            let (turned, missing) = aside(move || {
                let missing = play.read();
                (play, missing)
            })
            .await?;
            play = turned;
            // As many at a time as are looked up at once, so that each has the whole time limit.
            for paths in missing?.chunks(path_lookup::AT_ONCE) {
                if waited < PATHS_TIME {
                    let began = Instant::now();
                    lookup.look_up(paths.to_vec(), path_lookup::deadline(), &mut play.known).await;
                    waited += began.elapsed();
                }
            }
            play = aside(move || {
                play.judge();
                play
            })
            .await?;
        }
        Ok(play.report.done(play.cut))
    }

    /// Reads the next calls; returns the paths that must be looked up before they are judged. Blocks on the
    /// disk.
    fn read(&mut self) -> Result<Vec<String>, StoreError> {
        let page = self.store.activity().list(&self.filter)?;
        match page.last() {
            Some(last) => self.filter.older_than = Some(last.mark()),
            None => self.all_read = true,
        }
        let user = Caller::user().client.id.clone();
        for record in page {
            self.cut = record.at >= self.since && self.looked_at == MOST;
            if record.at < self.since || self.cut {
                self.all_read = true;
                break;
            }
            self.looked_at += 1;
            if record.client != user {
                self.page.push(record);
            }
        }
        let paths = self.page.iter().flat_map(|record| self.stage.paths(record, &self.known)).collect();
        Ok(self.known.missing(paths))
    }

    /// Judges the calls that were read.
    fn judge(&mut self) {
        for record in std::mem::take(&mut self.page) {
            let judged = self.stage.judge(&record, &self.known);
            self.report.add(&record, judged);
        }
    }
}

/// Calls of one kind that the draft decides differently; key of a change.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    client: ClientId,
    server: ServerId,
    subject: Subject,
    now: Decision,
    draft: Decision,
}

/// The report under construction; gets the newest call first.
#[derive(Default)]
struct Report {
    calls: u32,
    gone: u32,
    incomplete: u32,
    now: Tally,
    draft: Tally,
    changes: HashMap<Kind, RehearsedChange>,
}

impl Report {
    fn add(&mut self, record: &CallRecord, judged: Option<Judged>) {
        let Some(Judged { now, draft, is_whole }) = judged else {
            self.gone += 1;
            return;
        };
        self.calls += 1;
        self.incomplete += u32::from(!is_whole);
        count(&mut self.now, now.decision);
        count(&mut self.draft, draft.decision);
        if now.decision == draft.decision {
            return;
        }
        let kind = Kind {
            client: record.client.clone(),
            server: record.server.clone(),
            subject: record.subject.clone(),
            now: now.decision,
            draft: draft.decision,
        };
        let change = self.changes.entry(kind).or_insert_with(|| RehearsedChange {
            client: record.client.clone(),
            server: record.server.clone(),
            subject: record.subject.clone(),
            now: now.decision,
            draft: draft.decision,
            rule: draft.rule,
            calls: 0,
            last: record.id.clone(),
            at: record.at,
        });
        change.calls += 1;
    }

    fn done(self, cut: bool) -> Rehearsal {
        let Self { calls, gone, incomplete, now, draft, changes } = self;
        let mut changes: Vec<RehearsedChange> = changes.into_values().collect();
        changes.sort_by(|a, b| (b.calls, b.at, &b.last).cmp(&(a.calls, a.at, &a.last)));
        Rehearsal { calls, gone, incomplete, cut, now, draft, changes }
    }
}

fn count(tally: &mut Tally, decision: Decision) {
    let of = match decision {
        Decision::Allow => &mut tally.allowed,
        Decision::Ask => &mut tally.asked,
        Decision::Deny => &mut tally.denied,
    };
    *of += 1;
}
