//! OAuth sign-in to a server that a real authorization server protects, from the terminal: the user's
//! steps, automatic renewal, and what is refused. Each test ends with a search for every token, code,
//! verifier and secret in everything that Gatehouse wrote or printed.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::http;
use gatehouse_tests::oidc::{AuthorizationServer, Browser, Iss};
use gatehouse_tests::sign_in::{Scene, SigningIn};
use serde_json::{Value, json};

/// Whether the listener at an address accepts the request. A closed port does not.
fn taken(method: &str, address: &str) -> bool {
    http::send(method, address, &[], b"").is_ok_and(|answer| answer.status < 400)
}

/// A query parameter of a URL.
fn parameter<'a>(address: &'a str, name: &str) -> Result<&'a str> {
    let query = address.split_once('?').context("no query")?.1;
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
    Ok(found.with_context(|| format!("no {name}"))?.1)
}

#[test]
fn the_user_signs_in_and_the_tools_work() -> Result<()> {
    for options in [&[][..], &["--older"], &["--jwt"]] {
        let mut scene = Scene::start(options)?;
        scene.add("diary")?;
        ensure!(scene.state("diary")?["is"] == "out", "{options:?}");
        let page = scene.sign_in("diary", "ann")?;
        ensure!(page.status == 200, "{options:?}: {page:?}");
        ensure!(page.text.to_lowercase().contains("close this window"), "{}", page.text);
        for name in ["code", "state"] {
            let value = parameter(&page.address, name)?;
            ensure!(!page.text.contains(value), "the last page repeats the {name}");
        }
        ensure!(scene.whoami("diary")? == "ann with notes.read", "{options:?}");
        let state = scene.state("diary")?;
        ensure!(state["is"] == "in" && state["issuer"] == scene.provider.issuer.as_str(), "{state:#}");
        ensure!(state["account"].as_str().is_some_and(|account| account.contains("ann")), "{state:#}");
        ensure!(state["renews"] == true && state["expires"] != Value::Null, "{state:#}");
        let kinds = scene.provider.secrets()?;
        for kind in ["access_token", "refresh_token", "id_token", "code", "verifier"] {
            ensure!(kinds.iter().any(|issued| issued.kind == kind), "no {kind} was issued");
        }
        scene.end()?;
    }
    Ok(())
}

/// The secret and the redirect URI of a manually registered client are still there after a restart, and
/// the token that expired meanwhile is renewed with them without asking the user.
#[test]
fn a_confidential_client_renews_after_a_restart() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add_confidential("diary")?;
    scene.provider.set_lifetime(2)?;
    scene.sign_in("diary", "ann")?;
    scene.restart(|provider| {
        provider.until_expired()?;
        provider.set_lifetime(3600)
    })?;
    scene.running("diary")?;
    ensure!(scene.whoami("diary")? == "ann with notes.read", "another account");
    let counts = scene.provider.counts()?;
    ensure!(counts.granted("refresh_token") >= 1, "{counts:?}");
    ensure!(counts.asked("refresh_token") == counts.granted("refresh_token"), "{counts:?}");
    ensure!(counts.asked("authorize") == 1 && counts.asked("registration") == 0, "{counts:?}");
    scene.end()
}

/// A dynamic client registration is used again after a restart.
#[test]
fn a_registration_is_kept() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    scene.restart(AuthorizationServer::expire)?;
    scene.running("diary")?;
    scene.whoami("diary")?;
    scene.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    scene.gatehouse.await_status("diary", "needs_auth")?;
    scene.sign_in("diary", "ann")?;
    let counts = scene.provider.counts()?;
    ensure!(counts.asked("registration") == 1 && counts.granted("refresh_token") == 1, "{counts:?}");
    scene.end()
}

/// Fifty concurrent calls with an expired token, and with a revoked one: it is renewed once.
#[test]
fn fifty_calls_renew_a_token_once() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.provider.set_lifetime(3)?;
    scene.sign_in("diary", "ann")?;
    scene.provider.set_lifetime(3600)?;
    // While the first of them is at the token endpoint, all the others arrive.
    scene.provider.set_delay(300)?;
    let whoami = scene.exposed("diary", "whoami")?;
    scene.provider.until_expired()?;
    for round in ["expired", "taken back"] {
        let before = scene.provider.counts()?;
        let calls: Vec<String> =
            (0..50).map(|_| scene.client.begin(&whoami, &json!({}))).collect::<Result<_>>()?;
        for call in calls {
            let answer = scene.client.finish(&call)?;
            ensure!(answer.is_ok() && answer.text() == "ann with notes.read", "{round}: {answer:?}");
        }
        let after = scene.provider.counts()?;
        let more = after.asked("refresh_token") - before.asked("refresh_token");
        ensure!(more == 1, "{round}: the token was renewed {more} times");
        scene.provider.expire()?;
    }
    scene.end()
}

/// The error of a renewal determines what is forgotten: the tokens, or the registration too. In both
/// cases it works again after the user signs in again.
#[test]
fn a_renewal_that_is_refused_needs_the_user() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    for (error, registrations) in [("revoked", 1), ("invalid_grant", 1), ("invalid_client", 2)] {
        match error {
            "revoked" => scene.provider.revoke("ann")?,
            error => {
                scene.provider.answer_once("refresh_token", error)?;
                scene.provider.expire()?;
            }
        }
        let answer = scene.call("diary", "whoami", &json!({}))?;
        ensure!(!answer.is_ok(), "{error}: {answer:?}");
        scene.gatehouse.await_status("diary", "needs_auth")?;
        ensure!(scene.state("diary")?["is"] == "out", "{error}");
        scene.sign_in("diary", "ann")?;
        ensure!(scene.whoami("diary")? == "ann with notes.read", "{error}");
        let counts = scene.provider.counts()?;
        ensure!(counts.asked("registration") == registrations, "{error}: {counts:?}");
    }
    scene.end()
}

/// An issuer that replaces another never receives the old issuer's tokens, and those are no longer sent
/// to the server once the user signed in at the new one.
#[test]
fn another_issuer_never_gets_old_tokens() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    let issuer = scene.provider.swap()?;
    let answer = scene.call("diary", "whoami", &json!({}))?;
    ensure!(!answer.is_ok(), "{answer:?}");
    scene.gatehouse.await_status("diary", "needs_auth")?;
    let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
    ensure!(signing.address.starts_with(&issuer), "the user was sent elsewhere: {}", signing.address);
    Browser::of("bob").visit(&signing.address)?;
    signing.done()?;
    scene.running("diary")?;
    ensure!(scene.whoami("diary")? == "bob with notes.read", "another account");
    ensure!(scene.state("diary")?["issuer"] == issuer.as_str(), "another issuer");
    for (issuer, strays) in scene.provider.strays()? {
        ensure!(strays.is_empty(), "{issuer} was sent what is not its own: {strays:?}");
    }
    let seen = scene.provider.seen()?;
    let first = seen.iter().position(|token| token.issuer.as_deref() == Some(issuer.as_str()));
    let late = &seen[first.context("no token of the new issuer came")?..];
    let old = late.iter().find(|token| token.issuer.as_deref() != Some(issuer.as_str()));
    ensure!(old.is_none(), "an old token came late: {old:?}");
    scene.end()
}

/// Only one callback ends a sign-in: by GET, at the right path, with the right state. And only once.
#[test]
fn answers_to_somebody_else_change_nothing() -> Result<()> {
    let scene = Scene::start(&[])?;
    scene.add("diary")?;
    let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
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
        ensure!(scene.state("diary")?["is"] == "waiting", "{method} with {status} ended it");
    }
    let paste = |address: &str| {
        scene.gatehouse.command("servers.pasteAddress", &json!({ "server": "diary", "address": address }))
    };
    ensure!(paste(&answer.replace(state, &wrong)).is_err(), "a wrong state was taken when it was pasted");
    ensure!(scene.state("diary")?["is"] == "waiting", "it was ended by what was pasted");
    ensure!(scene.provider.counts()?.asked("authorization_code") == 0, "a code was used");

    ensure!(taken("GET", &answer), "the right answer was refused");
    signing.done()?;
    scene.running("diary")?;
    ensure!(!taken("GET", &answer), "the same answer was taken again");
    ensure!(paste(&answer).is_err(), "the same answer was taken again when it was pasted");
    let counts = scene.provider.counts()?;
    ensure!(counts.asked("authorization_code") == 1, "{counts:?}");
    ensure!(scene.state("diary")?["is"] == "in", "it was undone");

    // An old code with a new state gets no token.
    scene.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    scene.gatehouse.await_status("diary", "needs_auth")?;
    let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
    let newer = Browser::of("ann").stop_before_callback(&signing.address)?;
    http::send("GET", &newer.replace(parameter(&newer, "code")?, parameter(&answer, "code")?), &[], b"")?;
    signing.failed()?;
    let out = scene.until("diary", "out")?;
    ensure!(out["problem"] != Value::Null, "it is not said why: {out:#}");
    let counts = scene.provider.counts()?;
    ensure!(
        (counts.asked("authorization_code"), counts.granted("authorization_code")) == (2, 1),
        "{counts:?}"
    );
    scene.end()
}

/// A callback with another issuer's `iss`, or without one although it is promised, is not used; nor is
/// one in which the user denied consent. Each gives its reason, and leaves the server's status
/// unchanged.
#[test]
fn answers_that_are_no_consent_end_it() -> Result<()> {
    let scene = Scene::start(&[])?;
    scene.add("diary")?;
    let ann = Browser::of("ann");
    for (iss, browser) in [
        (Iss::Wrong, ann),
        (Iss::Absent, ann),
        (Iss::Right, Browser::refusing("ann")),
        (Iss::Wrong, Browser::refusing("ann")),
    ] {
        scene.provider.set_iss(iss)?;
        let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
        browser.visit(&signing.address)?;
        let said = signing.failed()?;
        let out = scene.until("diary", "out")?;
        let why =
            out["problem"]["what"].as_str().with_context(|| format!("{iss:?}: no reason in {out:#}"))?;
        ensure!(said.contains(why), "{iss:?}: the terminal says another thing than “{why}”: {said}");
        scene.gatehouse.await_status("diary", "needs_auth")?;
    }
    let counts = scene.provider.counts()?;
    ensure!(counts.asked("authorization_code") == 0, "a code was used: {counts:?}");
    scene.provider.set_iss(Iss::Right)?;
    scene.sign_in("diary", "ann")?;
    scene.end()
}

/// Scope upgrades are approval requests. After a denial the call ends; after an approval and a visit to
/// the browser it continues automatically. The scopes survive a restart and renewals.
#[test]
fn more_rights_are_asked_for() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    let write = scene.exposed("diary", "write")?;
    let mut person = scene.gatehouse.person()?;

    let call = scene.client.begin(&write, &json!({ "text": "one" }))?;
    let question = person.question()?;
    ensure!(question["ask"]["ask"] == "step_up", "{question:#}");
    ensure!(question["ask"]["server"]["name"] == "diary", "{question:#}");
    ensure!(question["ask"]["scopes"] == json!(["notes.write"]), "{question:#}");
    person.answer(&question, "deny")?;
    let answer = scene.client.finish(&call)?;
    ensure!(!answer.is_ok(), "{answer:?}");
    ensure!(scene.whoami("diary")? == "ann with notes.read", "the no changed something");
    ensure!(scene.provider.counts()?.asked("authorize") == 1, "the user was sent to the browser");

    let call = scene.client.begin(&write, &json!({ "text": "two" }))?;
    let question = person.question()?;
    person.answer(&question, "allow")?;
    scene.until("diary", "waiting")?;
    let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
    Browser::of("ann").visit(&signing.address)?;
    signing.done()?;
    let answer = scene.client.finish(&call)?;
    ensure!(answer.is_ok() && answer.text() == "ann wrote two", "{answer:?}");

    for meanwhile in ["restart", "renewal"] {
        scene.restart(|provider| if meanwhile == "renewal" { provider.expire() } else { Ok(()) })?;
        scene.running("diary")?;
        let answer = scene.call("diary", "write", &json!({ "text": meanwhile }))?;
        ensure!(answer.is_ok(), "{meanwhile}: {answer:?}");
        let scopes = scene.state("diary")?["scopes"].clone();
        for scope in ["notes.read", "notes.write"] {
            ensure!(scopes.as_array().is_some_and(|all| all.contains(&json!(scope))), "{scopes}");
        }
    }
    ensure!(scene.provider.counts()?.asked("authorize") == 2, "the user was asked again");
    scene.end()
}

/// Signing out revokes the tokens at the authorization server too.
#[test]
fn signing_out_takes_the_tokens_back() -> Result<()> {
    let scene = Scene::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    ensure!(scene.provider.counts()?.access_tokens == 1, "there is no token to take back");
    let out = scene.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    ensure!(out["revoked"] == true, "{out}");
    scene.gatehouse.await_status("diary", "needs_auth")?;
    ensure!(scene.state("diary")?["is"] == "out", "still signed in");
    let counts = scene.provider.counts()?;
    ensure!(counts.granted("revocation") >= 1 && counts.access_tokens == 0, "{counts:?}");
    scene.end()
}

/// Two servers with one URL are two accounts; signing out of one does not affect the other.
#[test]
fn two_servers_with_one_address_have_two_accounts() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    for (server, user) in [("hers", "ann"), ("his", "bob")] {
        scene.add(server)?;
        scene.sign_in(server, user)?;
    }
    scene.restart(|_| Ok(()))?;
    for (server, user) in [("hers", "ann"), ("his", "bob")] {
        scene.running(server)?;
        ensure!(scene.whoami(server)? == format!("{user} with notes.read"), "{server}");
    }
    scene.gatehouse.ask(&["servers", "sign-out", "hers"])?;
    scene.gatehouse.await_status("hers", "needs_auth")?;
    ensure!(scene.whoami("his")? == "bob with notes.read", "the other one was signed out too");
    scene.end()
}

/// A cancelled or restarted sign-in accepts no callback any more.
#[test]
fn what_was_given_up_takes_no_answer() -> Result<()> {
    let scene = Scene::start(&[])?;
    scene.add("diary")?;
    let signing = SigningIn::begin(&scene.gatehouse, "diary")?;
    let waiting = scene.until("diary", "waiting")?;
    let host = waiting["host"].as_str().context("no host")?;
    ensure!(scene.provider.issuer.contains(host), "the user is told of {host}");
    let answer = Browser::of("ann").stop_before_callback(&signing.address)?;
    scene.gatehouse.command("servers.cancelSignIn", &json!({ "server": "diary" }))?;
    signing.failed()?;
    scene.until("diary", "out")?;
    ensure!(!taken("GET", &answer), "the answer was taken");

    let first = SigningIn::begin(&scene.gatehouse, "diary")?;
    let late = Browser::of("ann").stop_before_callback(&first.address)?;
    let second = SigningIn::begin(&scene.gatehouse, "diary")?;
    ensure!(!taken("GET", &late), "the answer to what was replaced was taken");
    ensure!(scene.provider.counts()?.asked("authorization_code") == 0, "a code was used");
    Browser::of("ann").visit(&second.address)?;
    second.done()?;
    scene.running("diary")?;
    scene.end()
}

/// If the browser is on another computer, the callback URL is pasted.
#[test]
fn the_address_is_pasted() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    scene.add("diary")?;
    let mut signing = SigningIn::begin_elsewhere(&scene.gatehouse, "diary")?;
    let answer = Browser::of("ann").stop_before_callback(&signing.address)?;
    signing.paste(&answer)?;
    signing.done()?;
    scene.running("diary")?;
    ensure!(scene.whoami("diary")? == "ann with notes.read", "another account");
    scene.end()
}

/// The client credentials grant needs no browser, with a secret or with a key, and gets the next token
/// automatically.
#[test]
fn a_client_signs_in_as_itself() -> Result<()> {
    let mut scene = Scene::start(&[])?;
    let clients = scene.provider.clients()?;
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
    scene.add_with("machine", &by_secret, &[("signIn/secret", clients.machine.secret.reveal())])?;
    scene.add_with("key", &by_key, &[("signIn/key", clients.key.pem.reveal())])?;
    for server in ["machine", "key"] {
        scene.running(server)?;
        let wanted = format!("client {server} with notes.read");
        ensure!(scene.whoami(server)? == wanted, "{server}");
        scene.provider.expire()?;
        ensure!(scene.whoami(server)? == wanted, "{server}, after its token had ended");
        let state = scene.state(server)?;
        ensure!(state["is"] == "in", "{server}: {state:#}");
    }
    let counts = scene.provider.counts()?;
    ensure!(counts.asked("authorize") == 0 && counts.granted("client_credentials") >= 4, "{counts:?}");
    scene.end()
}
