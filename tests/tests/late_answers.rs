//! A person who answers after the client has given up (PERM-11), with the SDKs that real clients are made of, by their
//! own time-outs: the call runs once, and whoever repeats it gets its result.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::client::{CallOutcome, Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add, logged_calls};
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::{Value, json};

const STATEFUL: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
const MARK: &str = "gatehouse/earlierResult";

/// Each SDK in the revisions that it speaks, and whether it tells the server that it gave up.
const CLIENTS: [(Sdk, &str, bool); 6] = [
    (Sdk::TypeScript1, STATEFUL, true),
    (Sdk::Python1, STATEFUL, false),
    (Sdk::TypeScript, STATEFUL, true),
    (Sdk::TypeScript, STATELESS, true),
    (Sdk::Python, STATEFUL, true),
    (Sdk::Python, STATELESS, true),
];

fn logging_fixture(gatehouse: &Gatehouse) -> Result<(FixtureServer, PathBuf)> {
    let log = gatehouse.folder("log")?.join("messages");
    let upstream = add(gatehouse, "raw", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    Ok((upstream, log))
}

fn answer(gatehouse: &Gatehouse, question: &Value, allowed: bool) -> Result<()> {
    if allowed {
        let (id, hash) = (&question["id"], &question["request"]["hash"]);
        approvals::allow(gatehouse, id, hash, &approvals::once_choice())?;
    } else {
        approvals::deny(gatehouse, question)?;
    }
    approvals::wait_for_pending(gatehouse, 0)?;
    Ok(())
}

/// The client gives up, then the person allows, then the client repeats the call.
#[test]
fn late_approval_runs_once_and_its_result_is_delivered() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    for (number, (sdk, revision, says_so)) in CLIENTS.into_iter().enumerate() {
        let case = format!("{sdk:?} {revision}");
        let token = gatehouse.add_client(&case)?;
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let text = format!("note {number}");
        let note = json!({ "text": text });
        let call = client.begin_with_timeout("write_note", &note, 1000)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        let given_up = client.finish(&call)?;
        ensure!(matches!(&given_up, CallOutcome::Error(_)), "{case}: it did not give up: {given_up:?}");
        if says_so {
            eventually_holds("it has left", || {
                let pending = approvals::wait_for_pending(&gatehouse, 1)?;
                Ok(pending[0]["waiting"] == json!(false))
            })?;
        } else {
            // Seen from here, it still waits, so the call runs when it is allowed.
            approvals::wait_for_min_client_timeout(&question)?;
        }
        answer(&gatehouse, &question, true)?;
        if !says_so {
            eventually_holds("the call runs", || Ok(logged_calls(&log, &text) == 1))?;
        }
        ensure!(logged_calls(&log, &text) == usize::from(!says_so), "{case}: it ran for nobody");

        let repeated = client.call("write_note", &note)?;
        ensure!(repeated.is_ok(), "{case}: {repeated:?}");
        let CallOutcome::Result(result) = &repeated else { anyhow::bail!("{repeated:?}") };
        ensure!(result["_meta"].get(MARK).is_some() != says_so, "{case}: {result}");
        ensure!(logged_calls(&log, &text) == 1, "{case}: it ran {} times", logged_calls(&log, &text));

        // One approval is for one run and one delivery.
        let third = client.begin("write_note", &note)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        answer(&gatehouse, &question, false)?;
        ensure!(client.finish(&third)?.is_tool_error(), "{case}: it ran again");
        ensure!(logged_calls(&log, &text) == 1, "{case}: it ran {} times", logged_calls(&log, &text));
    }
    Ok(())
}

/// A client with a short time-out reads that the person has not answered yet, before it gives up, from its second call
/// on; and it gets the result when the person has.
#[test]
fn short_timeouts_are_learned() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    for (number, (sdk, revision, _)) in CLIENTS.into_iter().enumerate() {
        let case = format!("{sdk:?} {revision}");
        let token = gatehouse.add_client(&case)?;
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let text = format!("short {number}");
        let note = json!({ "text": text });
        let first = client.begin_with_timeout("write_note", &note, 3500)?;
        ensure!(matches!(client.finish(&first)?, CallOutcome::Error(_)), "{case}: it did not give up");
        let told = client.begin_with_timeout("write_note", &note, 3500)?;
        let answered = client.finish(&told)?;
        ensure!(
            answered.is_tool_error() && answered.text().contains("same arguments"),
            "{case}: {answered:?}"
        );
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        answer(&gatehouse, &question, true)?;
        let repeated = client.call("write_note", &note)?;
        ensure!(repeated.is_ok() && logged_calls(&log, &text) == 1, "{case}: {repeated:?}");
    }
    Ok(())
}
