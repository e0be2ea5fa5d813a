//! Orders of the user outside of approval requests: allow, block, revoke, classify, trust labels.

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

/// Longest reason of a block, in characters.
const LONGEST_REASON: usize = 500;
/// Most blocks in force that were made without the operator key.
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

/// Error for an order whose rule would be for one time only.
pub(crate) fn nothing_left() -> Problem {
    Problem::new(ErrorCode::BadRequest, "That leaves nothing behind.")
}

impl RightsKeeper {
    /// Adds an allow without an approval request.
    ///
    /// # Errors
    /// If the order is invalid or can't be stored; then nothing is allowed.
    pub async fn grant(&self, order: RuleOrder) -> Result<GrantId, Problem> {
        let draft = self.inner.order(Effect::Allow, order, None, RuleAuthor::Person)?;
        self.inner.has_its_tool(&draft)?;
        self.inner.put(draft, Plan::widening()).await
    }

    /// Adds a block. A block replaces only blocks that end no later, and one made without the operator key
    /// replaces only others made without it. A block without the key is marked as such, and isn't added if the
    /// same is already blocked for nearly as long.
    ///
    /// # Errors
    /// If the order is invalid; [`ErrorCode::NotPermitted`] for a reason without the operator key, or if there
    /// are too many blocks made without it; also if it can't be stored: then it is in effect only until
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

    /// Revokes an allow, with effect from the next call on.
    ///
    /// # Errors
    /// If there is no such allow; also if it can't be stored: then the allow is back after a restart.
    pub async fn revoke(&self, rule: &GrantId) -> Result<(), Problem> {
        self.inner.take_back(rule, Effect::Allow).await
    }

    /// Removes a block.
    ///
    /// # Errors
    /// If there is no such block or it can't be stored; then the block stays.
    pub async fn unblock(&self, rule: &GrantId) -> Result<(), Problem> {
        self.inner.take_back(rule, Effect::Deny).await
    }

    /// Sets the auto-approve setting of a server for every client (PERM-3). Allows of single tools and of
    /// single clients stay.
    ///
    /// # Errors
    /// If there is no such server, its tools aren't known, or it can't be stored.
    pub async fn set_auto_approve(&self, server: &ServerId, to: AutoApprove) -> Result<(), Problem> {
        self.set_preset(PresetOrder { server: Some(server.clone()), client: None, to }).await.map(drop)
    }

    /// Sets the auto-approve setting of one server or of every current server, for every client or for one.
    /// Replaces only the previous setting for the same clients. All servers are changed or none. The rule
    /// covers the tools that are known when it is set (PERM-8), so servers whose tools aren't known are left
    /// out. Returns the covered tools and the servers left out.
    ///
    /// # Errors
    /// If there is no such server; [`ErrorCode::ServerUnavailable`] if the tools of none of the servers are
    /// known; if it can't be stored.
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

    /// Sets or clears the access class that the user gives a tool.
    ///
    /// # Errors
    /// If there is no such server or it can't be stored.
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

    /// Sets whether a server's read-only labels are trusted (PERM-2).
    ///
    /// # Errors
    /// If there is no such server or it can't be stored.
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

    /// Drops all permissions of a server that was removed.
    ///
    /// # Errors
    /// If it can't be stored; the permissions have no effect all the same.
    pub async fn server_removed(&self, server: &ServerId) -> Result<(), Problem> {
        self.server_gone(server, None).await
    }

    /// Drops all permissions of a server that was removed (`but` is `None`), or those for other generations
    /// than `but`. Denies stay as long as the server exists.
    ///
    /// # Errors
    /// If it can't be stored; the permissions have no effect all the same.
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

    /// Remembers the name of a new client, for describing rules.
    pub fn client_added(&self, client: &ClientEntry) {
        self.inner.saw_client(client);
    }

    /// Drops all rules for a client whose access was revoked.
    ///
    /// # Errors
    /// If it can't be stored; the rules have no effect all the same.
    pub async fn client_removed(&self, client: &ClientId) -> Result<(), Problem> {
        let scope = ClientScope::One { client: client.clone() };
        self.inner.forget(move |rule| rule.clients == scope, |_| {}).await
    }
}

impl Keeper {
    /// The settings that an order means, one per server.
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

    /// The rule of an auto-approve setting, with the tools that are known now.
    pub(crate) fn preset_rule(&self, preset: &Preset, id: GrantId) -> Option<Grant> {
        self.with_items(Some(&preset.server), None, |items| preset.rule(id, self.time(), items))
    }

    /// Rejects a draft for a tool that isn't known.
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

    /// The current generation and identity of a server, to which rules are bound.
    fn bound(&self, server: &ServerId) -> Result<ServerBinding, Problem> {
        self.binding(server).ok_or_else(|| no_server(server))
    }

    /// Whether a block exceeds the limit for blocks made without the operator key. Blocks made with the key
    /// don't count, nor does a block that adds nothing or replaces another.
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
        // A block that an existing one contains isn't added; the id of the existing one is returned.
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

    /// Drops all rules that `gone` selects, and what `also` removes.
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

    /// Drops the allows with a limited lifetime (PERM-13).
    pub(crate) fn drop_timed_allows(&self) -> Vec<GrantId> {
        self.drop_timed(|rule| rule.effect == Effect::Allow)
    }

    /// Stores that everything is paused, or resumed.
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
