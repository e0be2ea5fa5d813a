//! What a person can order outside of a question: allow, block, take back, classify, trust.

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{AccessOverride, AutoApproved, ClientScope, CoveredTools};
use gatehouse_model::server::Counts;
use gatehouse_model::{Lifetime, ServerStatus, SessionId};

use super::change::{Plan, has_ended};
use super::*;
use crate::origin::Origin;
use crate::preset::Preset;
use crate::rules::{contains, replaces, take_out};

/// Characters that the reason of a block may have.
const LONGEST_REASON: usize = 500;
/// Blocks that there may be at a time of those that were made without the operator key.
const BLOCKS_WITHOUT_KEY: usize = 256;
/// Most conditions of such a block: all of them are tried for each call that they may be about.
const CONDITIONS_WITHOUT_KEY: usize = 1;

fn no_server(server: &ServerId) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no server {server}."))
}

pub(crate) fn no_rule(rule: &GrantId) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no rule {rule}."))
}

fn unknown_tools(servers: &[String]) -> Problem {
    let names = servers.join(", ");
    Problem::new(ErrorCode::ServerUnavailable, format!("The tools of {names} are not known yet."))
        .why("What runs without asking covers the tools that are known when it is set, so it would cover nothing.")
        .todo("Start the server first.")
}

/// For a rule that would be for one time.
pub(crate) fn nothing_left() -> Problem {
    Problem::new(ErrorCode::BadRequest, "That leaves nothing behind.")
}

impl RightsKeeper {
    /// Allows a tool or more, without a question before it.
    ///
    /// # Errors
    /// When the order makes no sense or cannot be written down; then nothing is allowed.
    pub async fn grant(&self, order: RuleOrder) -> Result<GrantId, Problem> {
        let draft = self.inner.order(Effect::Allow, order, None, RuleAuthor::Person)?;
        self.inner.has_its_tool(&draft)?;
        self.inner.put(draft, Plan::widening()).await
    }

    /// Blocks a tool or more. A block makes room only for one that ends no sooner, and one that was made on a person's
    /// word only for another such one. Without that word the block is marked as such, and where the same is blocked
    /// nearly as long already nothing is added.
    ///
    /// # Errors
    /// When the order makes no sense; [`ErrorCode::NotPermitted`] without a person's word for a reason, or where there
    /// are many blocks that were made without it; also when it cannot be written down: then it holds only until
    /// Gatehouse quits.
    pub async fn deny(
        &self,
        order: RuleOrder,
        reason: Option<String>,
        by: Authority,
    ) -> Result<GrantId, Problem> {
        if reason.is_some() && by != Authority::Operator {
            return Err(Problem::new(
                ErrorCode::NotPermitted,
                "A reason for a block needs the operator key.",
            )
            .why("Models read it as the user's own words.")
            .todo("Give the operator key, or leave the reason out."));
        }
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
            let what = format!("A reason may have {LONGEST_REASON} characters.");
            return Err(Problem::new(ErrorCode::BadRequest, what));
        }
        let draft = self.inner.order(Effect::Deny, order, reason, by.into())?;
        let plan = match by {
            Authority::Operator => Plan::narrowing_by_person(),
            Authority::Anyone | Authority::Client => Plan::narrowing(),
        };
        self.inner.put(draft, plan).await
    }

    /// Takes back an allow; it counts no more from the next call on.
    ///
    /// # Errors
    /// When there is no such allow; also when it cannot be written down: then the allow is back
    /// after a restart.
    pub async fn revoke(&self, rule: &GrantId) -> Result<(), Problem> {
        self.inner.take_back(rule, Effect::Allow).await
    }

    /// Takes back a block.
    ///
    /// # Errors
    /// When there is no such block or it cannot be written down; then the block stays.
    pub async fn unblock(&self, rule: &GrantId) -> Result<(), Problem> {
        self.inner.take_back(rule, Effect::Deny).await
    }

    /// Sets what runs without asking on a server, for every client (PERM-3). Grants of single tools
    /// and of single clients stay.
    ///
    /// # Errors
    /// When there is no such server or it cannot be written down.
    pub async fn set_auto_approve(&self, server: &ServerId, to: AutoApprove) -> Result<(), Problem> {
        self.set_preset(PresetOrder { server: Some(server.clone()), client: None, to }).await.map(drop)
    }

    /// Sets what runs without asking, on one server or on every server that there is now, for every
    /// client or for one. Only what was set so before for the same clients makes room. All of it
    /// counts or nothing. A wide grant covers the tools that are known when it is given (PERM-8), so
    /// it is given on no server whose tools are not known. Says what is covered.
    ///
    /// # Errors
    /// When there is no such server, [`ErrorCode::ServerUnavailable`] when no tools of any of the
    /// servers are known, and when it cannot be written down.
    pub async fn set_preset(&self, order: PresetOrder) -> Result<AutoApproved, Problem> {
        let is_covered = |preset: &Preset| !preset.sets_a_rule() || self.inner.knows_tools(&preset.server);
        let (presets, unknown): (Vec<Preset>, Vec<Preset>) =
            self.inner.presets(&order)?.into_iter().partition(is_covered);
        let name = |preset: &Preset| {
            let server = &preset.server.server;
            self.inner.server_name(server).unwrap_or_else(|| server.to_string())
        };
        let unknown: Vec<String> = unknown.iter().map(name).collect();
        if presets.is_empty() && !unknown.is_empty() {
            return Err(unknown_tools(&unknown));
        }
        let set = presets.clone();
        self.inner
            .change(move |keeper, now| {
                let asks = order.to == AutoApprove::Ask;
                let mut plan = if asks { Plan::narrowing_by_person() } else { Plan::widening() };
                let mut rights = now.rights.clone();
                for preset in set {
                    let gone = take_out(&mut rights.rules, |rule| preset.replaces(rule));
                    plan.audit.extend(gone.into_iter().map(|rule| AuditEvent::Revoked { rule }));
                    let (server, client, to) =
                        (preset.server.server.clone(), preset.client.clone(), preset.to);
                    plan.audit.push(AuditEvent::AutoApproveSet { server, client, to });
                    let id = GrantId::from_random(keeper.ids.next());
                    if let Some(rule) = keeper.preset_rule(&preset, id) {
                        plan.keep.extend(keeper.definitions(&rule));
                        plan.audit.push(AuditEvent::Granted { rule: Box::new(rule.clone()) });
                        rights.rules.push(rule);
                    }
                }
                plan.rights = Some(rights);
                Ok(plan)
            })
            .await?;
        let now = self.inner.now();
        let covered = |preset: &Preset| {
            let rule = now.rights.rules.iter().find(|rule| preset.replaces(rule));
            CoveredTools {
                server: preset.server.server.clone(),
                name: name(preset),
                tools: rule.map(|rule| rule.pins.keys().cloned().collect()).unwrap_or_default(),
            }
        };
        Ok(AutoApproved { servers: presets.iter().map(covered).collect(), unknown })
    }

    /// Sets the user's own access class of a tool, or clears it.
    ///
    /// # Errors
    /// When there is no such server or it cannot be written down.
    pub async fn classify(
        &self,
        server: &ServerId,
        tool: &str,
        class: Option<AccessClass>,
    ) -> Result<(), Problem> {
        let (server, tool) = (server.clone(), tool.to_owned());
        self.inner
            .change(move |keeper, now| {
                let bound = keeper.bound(&server)?;
                let mut plan = Plan::widening();
                let mut rights = now.rights.clone();
                rights.overrides.retain(|user| user.server.server != server || user.tool != tool);
                let holds = class.map(|class| AccessOverride { server: bound, tool: tool.clone(), class });
                rights.overrides.extend(holds.clone());
                plan.audit.push(AuditEvent::ClassSet { server, tool, now: holds });
                plan.rights = Some(rights);
                Ok(plan)
            })
            .await
    }

    /// Trusts a server's read-only labels, or ceases to (PERM-2).
    ///
    /// # Errors
    /// When there is no such server or it cannot be written down.
    pub async fn trust_labels(&self, server: &ServerId, trusted: bool) -> Result<(), Problem> {
        let server = server.clone();
        self.inner
            .change(move |keeper, now| {
                let mut plan = if trusted { Plan::widening() } else { Plan::narrowing_by_person() };
                let mut rights = now.rights.clone();
                rights.trusted_labels.retain(|other| other.server != server);
                if trusted {
                    rights.trusted_labels.push(keeper.bound(&server)?);
                }
                plan.audit.push(AuditEvent::LabelsTrusted { server, trusted });
                plan.rights = Some(rights);
                Ok(plan)
            })
            .await
    }

    /// Drops every right of a server that was removed.
    ///
    /// # Errors
    /// When it cannot be written down; the rights are for nothing all the same.
    pub async fn server_removed(&self, server: &ServerId) -> Result<(), Problem> {
        self.server_gone(server, None).await
    }

    /// Drops the rights of a server that was removed, or what was allowed on all that it ever was
    /// but what it is now. A deny stays as long as there is the server.
    ///
    /// # Errors
    /// When it cannot be written down; the rights are for nothing all the same.
    pub(crate) async fn server_gone(
        &self,
        server: &ServerId,
        but: Option<ServerBinding>,
    ) -> Result<(), Problem> {
        let (server, is_there) = (server.clone(), but.is_some());
        let gone = move |bound: &ServerBinding| bound.server == server && Some(bound) != but.as_ref();
        let rule_goes = {
            let gone = gone.clone();
            move |rule: &Grant| {
                rule.server.as_ref().is_some_and(&gone) && !(is_there && rule.effect == Effect::Deny)
            }
        };
        let now = self.inner.now().clone();
        let has_some = now.rules().any(&rule_goes)
            || now.rights.overrides.iter().any(|user| gone(&user.server))
            || now.rights.trusted_labels.iter().any(&gone);
        if !has_some {
            return Ok(());
        }
        let also = gone;
        self.inner
            .forget(rule_goes, move |rights| {
                rights.overrides.retain(|user| !also(&user.server));
                rights.trusted_labels.retain(|bound| !also(bound));
            })
            .await
    }

    /// Remembers what the user calls a new client, for the sentences of rules.
    pub fn client_added(&self, client: &ClientEntry) {
        self.inner.saw_client(client);
    }

    /// Drops every rule that was for a client whose access ended.
    ///
    /// # Errors
    /// When it cannot be written down; the rules are for nothing all the same.
    pub async fn client_removed(&self, client: &ClientId) -> Result<(), Problem> {
        let scope = ClientScope::One { client: client.clone() };
        self.inner.forget(move |rule| rule.clients == scope, |_| {}).await
    }
}

impl Keeper {
    /// The presets that an order means now.
    pub(crate) fn presets(&self, order: &PresetOrder) -> Result<Vec<Preset>, Problem> {
        let servers = match &order.server {
            Some(server) => vec![self.bound(server)?],
            None => self.bindings(),
        };
        let preset = |server| Preset { server, client: order.client.clone(), to: order.to };
        Ok(servers.into_iter().map(preset).collect())
    }

    /// Whether the tools of a server are known: it is connected, or was since Gatehouse started.
    fn knows_tools(&self, bound: &ServerBinding) -> bool {
        let Some(handle) = self.servers.get(&bound.server) else { return false };
        let lists = handle.lists();
        let is_connected = matches!(handle.status(), ServerStatus::Connected { .. });
        lists.generation == bound.generation && (is_connected || lists.counts() != Counts::default())
    }

    /// The rule that a preset sets now.
    pub(crate) fn preset_rule(&self, preset: &Preset, id: GrantId) -> Option<Grant> {
        self.with_items(Some(&preset.server), None, |items| preset.rule(id, self.time(), items))
    }

    /// Refuses a draft for a tool that is not known.
    pub(crate) fn has_its_tool(&self, draft: &RuleDraft) -> Result<(), Problem> {
        let (ChoiceWidth::Tool, Some(tool)) = (draft.choice.width, &draft.subject) else { return Ok(()) };
        let catalogue = self.catalogue.load();
        let subject = Subject::of_rule_name(tool);
        if !matches!(subject, Subject::Tool { .. }) {
            let is_known =
                draft.server.as_ref().is_none_or(|ServerBinding { server, generation, .. }| {
                    !matches!(catalogue.origin(server, *generation, &subject).origin, Origin::Unknown)
                });
            if is_known || draft.effect == Effect::Deny {
                return Ok(());
            }
            return Err(Problem::new(ErrorCode::NotFound, format!("The server has no “{tool}” now."))
                .todo("Start the server, so that its lists are known, and try again."));
        }
        let (known, which) = match &draft.server {
            Some(bound) => (catalogue.find(&bound.server, tool).is_some(), "The server has"),
            None => (catalogue.tools().iter().any(|known| known.name() == tool), "There is"),
        };
        if known {
            return Ok(());
        }
        Err(Problem::new(ErrorCode::NotFound, format!("{which} no tool “{tool}” now."))
            .todo("Start the server, so that its tools are known, and try again."))
    }

    pub(crate) fn order(
        &self,
        effect: Effect,
        order: RuleOrder,
        reason: Option<String>,
        author: RuleAuthor,
    ) -> Result<RuleDraft, Problem> {
        let RuleOrder { server, tool, client, choice } = order;
        let wrong = |what: &str| Problem::new(ErrorCode::BadRequest, what);
        if choice.lifetime == ChoiceLifetime::Once || choice.width == ChoiceWidth::Call {
            return Err(wrong("A rule for one call can only be given as the answer to its question."));
        }
        if author == RuleAuthor::Unprivileged && choice.conditions.len() > CONDITIONS_WITHOUT_KEY {
            let what =
                format!("Without the operator key a block has {CONDITIONS_WITHOUT_KEY} condition at most.");
            return Err(Problem::new(ErrorCode::NotPermitted, what)
                .todo("Give the operator key, or leave the others out."));
        }
        let server = server.map(|id| self.bound(&id)).transpose()?;
        Ok(RuleDraft {
            effect,
            server,
            subject: tool,
            hash: None,
            client,
            session: None,
            program: None,
            choice,
            author,
            reason,
            shown: None,
        })
    }

    /// A server as rules are bound to it now.
    fn bound(&self, server: &ServerId) -> Result<ServerBinding, Problem> {
        self.binding(server).ok_or_else(|| no_server(server))
    }

    /// Whether a block is one too many of those that are made without the operator key. What a person blocked does not
    /// count, nor does what the new block adds nothing to or takes the place of.
    fn is_one_too_many(&self, rule: &Grant, now: &RightsNow) -> bool {
        if rule.author != RuleAuthor::Unprivileged || now.rules().any(|old| contains(old, rule)) {
            return false;
        }
        let moment = self.time();
        let counts = |old: &&Grant| {
            old.author == RuleAuthor::Unprivileged && !has_ended(old, moment) && !replaces(rule, old)
        };
        now.rules().filter(counts).count() >= BLOCKS_WITHOUT_KEY
    }

    async fn put(self: &Arc<Self>, draft: RuleDraft, mut plan: Plan) -> Result<GrantId, Problem> {
        let rule = self.rule(&draft)?.ok_or_else(nothing_left)?;
        if self.paused() && rule.effect == Effect::Allow && rule.lifetime != Lifetime::Always {
            return Err(Problem::new(
                ErrorCode::Paused,
                "Everything is paused, which ends what is allowed for a while.",
            )
            .todo("Resume first."));
        }
        let wanted = rule.clone();
        self.change(move |keeper, now| {
            if keeper.is_one_too_many(&rule, now) {
                let what = format!(
                    "There are {BLOCKS_WITHOUT_KEY} blocks that were made without the operator key, so another one needs the key."
                );
                return Err(Problem::new(ErrorCode::NotPermitted, what)
                    .todo("Take some back, or give the operator key."));
            }
            let keep = keeper.definitions(&rule);
            plan.put(rule, now, keep);
            Ok(plan)
        })
        .await?;
        // A block that another one contains is not added.
        let now = self.now();
        let held = now.rules().find(|held| held.id == wanted.id);
        let held = held.or_else(|| now.rules().find(|held| contains(held, &wanted)));
        Ok(held.map_or(wanted.id.clone(), |held| held.id.clone()))
    }

    async fn take_back(self: &Arc<Self>, rule: &GrantId, effect: Effect) -> Result<(), Problem> {
        let id = rule.clone();
        self.change(move |_, now| {
            let rule = now.rules().find(|rule| rule.id == id).ok_or_else(|| no_rule(&id))?;
            if rule.effect != effect {
                return Err(match effect {
                    Effect::Allow => {
                        Problem::new(ErrorCode::BadRequest, "That rule blocks; it allows nothing.")
                            .todo("Use “unblock” to take back a block.")
                    }
                    Effect::Deny => {
                        Problem::new(ErrorCode::BadRequest, "That rule allows; it blocks nothing.")
                            .todo("Use “revoke” to take back an allow.")
                    }
                });
            }
            let mut plan =
                if effect == Effect::Allow { Plan::narrowing_by_person() } else { Plan::widening() };
            plan.audit.push(AuditEvent::Revoked { rule: id.clone() });
            if rule.lifetime == Lifetime::Always {
                let mut rights = now.rights.clone();
                rights.rules.retain(|rule| rule.id != id);
                plan.rights = Some(rights);
            } else {
                plan.drop.push(id);
            }
            Ok(plan)
        })
        .await
    }

    /// Drops all rules of a kind, and whatever else `also` takes out.
    async fn forget(
        self: &Arc<Self>,
        gone: impl Fn(&Grant) -> bool + Send + 'static,
        also: impl FnOnce(&mut Rights) + Send + 'static,
    ) -> Result<(), Problem> {
        self.change(move |_, now| {
            let mut plan = Plan::narrowing();
            let mut rights = now.rights.clone();
            rights.rules.retain(|rule| !gone(rule));
            also(&mut rights);
            plan.drop = now.timed.iter().filter(|rule| gone(rule)).map(|rule| rule.id.clone()).collect();
            plan.audit = now
                .rules()
                .filter(|rule| gone(rule))
                .map(|rule| AuditEvent::Revoked { rule: rule.id.clone() })
                .collect();
            if rights != now.rights {
                plan.rights = Some(rights);
            }
            Ok(plan)
        })
        .await
    }

    /// Ends the rules of a session.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        self.drop_timed(|rule| matches!(&rule.lifetime, Lifetime::Session { session: of } if of == session));
    }

    /// Drops the allows that last only for a while (PERM-13).
    pub(crate) fn drop_timed_allows(&self) -> Vec<GrantId> {
        self.drop_timed(|rule| rule.effect == Effect::Allow)
    }

    /// Writes down that everything is paused, or no longer.
    pub(crate) async fn keep_pause(
        self: &Arc<Self>,
        paused: bool,
        ended: Vec<GrantId>,
    ) -> Result<(), Problem> {
        self.change(move |_, now| {
            let mut plan = if paused { Plan::narrowing() } else { Plan::widening() };
            plan.audit = ended.into_iter().map(|rule| AuditEvent::Revoked { rule }).collect();
            plan.audit.push(AuditEvent::Paused { paused });
            if now.rights.paused != paused && now.verified {
                plan.rights = Some(Rights { paused, ..now.rights.clone() });
            }
            Ok(plan)
        })
        .await
    }
}
