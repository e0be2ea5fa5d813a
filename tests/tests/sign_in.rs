//! OAuth sign-in to a server that a real authorization server protects, from the terminal: the user's
//! steps, automatic renewal, and what is refused. Each test ends with a search for every token, code,
//! verifier and secret in everything that Gatehouse wrote or printed.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::status_text;
use gatehouse_tests::http;
use gatehouse_tests::oidc::{AuthorizationServer, Browser, Iss};
use gatehouse_tests::sign_in::{SignInCommand, SignInTestbed};
use serde_json::{Value, json};

/// Whether the listener at an address accepts the request. A closed port does not.
fn is_accepted(method: &str, address: &str) -> bool {
    http::send(method, address, &[], b"").is_ok_and(|answer| answer.status < 400)
}

/// A query parameter of a URL.
fn parameter<'a>(address: &'a str, name: &str) -> Result<&'a str> {
    let query = address.split_once('?').context("no query")?.1;
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
    Ok(found.with_context(|| format!("no {name}"))?.1)
}

#[test]
fn sign_in_enables_tools() -> Result<()> {
    for options in [&[][..], &["--older"], &["--jwt"]] {
        let mut testbed = SignInTestbed::start(options)?;
        testbed.add("diary")?;
        ensure!(testbed.state("diary")?["is"] == "out", "{options:?}");
        let page = testbed.sign_in("diary", "ann")?;
        ensure!(page.status == 200, "{options:?}: {page:?}");
        ensure!(page.text.to_lowercase().contains("close this window"), "{}", page.text);
        for name in ["code", "state"] {
            let value = parameter(&page.address, name)?;
            ensure!(!page.text.contains(value), "the last page repeats the {name}");
        }
        ensure!(testbed.whoami("diary")? == "ann with notes.read", "{options:?}");
        let state = testbed.state("diary")?;
        ensure!(state["is"] == "in" && state["issuer"] == testbed.provider.issuer.as_str(), "{state:#}");
        ensure!(state["account"].as_str().is_some_and(|account| account.contains("ann")), "{state:#}");
        ensure!(state["renews"] == true && state["expires"] != Value::Null, "{state:#}");
        let kinds = testbed.provider.secrets()?;
        for kind in ["access_token", "refresh_token", "id_token", "code", "verifier"] {
            ensure!(kinds.iter().any(|issued| issued.kind == kind), "no {kind} was issued");
        }
        testbed.end()?;
    }
    Ok(())
}

/// The secret and the redirect URI of a manually registered client are still there after a restart, and
/// the token that expired meanwhile is renewed with them without asking the user.
#[test]
fn confidential_client_refreshes_after_restart() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add_confidential("diary")?;
    testbed.provider.set_lifetime(2)?;
    testbed.sign_in("diary", "ann")?;
    testbed.restart(|provider| {
        provider.wait_until_expired()?;
        provider.set_lifetime(3600)
    })?;
    testbed.await_connected("diary")?;
    ensure!(testbed.whoami("diary")? == "ann with notes.read", "another account");
    let counts = testbed.provider.counts()?;
    ensure!(counts.granted("refresh_token") >= 1, "{counts:?}");
    ensure!(counts.asked("refresh_token") == counts.granted("refresh_token"), "{counts:?}");
    ensure!(counts.asked("authorize") == 1 && counts.asked("registration") == 0, "{counts:?}");
    testbed.end()
}

/// A dynamic client registration is used again after a restart.
#[test]
fn reuses_registration_after_restart() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.sign_in("diary", "ann")?;
    testbed.restart(AuthorizationServer::expire)?;
    testbed.await_connected("diary")?;
    testbed.whoami("diary")?;
    testbed.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    testbed.gatehouse.await_status("diary", "needs_auth")?;
    testbed.sign_in("diary", "ann")?;
    let counts = testbed.provider.counts()?;
    ensure!(counts.asked("registration") == 1 && counts.granted("refresh_token") == 1, "{counts:?}");
    testbed.end()
}

/// Fifty concurrent calls with an expired token, and with a revoked one: it is renewed once.
#[test]
fn concurrent_calls_refresh_token_once() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.provider.set_lifetime(3)?;
    testbed.sign_in("diary", "ann")?;
    testbed.provider.set_lifetime(3600)?;
    // While the first of them is at the token endpoint, all the others arrive.
    testbed.provider.set_delay(300)?;
    let whoami = testbed.exposed("diary", "whoami")?;
    testbed.provider.wait_until_expired()?;
    for round in ["expired", "taken back"] {
        let before = testbed.provider.counts()?;
        let calls: Vec<String> =
            (0..50).map(|_| testbed.client.begin(&whoami, &json!({}))).collect::<Result<_>>()?;
        for call in calls {
            let answer = testbed.client.finish(&call)?;
            ensure!(answer.is_ok() && answer.text() == "ann with notes.read", "{round}: {answer:?}");
        }
        let after = testbed.provider.counts()?;
        let more = after.asked("refresh_token") - before.asked("refresh_token");
        ensure!(more == 1, "{round}: the token was renewed {more} times");
        testbed.provider.expire()?;
    }
    testbed.end()
}

/// The error of a renewal determines what is forgotten: the tokens, or the registration too. In both
/// cases it works again after the user signs in again.
#[test]
fn rejected_refresh_requires_sign_in() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.sign_in("diary", "ann")?;
    for (error, registrations) in [("revoked", 1), ("invalid_grant", 1), ("invalid_client", 2)] {
        match error {
            "revoked" => testbed.provider.revoke("ann")?,
            error => {
                testbed.provider.answer_once("refresh_token", error)?;
                testbed.provider.expire()?;
            }
        }
        let answer = testbed.call("diary", "whoami", &json!({}))?;
        ensure!(!answer.is_ok(), "{error}: {answer:?}");
        testbed.gatehouse.await_status("diary", "needs_auth")?;
        ensure!(testbed.state("diary")?["is"] == "out", "{error}");
        testbed.sign_in("diary", "ann")?;
        ensure!(testbed.whoami("diary")? == "ann with notes.read", "{error}");
        let counts = testbed.provider.counts()?;
        ensure!(counts.asked("registration") == registrations, "{error}: {counts:?}");
    }
    testbed.end()
}

/// An issuer that replaces another never receives the old issuer's tokens, and those are no longer sent
/// to the server once the user signed in at the new one.
#[test]
fn new_issuer_never_receives_old_tokens() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.sign_in("diary", "ann")?;
    let issuer = testbed.provider.replace_issuer()?;
    let answer = testbed.call("diary", "whoami", &json!({}))?;
    ensure!(!answer.is_ok(), "{answer:?}");
    testbed.gatehouse.await_status("diary", "needs_auth")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    ensure!(signing.address.starts_with(&issuer), "the user was sent elsewhere: {}", signing.address);
    Browser::of("bob").visit(&signing.address)?;
    signing.wait_for_success()?;
    testbed.await_connected("diary")?;
    ensure!(testbed.whoami("diary")? == "bob with notes.read", "another account");
    ensure!(testbed.state("diary")?["issuer"] == issuer.as_str(), "another issuer");
    for (issuer, strays) in testbed.provider.misdirected_secrets()? {
        ensure!(strays.is_empty(), "{issuer} was sent what is not its own: {strays:?}");
    }
    let seen = testbed.provider.received_tokens()?;
    let first = seen.iter().position(|token| token.issuer.as_deref() == Some(issuer.as_str()));
    let late = &seen[first.context("no token of the new issuer came")?..];
    let old = late.iter().find(|token| token.issuer.as_deref() != Some(issuer.as_str()));
    ensure!(old.is_none(), "an old token came late: {old:?}");
    testbed.end()
}

/// Only one callback ends a sign-in: by GET, at the right path, with the right state. And only once.
#[test]
fn ignores_foreign_callbacks() -> Result<()> {
    let testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    let answer = Browser::of("ann").stop_before_callback(&signing.address)?;
    let (place, query) = answer.split_once('?').context("no query")?;
    let state = parameter(&answer, "state")?;
    let wrong = "x".repeat(state.len());
    for (method, address, status) in [
        ("POST", answer.clone(), 405),
        ("GET", format!("{place}/elsewhere?{query}"), 404),
        ("GET", answer.replace(state, &wrong), 400),
        ("GET", answer.replace(&format!("state={state}"), "stat=0"), 400),
    ] {
        let refused = http::send(method, &address, &[], b"")?;
        ensure!(refused.status == status, "{method}: {} instead of {status}", refused.status);
        ensure!(testbed.state("diary")?["is"] == "waiting", "{method} with {status} ended it");
    }
    let paste = |address: &str| {
        testbed.gatehouse.command("servers.pasteAddress", &json!({ "server": "diary", "address": address }))
    };
    ensure!(paste(&answer.replace(state, &wrong)).is_err(), "a wrong state was taken when it was pasted");
    ensure!(testbed.state("diary")?["is"] == "waiting", "it was ended by what was pasted");
    ensure!(testbed.provider.counts()?.asked("authorization_code") == 0, "a code was used");

    ensure!(is_accepted("GET", &answer), "the right answer was refused");
    signing.wait_for_success()?;
    testbed.await_connected("diary")?;
    ensure!(!is_accepted("GET", &answer), "the same answer was taken again");
    ensure!(paste(&answer).is_err(), "the same answer was taken again when it was pasted");
    let counts = testbed.provider.counts()?;
    ensure!(counts.asked("authorization_code") == 1, "{counts:?}");
    ensure!(testbed.state("diary")?["is"] == "in", "it was undone");

    // An old code with a new state gets no token.
    testbed.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    testbed.gatehouse.await_status("diary", "needs_auth")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    let newer = Browser::of("ann").stop_before_callback(&signing.address)?;
    http::send("GET", &newer.replace(parameter(&newer, "code")?, parameter(&answer, "code")?), &[], b"")?;
    signing.wait_for_failure()?;
    let out = testbed.await_sign_in("diary", "out")?;
    ensure!(out["problem"] != Value::Null, "it is not said why: {out:#}");
    let counts = testbed.provider.counts()?;
    ensure!(
        (counts.asked("authorization_code"), counts.granted("authorization_code")) == (2, 1),
        "{counts:?}"
    );
    testbed.end()
}

/// A callback with another issuer's `iss`, or without one although it is promised, is not used; nor is
/// one in which the user denied consent. Each gives its reason, and leaves the server's status
/// unchanged.
#[test]
fn invalid_callbacks_end_sign_in() -> Result<()> {
    let testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let ann = Browser::of("ann");
    for (iss, browser) in [
        (Iss::Wrong, ann),
        (Iss::Absent, ann),
        (Iss::Right, Browser::refusing("ann")),
        (Iss::Wrong, Browser::refusing("ann")),
    ] {
        testbed.provider.set_iss(iss)?;
        let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
        browser.visit(&signing.address)?;
        let said = signing.wait_for_failure()?;
        let out = testbed.await_sign_in("diary", "out")?;
        let why = status_text(&out["problem"])?;
        ensure!(!why.is_empty(), "{iss:?}: no reason in {out:#}");
        ensure!(said.contains(&why), "{iss:?}: the terminal says another thing than “{why}”: {said}");
        testbed.gatehouse.await_status("diary", "needs_auth")?;
    }
    let counts = testbed.provider.counts()?;
    ensure!(counts.asked("authorization_code") == 0, "a code was used: {counts:?}");
    testbed.provider.set_iss(Iss::Right)?;
    testbed.sign_in("diary", "ann")?;
    testbed.end()
}

/// Scope upgrades are approval requests. After a denial the call ends; after an approval and a visit to
/// the browser it continues automatically. The scopes survive a restart and renewals.
#[test]
fn step_up_asks_for_more_scopes() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.sign_in("diary", "ann")?;
    let write = testbed.exposed("diary", "write")?;
    let mut person = testbed.gatehouse.person()?;

    let call = testbed.client.begin(&write, &json!({ "text": "one" }))?;
    let question = person.next_approval()?;
    ensure!(question["request"]["kind"] == "step_up", "{question:#}");
    ensure!(question["request"]["server"]["name"] == "diary", "{question:#}");
    ensure!(question["request"]["scopes"] == json!(["notes.write"]), "{question:#}");
    person.answer(&question, "deny")?;
    let answer = testbed.client.finish(&call)?;
    ensure!(!answer.is_ok(), "{answer:?}");
    ensure!(testbed.whoami("diary")? == "ann with notes.read", "the no changed something");
    ensure!(testbed.provider.counts()?.asked("authorize") == 1, "the user was sent to the browser");

    let call = testbed.client.begin(&write, &json!({ "text": "two" }))?;
    let question = person.next_approval()?;
    person.answer(&question, "allow")?;
    testbed.await_sign_in("diary", "waiting")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    Browser::of("ann").visit(&signing.address)?;
    signing.wait_for_success()?;
    let answer = testbed.client.finish(&call)?;
    ensure!(answer.is_ok() && answer.text() == "ann wrote two", "{answer:?}");

    for meanwhile in ["restart", "renewal"] {
        testbed.restart(|provider| if meanwhile == "renewal" { provider.expire() } else { Ok(()) })?;
        testbed.await_connected("diary")?;
        let answer = testbed.call("diary", "write", &json!({ "text": meanwhile }))?;
        ensure!(answer.is_ok(), "{meanwhile}: {answer:?}");
        let scopes = testbed.state("diary")?["scopes"].clone();
        for scope in ["notes.read", "notes.write"] {
            ensure!(scopes.as_array().is_some_and(|all| all.contains(&json!(scope))), "{scopes}");
        }
    }
    ensure!(testbed.provider.counts()?.asked("authorize") == 2, "the user was asked again");
    testbed.end()
}

/// Signing out revokes the tokens at the authorization server too.
#[test]
fn sign_out_revokes_tokens() -> Result<()> {
    let testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    testbed.sign_in("diary", "ann")?;
    ensure!(testbed.provider.counts()?.access_tokens == 1, "there is no token to take back");
    let out = testbed.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    ensure!(out["revoked"] == true, "{out}");
    testbed.gatehouse.await_status("diary", "needs_auth")?;
    ensure!(testbed.state("diary")?["is"] == "out", "still signed in");
    let counts = testbed.provider.counts()?;
    ensure!(counts.granted("revocation") >= 1 && counts.access_tokens == 0, "{counts:?}");
    testbed.end()
}

/// Two servers with one URL are two accounts; signing out of one does not affect the other.
#[test]
fn same_address_servers_have_separate_accounts() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    for (server, user) in [("hers", "ann"), ("his", "bob")] {
        testbed.add(server)?;
        testbed.sign_in(server, user)?;
    }
    testbed.restart(|_| Ok(()))?;
    for (server, user) in [("hers", "ann"), ("his", "bob")] {
        testbed.await_connected(server)?;
        ensure!(testbed.whoami(server)? == format!("{user} with notes.read"), "{server}");
    }
    testbed.gatehouse.ask(&["servers", "sign-out", "hers"])?;
    testbed.gatehouse.await_status("hers", "needs_auth")?;
    ensure!(testbed.whoami("his")? == "bob with notes.read", "the other one was signed out too");
    testbed.end()
}

/// A cancelled or restarted sign-in accepts no callback any more.
#[test]
fn abandoned_sign_in_ignores_callback() -> Result<()> {
    let testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    let waiting = testbed.await_sign_in("diary", "waiting")?;
    let host = waiting["host"].as_str().context("no host")?;
    ensure!(testbed.provider.issuer.contains(host), "the user is told of {host}");
    let answer = Browser::of("ann").stop_before_callback(&signing.address)?;
    testbed.gatehouse.command("servers.cancelSignIn", &json!({ "server": "diary" }))?;
    signing.wait_for_failure()?;
    testbed.await_sign_in("diary", "out")?;
    ensure!(!is_accepted("GET", &answer), "the answer was taken");

    let first = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    let late = Browser::of("ann").stop_before_callback(&first.address)?;
    let second = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    ensure!(!is_accepted("GET", &late), "the answer to what was replaced was taken");
    ensure!(testbed.provider.counts()?.asked("authorization_code") == 0, "a code was used");
    Browser::of("ann").visit(&second.address)?;
    second.wait_for_success()?;
    testbed.await_connected("diary")?;
    testbed.end()
}

/// If the browser is on another computer, the callback URL is pasted.
#[test]
fn accepts_pasted_callback_address() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let mut signing = SignInCommand::begin_with_paste(&testbed.gatehouse, "diary")?;
    let answer = Browser::of("ann").stop_before_callback(&signing.address)?;
    signing.paste(&answer)?;
    signing.wait_for_success()?;
    testbed.await_connected("diary")?;
    ensure!(testbed.whoami("diary")? == "ann with notes.read", "another account");
    testbed.end()
}

/// The client credentials grant needs no browser, with a secret or with a key, and gets the next token
/// automatically.
#[test]
fn client_credentials_need_no_browser() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    let clients = testbed.provider.clients()?;
    let by_secret = json!({
        "client": { "id": clients.machine.id, "secret": "${secret:CLIENT}" },
        "scopes": ["notes.read"],
        "with": { "with": "client_secret" },
    });
    let by_key = json!({
        "client": { "id": clients.key.id },
        "scopes": ["notes.read"],
        "with": { "with": "client_key", "key": "${secret:KEY}", "algorithm": clients.key.algorithm },
    });
    testbed.add_with("machine", &by_secret, &[("signIn/secret", clients.machine.secret.reveal())])?;
    testbed.add_with("key", &by_key, &[("signIn/key", clients.key.pem.reveal())])?;
    for server in ["machine", "key"] {
        testbed.await_connected(server)?;
        let wanted = format!("client {server} with notes.read");
        ensure!(testbed.whoami(server)? == wanted, "{server}");
        testbed.provider.expire()?;
        ensure!(testbed.whoami(server)? == wanted, "{server}, after its token had ended");
        let state = testbed.state(server)?;
        ensure!(state["is"] == "in", "{server}: {state:#}");
    }
    let counts = testbed.provider.counts()?;
    ensure!(counts.asked("authorize") == 0 && counts.granted("client_credentials") >= 4, "{counts:?}");
    testbed.end()
}
