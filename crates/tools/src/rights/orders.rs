//! What a person can order outside of a question: allow, block, take back, classify, trust.

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth};
use gatehouse_model::grant::{AccessOverride, ClientScope};
use gatehouse_model::{Generation, Lifetime, SessionId};

use super::change::Plan;
use super::*;
use crate::preset::Preset;
use crate::rules::take_out;

fn no_server(server: &ServerId) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no server {server}."))
}

pub(crate) fn no_rule(rule: &GrantId) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no rule {rule}."))
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
        let draft = self.inner.order(Effect::Allow, order, None)?;
        self.inner.has_its_tool(&draft)?;
        self.inner.put(draft, Plan::widening()).await
    }

    /// Blocks a tool or more.
    ///
    /// # Errors
    /// When the order makes no sense; also when it cannot be written down: then it holds only until
    /// Gatehouse quits.
    pub async fn deny(&self, order: RuleOrder, reason: Option<String>) -> Result<GrantId, Problem> {
        let draft = self.inner.order(Effect::Deny, order, reason)?;
        self.inner.put(draft, Plan::narrowing()).await
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
        self.set_preset(PresetOrder { server: Some(server.clone()), client: None, to }).await
    }

    /// Sets what runs without asking, on one server or on every server that there is now, for every
    /// client or for one. Only what was set so before for the same clients makes room. All of it
    /// counts or nothing.
    ///
    /// # Errors
    /// When there is no such server or it cannot be written down.
    pub async fn set_preset(&self, order: PresetOrder) -> Result<(), Problem> {
        self.inner
            .change(move |keeper, now| {
                let asks = order.to == AutoApprove::Ask;
                let mut plan = if asks { Plan::narrowing() } else { Plan::widening() };
                let mut rights = now.rights.clone();
                for preset in keeper.presets(&order)? {
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
            .await
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
                let mut plan = if trusted { Plan::widening() } else { Plan::narrowing() };
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

    /// Drops the rights of a server that was removed, or of all its generations but the present one.
    ///
    /// # Errors
    /// When it cannot be written down; the rights are for nothing all the same.
    pub(crate) async fn server_gone(
        &self,
        server: &ServerId,
        but: Option<Generation>,
    ) -> Result<(), Problem> {
        let server = server.clone();
        let gone = move |bound: &ServerBinding| bound.server == server && Some(bound.generation) != but;
        let also = gone.clone();
        self.inner
            .forget(
                move |rule| rule.server.as_ref().is_some_and(&gone),
                move |rights| {
                    rights.overrides.retain(|user| !also(&user.server));
                    rights.trusted_labels.retain(|bound| !also(bound));
                },
            )
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

    /// The rule that a preset sets now.
    pub(crate) fn preset_rule(&self, preset: &Preset, id: GrantId) -> Option<Grant> {
        self.with_tools(Some(&preset.server), |tools| preset.rule(id, self.time(), tools))
    }

    /// Refuses a draft for a tool that is not known.
    pub(crate) fn has_its_tool(&self, draft: &RuleDraft) -> Result<(), Problem> {
        let (ChoiceWidth::Tool, Some(tool)) = (draft.choice.width, &draft.subject) else { return Ok(()) };
        if ["resource:", "prompt:", "completion:"].iter().any(|kind| tool.starts_with(kind)) {
            return Ok(());
        }
        let catalogue = self.catalogue.load();
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
    ) -> Result<RuleDraft, Problem> {
        let RuleOrder { server, tool, client, choice } = order;
        let wrong = |what: &str| Problem::new(ErrorCode::BadRequest, what);
        if choice.lifetime == ChoiceLifetime::Once || choice.width == ChoiceWidth::Call {
            return Err(wrong("A rule for one call can only be given as the answer to its question."));
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
            reason,
            shown: None,
        })
    }

    /// A server as rules are bound to it now.
    fn bound(&self, server: &ServerId) -> Result<ServerBinding, Problem> {
        self.binding(server).ok_or_else(|| no_server(server))
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
        let id = rule.id.clone();
        self.change(move |keeper, now| {
            let keep = keeper.definitions(&rule);
            plan.put(rule, now, keep);
            Ok(plan)
        })
        .await?;
        Ok(id)
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
            let mut plan = if effect == Effect::Allow { Plan::narrowing() } else { Plan::widening() };
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
