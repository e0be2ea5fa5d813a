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
use gatehouse_model::approval::Subject;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::record::CallFilter;
use gatehouse_model::secret::REDACTED;
use gatehouse_model::simulation::{DecisionCounts, SimulatedChange, SimulationReport};
use gatehouse_model::{
    CallHash, CallRecord, ClientId, Decision, ErrorCode, Grant, GrantId, RuleAuthor, RuleEffect, Scope,
    ServerConfig, ServerId, Timestamp, UserError, Verdict, message,
};
use gatehouse_policy::call_hash::{CallHashInput, call_hash};
use gatehouse_policy::verdict::{CallFacts, PolicyContext, RuleSet};
use gatehouse_store::{Store, StoreError};
use tokio::time::Instant;

use super::current::CurrentPermissions;
use super::permission_store::{AutoApproveSpec, PermissionStore, RuleSpec};
use super::rule_draft::{insert_rule, remove_rules, with_earlier_versions};
use super::user_changes::{empty_choice_error, rule_not_found};
use crate::call_types::is_user;
use crate::catalog::definition_source::{DefinitionSource, SubjectInfo};
use crate::catalog::tool_catalog::ToolCatalog;
use crate::paths::path_lookup::{self, KnownPaths, PathLookup};

/// Most calls that are simulated.
const MAX_CALLS: usize = 50_000;
/// The program that every call and every rule is simulated with.
const PROGRAM: &str = "program";
/// Records that are in memory at a time.
const PAGE_SIZE: u32 = 500;
/// Total time that a simulation waits for path look-ups.
const PATHS_TIME: Duration = Duration::from_secs(5);

/// A draft of rules, applied to those in force in this order: revoke, set, add.
#[derive(Clone, Debug, Default)]
pub struct SimulationDraft {
    /// Rules that would be revoked.
    pub without: Vec<GrantId>,
    /// Auto-approve settings that would be set.
    pub auto_approve_settings: Vec<AutoApproveSpec>,
    /// Rules that would be added.
    pub rules: Vec<(RuleEffect, RuleSpec)>,
}

impl PermissionStore {
    /// As [`crate::ToolManager::simulate`], with the catalog as it is.
    pub(crate) async fn simulate(
        &self,
        since: Timestamp,
        draft: SimulationDraft,
        paths: &PathLookup,
    ) -> Result<SimulationReport, UserError> {
        let permissions = Arc::clone(&self.now());
        let rules: Vec<Grant> = permissions.rules().cloned().collect();
        let now = SimulatedRules::new(&rules);
        let draft = SimulatedRules::new(&draft_rules(self, rules, &draft)?);
        let catalog = self.state.catalog.load_full();
        let (servers, store, moment) = (self.state.servers.clone(), self.state.store.clone(), self.time());
        let configs: Vec<_> = servers.handles().into_iter().map(|handle| handle.config()).collect();
        let run_simulation = spawn_blocking(move || {
            let server = |config: Arc<ServerConfig>| {
                let forbidden = servers.forbids(&config);
                (config.id.clone(), SimulatedServer { config, forbidden })
            };
            let servers = configs.into_iter().filter(|config| config.enabled).map(server).collect();
            // Records of the last moments may not be on disk yet.
            store.activity().flush();
            SimulationRun::new(store, since, Simulation { now, draft, permissions, catalog, servers, moment })
        });
        run_simulation.await?.finish(paths).await
    }
}

/// Runs blocking or long work on a blocking thread.
async fn spawn_blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, UserError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.tools.simulationFailed"))
            .with_cause(format!("{error}."))
    })
}

/// The rules as the draft would make them.
fn draft_rules(
    store: &PermissionStore,
    mut rules: Vec<Grant>,
    draft: &SimulationDraft,
) -> Result<Vec<Grant>, UserError> {
    let mut made = 0;
    let mut name = || {
        made += 1;
        GrantId::new(format!("draft-{made}"))
    };
    if let Some(unknown) = draft.without.iter().find(|id| !rules.iter().any(|rule| rule.id == **id)) {
        return Err(rule_not_found(unknown));
    }
    rules.retain(|rule| !draft.without.contains(&rule.id));
    for order in &draft.auto_approve_settings {
        for setting in store.auto_approve_settings(order)? {
            let rule = if setting.sets_rule() { store.auto_approve_rule(&setting, name()) } else { None };
            let rule = rule.map(|rule| with_earlier_versions(rule, &rules));
            remove_rules(&mut rules, |rule| setting.replaces(rule));
            rules.extend(rule);
        }
    }
    for (effect, order) in &draft.rules {
        let draft = store.rule_draft(*effect, order.clone(), None, RuleAuthor::Person)?;
        store.require_known_tool(&draft)?;
        let rule = store.rule_with_id(name(), &draft)?.ok_or_else(empty_choice_error)?;
        let rule = with_earlier_versions(rule, &rules);
        insert_rule(&mut rules, rule);
    }
    Ok(rules)
}

/// Indexed rules: one set for calls with known arguments, and one for the others. In the latter, allows with
/// conditions don't count, and denies do regardless of their conditions.
struct SimulatedRules {
    with_arguments: RuleSet,
    without_arguments: RuleSet,
    /// Whether any rule is for one exact call.
    has_call_rules: bool,
    /// Whether any rule has a condition on a resolved path.
    know_paths: bool,
}

impl SimulatedRules {
    fn new(rules: &[Grant]) -> Self {
        let of_program = |rule: &Grant| Grant { program: Some(PROGRAM.to_owned()), ..rule.clone() };
        let with_arguments: Vec<Grant> = rules.iter().map(of_program).collect();
        let counts = |rule: &&Grant| rule.effect == RuleEffect::Deny || rule.conditions.is_empty();
        let without_arguments = with_arguments
            .iter()
            .filter(counts)
            .map(|rule| Grant { conditions: Vec::new(), ..rule.clone() })
            .collect();
        let has_call_rules = rules.iter().any(|rule| matches!(rule.width, Scope::Call { .. }));
        let is_inside = |condition: &Condition| matches!(condition.test, ConditionTest::Inside { .. });
        let know_paths = rules.iter().flat_map(|rule| &rule.conditions).any(is_inside);
        Self {
            with_arguments: RuleSet::new(with_arguments),
            without_arguments: RuleSet::new(without_arguments),
            has_call_rules,
            know_paths,
        }
    }

    fn decide(&self, call: &CallFacts<'_>, has_arguments: bool) -> Verdict {
        if has_arguments { self.with_arguments.decide(call) } else { self.without_arguments.decide(call) }
    }
}

/// The current state of a server.
struct SimulatedServer {
    config: Arc<ServerConfig>,
    /// Why the managed policy forbids it.
    forbidden: Option<String>,
}

/// The current state that calls are judged in.
struct Simulation {
    now: SimulatedRules,
    draft: SimulatedRules,
    permissions: Arc<CurrentPermissions>,
    catalog: Arc<ToolCatalog>,
    servers: HashMap<ServerId, SimulatedServer>,
    moment: Timestamp,
}

/// The two verdicts on one call.
struct SimulatedVerdicts {
    now: Verdict,
    draft: Verdict,
    /// Whether its arguments are known.
    has_arguments: bool,
}

impl Simulation {
    /// The paths that [`Self::decide`] needs.
    fn paths(&self, record: &CallRecord, known: &KnownPaths) -> Vec<String> {
        if !self.now.know_paths && !self.draft.know_paths {
            return Vec::new();
        }
        let paths = self.with_facts(record, known, |facts, has_arguments| {
            if has_arguments {
                [self.now.with_arguments.paths(facts), self.draft.with_arguments.paths(facts)].concat()
            } else {
                Vec::new()
            }
        });
        paths.unwrap_or_default()
    }

    /// Judges one call; `None` if its server or tool no longer exists.
    fn decide(&self, record: &CallRecord, known: &KnownPaths) -> Option<SimulatedVerdicts> {
        self.with_facts(record, known, |facts, has_arguments| {
            let (now, draft) =
                (self.now.decide(facts, has_arguments), self.draft.decide(facts, has_arguments));
            SimulatedVerdicts { now, draft, has_arguments }
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
        let SimulatedServer { config, forbidden } = self.servers.get(&record.server)?;
        let SubjectInfo { class, origin, lists: _ } = match &record.subject {
            Subject::Tool { name } => {
                let tool = self.catalog.find(&record.server, name)?;
                let origin = DefinitionSource::Tool(tool.definition.clone());
                SubjectInfo { class: self.permissions.class_of(tool).clone(), origin, lists: None }
            }
            subject @ (Subject::Resource { .. }
            | Subject::Prompt { .. }
            | Subject::Completion { .. }
            | Subject::Request { .. }) => {
                self.catalog.subject_info(&record.server, config.generation, subject)
            }
        };
        let binding = config.binding();
        let kept = record.arguments.as_deref().filter(|text| !text.contains(REDACTED));
        let arguments = kept.and_then(|text| read(text).ok());
        let has_arguments = arguments.is_some();
        let hash = match kept {
            Some(text) if has_arguments && (self.now.has_call_rules || self.draft.has_call_rules) => {
                call_hash(&CallHashInput {
                    client: &record.client,
                    server: &binding,
                    subject: &record.subject.rule_name(),
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
            subject: record.subject.borrowed(),
            class: &class,
            definition: origin.definition_ref(),
            arguments: &arguments.unwrap_or(Json::Null),
            hash: &hash,
            now: self.moment,
            resolve_path: &|path: &str| known.resolve(path),
            context: PolicyContext {
                blocked_by_file: forbidden.as_deref(),
                paused: false,
                verified: self.permissions.verified,
                ticket: None,
            },
        };
        Some(work(&facts, has_arguments))
    }
}

/// A simulation in progress.
struct SimulationRun {
    store: Arc<Store>,
    since: Timestamp,
    simulation: Simulation,
    filter: CallFilter,
    looked_at: usize,
    /// Calls that were read and not judged yet.
    page: Vec<CallRecord>,
    known: KnownPaths,
    report: ReportBuilder,
    /// Whether there were more calls than the maximum.
    cut: bool,
    /// Whether all calls to simulate were read.
    all_read: bool,
}

impl SimulationRun {
    fn new(store: Arc<Store>, since: Timestamp, simulation: Simulation) -> Self {
        Self {
            store,
            since,
            simulation,
            filter: CallFilter { limit: Some(PAGE_SIZE), ..CallFilter::default() },
            looked_at: 0,
            page: Vec::new(),
            known: KnownPaths::default(),
            report: ReportBuilder::default(),
            cut: false,
            all_read: false,
        }
    }

    /// Reads the calls, newest first, and judges each.
    async fn finish(self, lookup: &PathLookup) -> Result<SimulationReport, UserError> {
        let mut run_simulation = self;
        let mut waited = Duration::ZERO;
        while !run_simulation.all_read {
            let (turned, missing) = spawn_blocking(move || {
                let missing = run_simulation.read();
                (run_simulation, missing)
            })
            .await?;
            run_simulation = turned;
            // As many at a time as are looked up at once, so that each has the whole time limit.
            for paths in missing?.chunks(path_lookup::AT_ONCE) {
                if waited < PATHS_TIME {
                    let began = Instant::now();
                    lookup.look_up(paths.to_vec(), path_lookup::deadline(), &mut run_simulation.known).await;
                    waited += began.elapsed();
                }
            }
            run_simulation = spawn_blocking(move || {
                run_simulation.decide();
                run_simulation
            })
            .await?;
        }
        Ok(run_simulation.report.finish(run_simulation.cut))
    }

    /// Reads the next calls; returns the paths that must be looked up before they are judged. Blocks on the
    /// disk.
    fn read(&mut self) -> Result<Vec<String>, StoreError> {
        let page = self.store.activity().list(&self.filter)?;
        match page.last() {
            Some(last) => self.filter.older_than = Some(last.cursor()),
            None => self.all_read = true,
        }
        for record in page {
            self.cut = record.at >= self.since && self.looked_at == MAX_CALLS;
            if record.at < self.since || self.cut {
                self.all_read = true;
                break;
            }
            self.looked_at += 1;
            if !is_user(&record.client) {
                self.page.push(record);
            }
        }
        let paths = self.page.iter().flat_map(|record| self.simulation.paths(record, &self.known)).collect();
        Ok(self.known.missing(paths))
    }

    /// Judges the calls that were read.
    fn decide(&mut self) {
        for record in std::mem::take(&mut self.page) {
            let verdicts = self.simulation.decide(&record, &self.known);
            self.report.add(&record, verdicts);
        }
    }
}

/// Calls of one kind that the draft decides differently; key of a change.
#[derive(PartialEq, Eq, Hash)]
struct ChangeKey {
    client: ClientId,
    server: ServerId,
    subject: Subject,
    now: Decision,
    draft: Decision,
}

/// The report under construction; gets the newest call first.
#[derive(Default)]
struct ReportBuilder {
    calls: u32,
    gone: u32,
    incomplete: u32,
    now: DecisionCounts,
    draft: DecisionCounts,
    changes: HashMap<ChangeKey, SimulatedChange>,
}

impl ReportBuilder {
    fn add(&mut self, record: &CallRecord, verdicts: Option<SimulatedVerdicts>) {
        let Some(SimulatedVerdicts { now, draft, has_arguments }) = verdicts else {
            self.gone += 1;
            return;
        };
        self.calls += 1;
        self.incomplete += u32::from(!has_arguments);
        count(&mut self.now, now.decision);
        count(&mut self.draft, draft.decision);
        if now.decision == draft.decision {
            return;
        }
        let kind = ChangeKey {
            client: record.client.clone(),
            server: record.server.clone(),
            subject: record.subject.clone(),
            now: now.decision,
            draft: draft.decision,
        };
        let change = self.changes.entry(kind).or_insert_with(|| SimulatedChange {
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

    fn finish(self, cut: bool) -> SimulationReport {
        let Self { calls, gone, incomplete, now, draft, changes } = self;
        let mut changes: Vec<SimulatedChange> = changes.into_values().collect();
        changes.sort_by(|a, b| (b.calls, b.at, &b.last).cmp(&(a.calls, a.at, &a.last)));
        SimulationReport { calls, gone, incomplete, cut, now, draft, changes }
    }
}

fn count(tally: &mut DecisionCounts, decision: Decision) {
    let of = match decision {
        Decision::Allow => &mut tally.allowed,
        Decision::Ask => &mut tally.asked,
        Decision::Deny => &mut tally.denied,
    };
    *of += 1;
}
