//! Rounds of a call (PERM-7): a server that requires more input answers the first round, and the client sends
//! the same call again with that input. The approval of the first round carries over only if the call is
//! exactly the same and has the state that was issued for it. Each carry-over is valid once.

use std::collections::HashMap;
use std::time::Duration;

use gatehouse_model::Rule;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::call_types::call_key::CallKey;

/// How long the next round may take to come.
const ROUND_TTL: Duration = Duration::from_secs(600);
/// Retries of a call that was sent to a page (SRV-15).
const RETRIES: u8 = 3;
/// Most rounds that are remembered; beyond that the oldest is forgotten and its call is judged again.
const MAX_OPEN_ROUNDS: usize = 4096;
/// JSON-RPC error of the older revisions: the user has to open a page first.
pub(crate) const URL_ELICITATION: i32 = -32042;

/// How a call continues an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RoundStep {
    /// It has input, with the issued state (its digest) or without one.
    Input(Option<[u8; 32]>),
    /// It is tried again after the user was sent to a page.
    Retry,
}

struct OpenRound {
    rule: Rule,
    retries: u8,
    until: Instant,
}

/// The rounds that may still come.
#[derive(Default)]
pub(crate) struct OpenRounds(Mutex<HashMap<(CallKey, RoundStep), OpenRound>>);

/// The approval that a round runs under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CarriedApproval {
    pub(crate) rule: Rule,
    retries: u8,
}

impl CarriedApproval {
    /// Whether it is a user's approval, so that the next round needs none.
    pub(crate) fn is_approval(&self) -> bool {
        is_user_answer(&self.rule)
    }
}

/// A result that requires input first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputRequired<'a> {
    pub(crate) result_type: Option<String>,
    #[serde(borrow)]
    pub(crate) input_requests: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) request_state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RpcErrorCode {
    code: i64,
}

impl OpenRounds {
    /// The step of a call with these other members.
    pub(crate) fn step(rest: &[(Box<str>, Box<RawValue>)]) -> RoundStep {
        let member =
            |name: &str| rest.iter().find(|(member, _)| &**member == name).map(|(_, value)| &**value);
        match (member("inputResponses"), member("requestState")) {
            (None, None) => RoundStep::Retry,
            (_, state) => RoundStep::Input(state.map(digest)),
        }
    }

    /// What the round that this step continues ran under. Removes the entry.
    pub(crate) fn take(&self, key: &CallKey, step: &RoundStep) -> Option<CarriedApproval> {
        let mut open = self.0.lock();
        if open.is_empty() {
            return None;
        }
        let found = open.remove(&(key.clone(), step.clone()))?;
        (found.until > Instant::now()).then_some(CarriedApproval { rule: found.rule, retries: found.retries })
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Remembers the next round if the result requires one; returns whether it does. Only a user's own answer
    /// carries over: a rule is judged again each time, so that a revocation takes effect at once.
    pub(crate) fn record_result(&self, key: &CallKey, rule: &Rule, result: &RawValue) -> bool {
        if memchr::memmem::find(result.get().as_bytes(), b"input_required").is_none() {
            return false;
        }
        let Ok(read) = serde_json::from_str::<InputRequired<'_>>(result.get()) else { return false };
        let is_round = read.result_type.as_deref() == Some("input_required");
        if is_round {
            self.open_round(key, RoundStep::Input(read.request_state.map(digest)), rule, RETRIES);
        }
        is_round
    }

    /// The same for an error that sends the user to a page.
    pub(crate) fn record_error(
        &self,
        key: &CallKey,
        rule: &Rule,
        error: &RawValue,
        carried: Option<&CarriedApproval>,
    ) {
        if !is_user_answer(rule) {
            return;
        }
        let Ok(RpcErrorCode { code }) = serde_json::from_str(error.get()) else { return };
        let left = carried.map_or(RETRIES, |carried| carried.retries);
        if code == i64::from(URL_ELICITATION) && left > 0 {
            self.open_round(key, RoundStep::Retry, rule, left - 1);
        }
    }

    fn open_round(&self, key: &CallKey, step: RoundStep, rule: &Rule, retries: u8) {
        if !key.identifies_caller() {
            return;
        }
        let mut open = self.0.lock();
        let now = Instant::now();
        if open.len() >= MAX_OPEN_ROUNDS {
            open.retain(|_, round| round.until > now);
            if open.len() >= MAX_OPEN_ROUNDS {
                let oldest = open.iter().min_by_key(|(_, round)| round.until).map(|(key, _)| key.clone());
                if let Some(oldest) = oldest {
                    open.remove(&oldest);
                }
            }
        }
        open.insert((key.clone(), step), OpenRound { rule: rule.clone(), retries, until: now + ROUND_TTL });
    }
}

/// Whether a user's answer to this exact call allowed it.
pub(crate) fn is_user_answer(rule: &Rule) -> bool {
    matches!(rule, Rule::Answered { .. } | Rule::LateTicket { .. })
}

fn digest(state: &RawValue) -> [u8; 32] {
    // Digest of the decoded string, so that a differently escaped JSON string is still the same state.
    match serde_json::from_str::<String>(state.get()) {
        Ok(text) => Sha256::digest(text.as_bytes()).into(),
        Err(_) => Sha256::digest(state.get().as_bytes()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_types::peer::{CallSource, PeerId};

    fn json(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn rest(members: &[(&str, &str)]) -> Vec<(Box<str>, Box<RawValue>)> {
        members.iter().map(|(name, value)| ((*name).into(), json(value))).collect()
    }

    fn key(hash: &str) -> CallKey {
        CallKey::new(&hash.into(), Some(CallSource::Program("/usr/bin/test".into())))
    }

    #[test]
    fn round_is_bound_to_its_program() {
        let unknown = |pid| {
            let id = PeerId::Process { pid, started: 1 };
            CallKey::new(
                &"h".into(),
                Some(CallSource::Process { program: "/usr/bin/node".into(), id, session: None }),
            )
        };
        let unseen = CallKey::new(&"h".into(), None);
        let step = || RoundStep::Input(Some(digest(&json("\"s1\""))));
        let rounds = OpenRounds::default();
        rounds.record_result(&unknown(1), &answered(), &json(WANTS));
        assert_eq!(rounds.take(&unknown(2), &step()), None);
        assert_eq!(rounds.take(&unseen, &step()), None);
        assert!(rounds.take(&unknown(1), &step()).is_some());
        rounds.record_result(&unseen, &answered(), &json(WANTS));
        assert_eq!(rounds.take(&unseen, &step()), None);
    }

    fn answered() -> Rule {
        Rule::Answered { ask: "ask-1".into() }
    }

    const WANTS: &str = r#"{"resultType":"input_required","inputRequests":{"a":{}},"requestState":"s1"}"#;

    #[test]
    fn a_round_runs_once_under_its_first_approval() {
        let rounds = OpenRounds::default();
        let hash = key("h");
        rounds.record_result(&hash, &answered(), &json(WANTS));
        let step = OpenRounds::step(&rest(&[("inputResponses", "{}"), ("requestState", "\"s\\u0031\"")]));
        assert_eq!(rounds.take(&hash, &step).map(|carried| carried.rule), Some(answered()));
        assert_eq!(rounds.take(&hash, &step), None, "used up");
    }

    #[test]
    fn other_call_or_state_needs_new_decision() {
        let rounds = OpenRounds::default();
        let hash = key("h");
        rounds.record_result(&hash, &answered(), &json(WANTS));
        let right = rest(&[("inputResponses", "{}"), ("requestState", "\"s1\"")]);
        assert_eq!(rounds.take(&key("other"), &OpenRounds::step(&right)), None);
        for wrong in [
            rest(&[("inputResponses", "{}"), ("requestState", "\"s2\"")]),
            rest(&[("inputResponses", "{}")]),
            rest(&[]),
            rest(&[("task", "{}")]),
        ] {
            assert_eq!(rounds.take(&hash, &OpenRounds::step(&wrong)), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_user_answers_carry_over() {
        let rounds = OpenRounds::default();
        let hash = key("h");
        let step = RoundStep::Input(Some(digest(&json("\"s1\""))));
        rounds.record_result(&hash, &Rule::AlwaysGrant { grant: "g".into() }, &json(WANTS));
        assert!(!rounds.take(&hash, &step).unwrap().is_approval());
        rounds.record_result(
            &hash,
            &answered(),
            &json(r#"{"content":[{"text":"input_required"}],"requestState":"s1"}"#),
        );
        assert_eq!(rounds.take(&hash, &step), None);
    }

    #[test]
    fn url_elicitation_allows_three_retries() {
        let rounds = OpenRounds::default();
        let hash = key("h");
        let error = json(r#"{"code":-32042,"message":"open the page"}"#);
        rounds.record_error(&hash, &answered(), &json(r#"{"code":-32603}"#), None);
        assert_eq!(rounds.take(&hash, &RoundStep::Retry), None);
        rounds.record_error(&hash, &answered(), &error, None);
        for _ in 0..3 {
            let carried = rounds.take(&hash, &RoundStep::Retry).unwrap();
            rounds.record_error(&hash, &carried.rule, &error, Some(&carried));
        }
        assert_eq!(rounds.take(&hash, &RoundStep::Retry), None);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_round_needs_new_decision() {
        let rounds = OpenRounds::default();
        let hash = key("h");
        rounds.record_result(&hash, &answered(), &json(WANTS));
        tokio::time::advance(ROUND_TTL).await;
        assert_eq!(rounds.take(&hash, &RoundStep::Input(Some(digest(&json("\"s1\""))))), None);
    }
}
