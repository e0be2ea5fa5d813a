//! Pending approvals as returned by the core: the offered choices, and answers by id and hash, as the
//! windows send them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::eventually::{eventually, eventually_holds};
use crate::gatehouse::Gatehouse;
use crate::http::BackgroundCall;

/// Waits until `count` approvals are pending, and returns them.
pub fn wait_for_pending(gatehouse: &Gatehouse, count: usize) -> Result<Vec<Value>> {
    eventually(format!("{count} pending approvals"), || {
        let pending = gatehouse.ask(&["approvals", "list"])?;
        let pending = pending.as_array().cloned().unwrap_or_default();
        Ok(if pending.len() == count {
            Ok(pending)
        } else {
            Err(format!("{} are pending: {pending:#?}", pending.len()))
        })
    })
}

/// Waits until `count` approvals are pending, by their number alone: their arguments, which can be large, are not read.
pub fn wait_for_count(gatehouse: &Gatehouse, count: usize) -> Result<()> {
    eventually(format!("{count} pending approvals"), || {
        let status = gatehouse.ask(&["status"])?;
        Ok(if status["waiting"] == count { Ok(()) } else { Err(format!("{status:#}")) })
    })
}

/// A little longer than the shortest time-out that a client is assumed to have.
const LEAST_TIMEOUT: Duration = Duration::from_millis(3200);

/// A little longer than a wait from which is learned that a client waits; with a margin for repeats of a slow machine.
const TELLING_WAIT: Duration = Duration::from_millis(6200);

/// Waits until an approval request is so old that its client may have given up without a sign.
pub fn wait_for_min_client_timeout(question: &Value) -> Result<()> {
    wait_for_age(question, LEAST_TIMEOUT)
}

/// Waits until an approval request is so old that its client is seen to wait if it is answered now.
pub fn wait_for_telling_age(question: &Value) -> Result<()> {
    wait_for_age(question, TELLING_WAIT)
}

/// Waits until an approval request has been pending for this long.
pub fn wait_for_age(question: &Value, age: Duration) -> Result<()> {
    let asked = u64::try_from(question["requestedAt"].as_i64().context("requestedAt")?)?;
    let old = UNIX_EPOCH + Duration::from_millis(asked) + age;
    eventually_holds(format!("the age of {question:#}"), || Ok(SystemTime::now() > old))
}

/// The choices that an approval request offers.
pub fn choices(question: &Value) -> Result<&Vec<Value>> {
    question["request"]["choices"].as_array().with_context(|| format!("no choices in {question:#}"))
}

/// Whether an approval request offers anything permanent.
pub fn offers_always(question: &Value) -> Result<bool> {
    Ok(choices(question)?.iter().any(|choice| choice["lifetime"] == "always"))
}

/// The choice “only in this folder” with this lifetime.
pub fn folder_choice(question: &Value, lifetime: &str) -> Result<Value> {
    narrowed(question, lifetime, "inside")
}

/// The choice that allows this tool with this lifetime, narrowed by the first proposed condition of this
/// kind.
pub fn narrowed(question: &Value, lifetime: &str, test: &str) -> Result<Value> {
    let fits = |choice: &Value| {
        choice["lifetime"] == lifetime && choice["width"] == "tool" && choice["everyClient"] == false
    };
    ensure!(choices(question)?.iter().any(fits), "{lifetime} is not offered: {question:#}");
    let conditions = question["request"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|one| one["condition"]["test"]["test"] == test);
    let found = found.with_context(|| format!("no condition “{test}” is offered: {question:#}"))?;
    let conditions = [found["condition"].clone()];
    Ok(json!({ "lifetime": lifetime, "width": "tool", "everyClient": false, "conditions": conditions }))
}

/// The choice for this call only.
#[must_use]
pub fn once_choice() -> Value {
    json!({ "lifetime": "once", "width": "call", "everyClient": false, "conditions": [] })
}

/// Allows with the id of one approval request and the hash of another one, which may be the same.
pub fn allow(gatehouse: &Gatehouse, id: &Value, hash: &Value, choice: &Value) -> Result<Value> {
    let answer = json!({ "answer": "allow", "choice": choice });
    gatehouse
        .command("approvals.answer", &json!({ "answers": [{ "id": id, "hash": hash, "answer": answer }] }))
}

/// Denies one approval request.
pub fn deny(gatehouse: &Gatehouse, question: &Value) -> Result<()> {
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    Ok(())
}

/// Calls a tool, denies the expected approval request, and checks that the tool did not run. Returns the
/// request.
pub fn assert_asked(gatehouse: &Gatehouse, token: &str, tool: &str, arguments: &str) -> Result<Value> {
    let call = BackgroundCall::call(&gatehouse.endpoint, token, tool, arguments);
    let question =
        wait_for_pending(gatehouse, 1).with_context(|| format!("{arguments} was not asked"))?.remove(0);
    deny(gatehouse, &question)?;
    let end = call.end()?;
    ensure!(end.body.contains(r#""isError":true"#), "{arguments} ran: {end:?}");
    Ok(question)
}

/// The first character of a text that moves the cursor, reverses text or is invisible.
#[must_use]
pub fn find_deceptive_char(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n'))
            || matches!(u32::from(*c), 0x00AD | 0x061C | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF)
    })
}
