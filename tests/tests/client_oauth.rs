//! Unknown clients ask for access by OAuth (GATE-3): a real Gatehouse, plain HTTP as a browser and a client send it, the
//! official SDK, and the user at a terminal. Nothing is granted without the user's answer.

use std::process::Command;
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail, ensure};
use gatehouse_tests::approvals::wait_for_pending;
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, RawHttpResponse};
use gatehouse_tests::paths;
use serde_json::{Value, json};

const REDIRECT: &str = "http://127.0.0.1:51000/callback";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}}"#;

/// A client by OAuth.
struct OAuthClient {
    origin: String,
    id: String,
}

fn origin(gatehouse: &Gatehouse) -> String {
    gatehouse.endpoint.trim_end_matches("/mcp").to_owned()
}

/// A query parameter, as it is written.
fn parameter(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(own, value)| if own == name { Some(value.to_owned()) } else { None })
}

fn post_form(address: &str, form: &str) -> Result<RawHttpResponse> {
    http::post(address, &[("Content-Type", "application/x-www-form-urlencoded")], form.as_bytes())
}

/// Sends a first message with a token, or without any.
fn initialize(endpoint: &str, token: Option<&str>) -> Result<RawHttpResponse> {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json"), ("Accept", "application/json")];
    headers.extend(authorization.as_deref().map(|value| ("Authorization", value)));
    http::post(endpoint, &headers, INITIALIZE.as_bytes())
}

impl OAuthClient {
    fn register(gatehouse: &Gatehouse, name: &str) -> Result<Self> {
        let origin = origin(gatehouse);
        let metadata =
            json!({ "client_name": name, "redirect_uris": ["http://127.0.0.1/callback"] }).to_string();
        let address = format!("{origin}/oauth/register");
        let response = http::post(&address, &[("Content-Type", "application/json")], metadata.as_bytes())?;
        ensure!(response.status == 201, "{response:?}");
        let registered: Value = serde_json::from_str(&response.body)?;
        Ok(Self { origin, id: registered["client_id"].as_str().context("client_id")?.to_owned() })
    }

    /// Opens the page in the browser and follows it to its end, on another thread. Returns the last response: the one
    /// that leads to the client, or the page that says why there is none.
    fn browse(&self) -> JoinHandle<Result<RawHttpResponse>> {
        let origin = self.origin.clone();
        let start = format!(
            "{origin}/oauth/authorize?response_type=code&client_id={}&redirect_uri={REDIRECT}&code_challenge={CHALLENGE}&code_challenge_method=S256&state=s1",
            self.id
        );
        std::thread::spawn(move || {
            let mut address = start;
            loop {
                let response = http::send("GET", &address, &[], b"")?;
                match response.header("location") {
                    Some(waiting) if waiting.starts_with('/') => address = format!("{origin}{waiting}"),
                    Some(_) => return Ok(response),
                    None if response.body.contains("http-equiv=\"refresh\"") => {}
                    None => return Ok(response),
                }
            }
        })
    }

    /// Where the browser is sent in the end.
    fn redirected(&self, browser: JoinHandle<Result<RawHttpResponse>>) -> Result<String> {
        let response = browser.join().map_err(|_| anyhow::anyhow!("the browser broke off"))??;
        let address = response.header("location").with_context(|| format!("{response:?}"))?.to_owned();
        ensure!(address.starts_with(REDIRECT), "{address}");
        ensure!(parameter(&address, "state").as_deref() == Some("s1"), "{address}");
        ensure!(
            parameter(&address, "iss").is_some_and(|iss| iss.starts_with("http%3A%2F%2F127.0.0.1")),
            "{address}"
        );
        Ok(address)
    }

    /// Asks for access; the user allows it. Returns the code.
    fn allowed(&self, gatehouse: &Gatehouse) -> Result<String> {
        let browser = self.browse();
        answer(gatehouse, "allow")?;
        let address = self.redirected(browser)?;
        parameter(&address, "code").with_context(|| format!("no code: {address}"))
    }

    fn token(&self, form: &str) -> Result<Value> {
        let form = format!("client_id={}&{form}", self.id);
        let response = post_form(&format!("{}/oauth/token", self.origin), &form)?;
        Ok(serde_json::from_str(&response.body)?)
    }

    fn redeem(&self, code: &str) -> Result<Value> {
        self.token(&format!(
            "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&code_verifier={VERIFIER}"
        ))
    }

    fn refresh(&self, token: &str) -> Result<Value> {
        self.token(&format!("grant_type=refresh_token&refresh_token={token}"))
    }
}

/// Answers the only request that waits, and returns it.
fn answer(gatehouse: &Gatehouse, word: &str) -> Result<Value> {
    let question = wait_for_pending(gatehouse, 1)?.remove(0);
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, word])?;
    Ok(question)
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value[name].as_str().with_context(|| format!("no {name} in {value}"))
}

/// The clients in the list: name and how they connect.
fn clients(gatehouse: &Gatehouse) -> Result<Vec<(String, String)>> {
    let all = gatehouse.ask(&["clients", "list"])?;
    let each =
        |client: &Value| Ok((text(client, "name")?.to_owned(), text(&client["access"], "by")?.to_owned()));
    all.as_array().into_iter().flatten().map(each).collect()
}

fn is_valid(gatehouse: &Gatehouse, token: &str) -> Result<bool> {
    let response = initialize(&gatehouse.endpoint, Some(token))?;
    ensure!(matches!(response.status, 200 | 401), "{response:?}");
    Ok(response.status == 200)
}

#[test]
fn access_is_the_users_answer_and_lasts_over_a_restart() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let client = OAuthClient::register(&gatehouse, "Agent\u{202e} X")?;
    ensure!(clients(&gatehouse)?.is_empty());

    // Denied: nothing but the error.
    let browser = client.browse();
    let question = answer(&gatehouse, "deny")?;
    let request = &question["request"];
    ensure!(request["kind"] == "client" && request["says"] == "Agent X", "{question:#}");
    ensure!(request["clientId"] == client.id.as_str() && request["redirectUri"] == REDIRECT, "{question:#}");
    ensure!(request["seenFrom"]["program"]["path"].is_string(), "{question:#}");
    let address = client.redirected(browser)?;
    ensure!(parameter(&address, "error").as_deref() == Some("access_denied"), "{address}");
    ensure!(parameter(&address, "code").is_none() && clients(&gatehouse)?.is_empty());

    // Allowed: a client like the others, with permissions of its own.
    let tokens = client.redeem(&client.allowed(&gatehouse)?)?;
    let access = text(&tokens, "access_token")?.to_owned();
    ensure!(is_valid(&gatehouse, &access)?);
    ensure!(clients(&gatehouse)? == [("Agent X".to_owned(), "oauth".to_owned())]);
    let audit = gatehouse.ask(&["audit", "list"])?.to_string();
    ensure!(audit.contains(r#""audit":"client_access_answered""#), "{audit}");
    ensure!(audit.contains(r#""answer":"declined""#) && audit.contains(r#""answer":"accepted""#), "{audit}");

    // Its tokens hold over a restart, and end with the client.
    gatehouse.stop()?;
    gatehouse.launch()?;
    ensure!(is_valid(&gatehouse, &access)?);
    let client = OAuthClient { origin: origin(&gatehouse), ..client };
    let renewed = client.refresh(text(&tokens, "refresh_token")?)?;
    let second = text(&renewed, "access_token")?;
    ensure!(is_valid(&gatehouse, second)? && !is_valid(&gatehouse, &access)?);
    gatehouse.ask(&["clients", "revoke", "Agent X"])?;
    ensure!(!is_valid(&gatehouse, second)?);
    ensure!(client.refresh(text(&renewed, "refresh_token")?)?["error"] == "invalid_grant");

    let written = gatehouse.stderr() + &gatehouse.ask(&["audit", "list"])?.to_string();
    for tokens in [&tokens, &renewed] {
        for name in ["access_token", "refresh_token"] {
            ensure!(!written.contains(text(tokens, name)?), "a token was written down");
        }
    }
    Ok(())
}

#[test]
fn reused_code_or_refresh_token_ends_what_came_of_it() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let client = OAuthClient::register(&gatehouse, "Agent")?;
    let code = client.allowed(&gatehouse)?;
    let tokens = client.redeem(&code)?;
    ensure!(client.redeem(&code)?["error"] == "invalid_grant");
    ensure!(!is_valid(&gatehouse, text(&tokens, "access_token")?)?);
    let first = client.redeem(&client.allowed(&gatehouse)?)?;
    let second = client.refresh(text(&first, "refresh_token")?)?;
    ensure!(is_valid(&gatehouse, text(&second, "access_token")?)?);
    ensure!(client.refresh(text(&first, "refresh_token")?)?["error"] == "invalid_grant");
    ensure!(!is_valid(&gatehouse, text(&second, "access_token")?)?);
    // Another client has nothing of it.
    let other = OAuthClient::register(&gatehouse, "Other")?;
    let code = client.allowed(&gatehouse)?;
    ensure!(other.redeem(&code)?["error"] == "invalid_grant");
    ensure!(clients(&gatehouse)? == [("Agent".to_owned(), "oauth".to_owned())]);
    Ok(())
}

#[test]
fn a_program_of_the_user_cannot_answer_for_the_user() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let client = OAuthClient::register(&gatehouse, "Agent")?;
    let browser = client.browse();
    let question = wait_for_pending(&gatehouse, 1)?.remove(0);
    let id = text(&question, "id")?;
    let refused = gatehouse.run_unprivileged(&["approvals", "answer", id, "allow"])?;
    ensure!(!refused.status.success(), "{refused:?}");
    let seen = gatehouse.run_unprivileged(&["--json", "approvals", "list"])?;
    ensure!(!String::from_utf8_lossy(&seen.stdout).contains(REDIRECT), "{seen:?}");
    let refused = gatehouse.run_unprivileged(&["settings", "set", "--allowed-hosts", "evil.example"])?;
    ensure!(!refused.status.success(), "{refused:?}");
    gatehouse.ask(&["approvals", "answer", id, "deny"])?;
    client.redirected(browser)?;
    ensure!(clients(&gatehouse)?.is_empty());
    Ok(())
}

#[test]
fn request_that_is_left_is_withdrawn_when_gatehouse_stops() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let client = OAuthClient::register(&gatehouse, "Agent")?;
    let browser = client.browse();
    wait_for_pending(&gatehouse, 1)?;
    gatehouse.stop()?;
    // The page says that the request ended, or can't be loaded any more; there is no code in any case.
    if let Ok(Ok(response)) = browser.join() {
        ensure!(response.header("location").is_none_or(|address| !address.contains("code=")), "{response:?}");
    }
    gatehouse.launch()?;
    ensure!(gatehouse.ask(&["approvals", "list"])? == json!([]) && clients(&gatehouse)?.is_empty());
    Ok(())
}

#[test]
fn challenge_tells_missing_wrong_and_ended_tokens_apart() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("by token")?;
    ensure!(is_valid(&gatehouse, &token)?);
    gatehouse.ask(&["clients", "revoke", "by token"])?;
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", origin(&gatehouse));
    for (what, token, leads_on, is_invalid) in [
        ("missing", None, true, false),
        ("revoked", Some(token.as_str()), false, true),
        ("made up", Some("abc"), false, true),
        ("an ended access token", Some("gatehouse_at_00.x"), true, true),
    ] {
        let response = initialize(&gatehouse.endpoint, token)?;
        let challenge = response.header("www-authenticate").with_context(|| format!("{response:?}"))?;
        ensure!(response.status == 401 && challenge.starts_with("Bearer "), "{what}: {response:?}");
        ensure!(
            challenge.contains(&format!("resource_metadata=\"{metadata}\"")) == leads_on,
            "{what}: {challenge}"
        );
        ensure!(challenge.contains("error=\"invalid_token\"") == is_invalid, "{what}: {challenge}");
        ensure!(challenge.contains("error_description=") == is_invalid, "{what}: {challenge}");
    }
    let found = http::send("GET", &metadata, &[], b"")?;
    let found: Value = serde_json::from_str(&found.body)?;
    ensure!(found["resource"] == gatehouse.endpoint.as_str(), "{found}");
    Ok(())
}

#[test]
fn documents_of_clients_come_from_the_public_internet_only() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for id in [
        "https://localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://192.168.0.1/client.json",
        "https://169.254.169.254/latest",
        "http://127.0.0.1/client.json",
    ] {
        let client = OAuthClient { origin: origin(&gatehouse), id: id.to_owned() };
        let response = client.browse().join().map_err(|_| anyhow::anyhow!("the browser broke off"))??;
        ensure!(response.status == 400 && response.header("location").is_none(), "{id}: {response:?}");
    }
    ensure!(gatehouse.ask(&["approvals", "list"])? == json!([]));
    Ok(())
}

#[test]
fn operator_allows_further_host_names() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("container")?;
    let port = gatehouse.endpoint.trim_end_matches("/mcp").rsplit_once(':').context("port")?.1.to_owned();
    let status = |gatehouse: &Gatehouse, host: &str| {
        let authorization = format!("Bearer {token}");
        let headers = [
            ("Host", host),
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ];
        http::post(&gatehouse.endpoint, &headers, INITIALIZE.as_bytes()).map(|response| response.status)
    };
    let host = format!("host.docker.internal:{port}");
    ensure!(status(&gatehouse, &host)? == 403);
    let set =
        gatehouse.ask(&["settings", "set", "--allowed-hosts", "Host.Docker.Internal,tunnel.example:8443"])?;
    ensure!(set["allowedHosts"] == json!(["host.docker.internal", "tunnel.example:8443"]), "{set}");
    for (host, expected) in [
        (host.as_str(), 200),
        ("tunnel.example:8443", 200),
        ("tunnel.example", 403),
        ("host.docker.internal:1", 403),
        ("evil.example", 403),
    ] {
        ensure!(status(&gatehouse, host)? == expected, "{host}");
    }
    // A page of such a host is foreign all the same.
    let headers = [("Host", host.as_str()), ("Origin", "http://host.docker.internal:1")];
    ensure!(http::post(&gatehouse.endpoint, &headers, b"")?.status == 403);
    for bad in ["*", "http://host", "host/path", "a b", "host:0"] {
        ensure!(
            !gatehouse.run_as_operator(&["settings", "set", "--allowed-hosts", bad])?.status.success(),
            "{bad}"
        );
    }
    gatehouse.stop()?;
    gatehouse.launch()?;
    ensure!(status(&gatehouse, "tunnel.example:8443")? == 200, "it is kept over a restart");
    gatehouse.ask(&["settings", "set", "--allowed-hosts", "none"])?;
    ensure!(status(&gatehouse, "tunnel.example:8443")? == 403);
    Ok(())
}

/// A client of the TypeScript SDK, driven over the line protocol.
struct SdkClient(ChildProcess);

impl SdkClient {
    fn start() -> Result<Self> {
        let script = paths::tests_dir().join("js/oauth-client.mjs");
        Ok(Self(ChildProcess::start("the OAuth client", Command::new("node").arg(script))?))
    }

    fn begin(&mut self, command: &Value) -> Result<()> {
        self.0.write_line(&command.to_string())
    }

    fn end(&mut self) -> Result<Value> {
        let reply: Value = serde_json::from_str(&self.0.next_line()?)?;
        if reply.get("error").is_some() {
            bail!("{reply}")
        }
        Ok(reply["result"].clone())
    }

    fn run(&mut self, command: &Value) -> Result<Value> {
        self.begin(command)?;
        self.end()
    }
}

#[test]
fn official_sdk_asks_refreshes_and_asks_again() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    let mut sdk = SdkClient::start()?;
    let connect = json!({ "op": "connect", "url": gatehouse.endpoint });
    sdk.begin(&connect)?;
    let question = answer(&gatehouse, "allow")?;
    ensure!(question["request"]["says"] == "SDK", "{question:#}");
    // What listens at the redirect URI is the SDK's process, whoever opened the page.
    let receiver = text(&question["request"]["receiver"]["program"], "path")?;
    ensure!(receiver.contains("oauth-client.mjs"), "{receiver}");
    let connected = sdk.end()?;
    ensure!(
        connected["asked"] == true && connected["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    );
    // With its tokens it isn't asked about again.
    ensure!(sdk.run(&connect)?["asked"] == false);
    let before = sdk.run(&json!({ "op": "tokens" }))?;
    sdk.run(&json!({ "op": "expire" }))?;
    ensure!(sdk.run(&connect)?["asked"] == false, "it refreshed its token");
    let after = sdk.run(&json!({ "op": "tokens" }))?;
    ensure!(before["tokens"]["refresh_token"] != after["tokens"]["refresh_token"]);
    // The user revokes it: it asks again, by the same id.
    sdk.run(&json!({ "op": "leave" }))?;
    gatehouse.ask(&["clients", "revoke", "SDK"])?;
    eventually("the list of clients to be empty", || {
        Ok(if clients(&gatehouse)?.is_empty() { Ok(()) } else { Err("not empty") })
    })?;
    sdk.begin(&connect)?;
    let again = answer(&gatehouse, "deny")?;
    ensure!(again["request"]["clientId"] == before["client"], "{again:#}");
    ensure!(sdk.end().is_err_and(|error| error.to_string().contains("access_denied")));
    ensure!(clients(&gatehouse)?.is_empty());
    Ok(())
}
