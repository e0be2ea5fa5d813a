//! The real windows: what each of them may do, and the behaviour of the prompt window.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Result;
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::window::{AppWindow, Desktop, WebPage};
use serde_json::{Value, json};

/// Every command of the main window, with valid arguments.
fn of_main() -> Vec<(&'static str, Value)> {
    vec![
        ("command", json!({"name": "status", "args": {}})),
        ("command", json!({"name": "approvals.answer", "args": {"answers": []}})),
        ("events", json!({"channel": "__CHANNEL__:1"})),
        ("main_signals", json!({"channel": "__CHANNEL__:1"})),
        ("start_again", json!({})),
        ("vault", json!({})),
        ("unlock_vault", json!({"passphrase": "correct horse"})),
        ("put_vault_aside", json!({})),
        ("make_vault", json!({"passphrase": "correct horse"})),
        ("change_passphrase", json!({"old": "correct horse", "new": "battery staple"})),
        ("preferences", json!({})),
        (
            "set_preferences",
            json!({"preferences": {"theme": "dark", "language": "en", "saidKeepsRunning": true}}),
        ),
        ("open_link", json!({"address": "https://example.org/"})),
        ("painted", json!({})),
        ("show_prompt", json!({})),
        ("hide_main", json!({})),
        ("quit", json!({})),
    ]
}

/// Every command of the prompt window.
fn of_prompt() -> Vec<(&'static str, Value)> {
    vec![
        ("prompt_pending", json!({ "known": [] })),
        ("prompt_answer", json!({"answers": []})),
        ("prompt_reveal", json!({"id": "x", "hash": "x", "argument": 0})),
        ("prompt_signals", json!({"channel": "__CHANNEL__:1"})),
        ("prompt_preferences", json!({})),
        ("prompt_put_away", json!({})),
        ("prompt_fit", json!({"height": 300})),
        ("prompt_open_main", json!({})),
        ("prompt_open_link", json!({ "address": "https://example.org" })),
    ]
}

/// Commands of the framework that no page may use.
const OF_NOBODY: [&str; 8] = [
    "plugin:webview|create_webview_window",
    "plugin:window|create",
    "plugin:window|close",
    "plugin:event|emit",
    "plugin:event|listen",
    "plugin:store|load",
    "plugin:path|resolve_directory",
    "plugin:app|version",
];

fn assert_refused(page: WebPage<'_>, command: &str, args: &Value) {
    let answer = page.invoke(command, args);
    let refusal = answer.expect_err(&format!("{command} was not refused")).to_string();
    assert!(refusal.contains("not allowed") || refusal.contains("not found"), "{command}: {refusal}");
}

fn names(commands: &[(&str, Value)]) -> BTreeSet<String> {
    commands.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The commands that a capability file grants.
fn granted(capability: &str) -> Result<BTreeSet<String>> {
    let capability: Value = serde_json::from_str(capability)?;
    let permissions: Vec<String> = serde_json::from_value(capability["permissions"].clone())?;
    Ok(permissions.iter().map(|it| it.trim_start_matches("allow-").replace('-', "_")).collect())
}

#[test]
fn windows_call_only_their_own_commands() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let (main, prompt) = (window.main(), window.prompt());
    assert_eq!(names(&of_main()), granted(include_str!("../../src-tauri/capabilities/main.json"))?);
    assert_eq!(names(&of_prompt()), granted(include_str!("../../src-tauri/capabilities/prompt.json"))?);
    for (command, args) in of_prompt() {
        assert_refused(main, command, &args);
    }
    for (command, args) in of_main() {
        assert_refused(prompt, command, &args);
    }
    for command in OF_NOBODY {
        assert_refused(main, command, &json!({}));
        assert_refused(prompt, command, &json!({}));
    }
    assert_eq!(main.invoke("command", &json!({"name": "status", "args": {}}))?["secrets"], "keychain");
    assert_eq!(prompt.invoke("prompt_pending", &json!({ "known": [] }))?, json!([]));
    let called = main
        .invoke("command", &json!({"name": "call", "args": {"token": "t", "tool": "x", "arguments": "{}"}}));
    assert!(called.is_err(), "a window is no client");
    let opened = prompt.invoke("prompt_open_link", &json!({ "address": "https://example.org" }));
    let refused = opened.unwrap_err().to_string();
    assert!(refused.contains("error.desktop.linkUnasked"), "a page that no request is about: {refused}");

    window.quit()
}

/// Ways for a page to run other code or to send data out, and the directive of the content security
/// policy that has to refuse each. `there` is an address that would accept anything.
const ATTEMPTS: [(&str, &str); 15] = [
    ("eval('window.stolen = 1')", "script-src"),
    ("new Function('window.stolen = 1')()", "script-src"),
    ("location.href = 'javascript:window.stolen = 1'", "script-src"),
    ("add('script', { textContent: 'window.stolen = 1' })", "script-src"),
    ("add('script', { src: there })", "script-src"),
    (
        "const it = add('button', {}); it.setAttribute('onclick', 'window.stolen = 1'); it.click()",
        "script-src",
    ),
    ("import(there).catch(() => null)", "script-src"),
    ("add('style', { textContent: 'body { color: red }' })", "style-src"),
    ("add('img', { src: there })", "img-src"),
    ("add('iframe', { src: there })", "frame-src"),
    ("add('form', { action: there, method: 'post' }).submit()", "form-action"),
    ("fetch(there, { mode: 'no-cors' }).catch(() => null)", "connect-src"),
    ("navigator.sendBeacon(there, 'x')", "connect-src"),
    ("new EventSource(there)", "connect-src"),
    ("new WebSocket(there.replace('http', 'ws'))", "connect-src"),
];

/// Ways for a page to navigate elsewhere, or to open another page.
const WAYS_OUT: [&str; 4] = [
    "location.assign(there)",
    "location.assign('about:blank')",
    "location.assign('tauri://other/')",
    "window.open(there)",
];

/// Within this time a page has started to load, if that is possible.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

#[test]
fn pages_cannot_run_foreign_code_or_navigate_away() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let others = TcpListener::bind(("127.0.0.1", 0))?;
    others.set_nonblocking(true)?;
    let there = json!(format!("http://{}/", others.local_addr()?));
    for page in [window.main(), window.prompt()] {
        for (attempt, rule) in ATTEMPTS {
            let refused_by = page.wait_for(&format!(
                "const there = {there}; \
                 const add = (tag, members) => document.body.appendChild(Object.assign(document.createElement(tag), members)); \
                 const refused = new Promise((done) => addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective), {{ once: true }})); \
                 try {{ {attempt} }} catch {{ /* the event tells */ }} \
                 return Promise.race([refused, new Promise((done) => setTimeout(done, 5000, 'nothing'))])"
            ))?;
            let refused_by = refused_by.as_str().unwrap_or_default();
            assert!(refused_by.starts_with(rule), "{attempt} was refused by {refused_by}");
        }
        let address = page.address()?;
        page.run("window.stayed = true; return null")?;
        for way in WAYS_OUT {
            page.run(&format!("const there = {there}; {way}; return null"))?;
            std::thread::sleep(ON_ITS_WAY);
            assert_eq!(page.address()?, address, "{way}");
            assert_eq!(window.count()?, 2, "{way}");
        }
        assert_eq!(page.run("return [window.stayed ?? false, window.stolen ?? null]")?, json!([true, null]));
    }
    assert!(others.accept().is_err(), "a page reached somebody else");
    let _here = TcpStream::connect(others.local_addr()?)?;
    others.accept().expect("nobody would have been noticed");
    window.quit()
}

#[test]
fn prompt_shows_without_focus_and_delays_input() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let (main, prompt) = (window.main(), window.prompt());
    let mut client = connect_client(main)?;
    desktop.until_visible("Gatehouse", true)?;
    desktop.xdotool(&["search", "--onlyvisible", "--name", "^Gatehouse$", "windowactivate", "--sync"])?;
    assert_eq!(desktop.focused_window()?, "Gatehouse");
    assert!(!desktop.is_visible("Gatehouse asks")?);

    let call = client.begin("current_time", &json!({}))?;
    desktop.until_visible("Gatehouse asks", true)?;
    let at_once = prompt.wait_for(
        "const [pending] = await window.__TAURI_INTERNALS__.invoke('prompt_pending', { known: [] }); \
         return { id: pending.id, hash: pending.request.hash }",
    )?;
    assert_eq!(desktop.focused_window()?, "Gatehouse", "the keyboard stays where it was");
    let answer = json!({"answers": [{
        "id": at_once["id"], "hash": at_once["hash"],
        "answer": {"answer": "deny", "choice": {"lifetime": "once", "width": "call", "everyClient": false, "conditions": []}, "reason": "not now"},
    }]});
    // Raised by the user: from this moment on its buttons are disabled for half a second, in the shell
    // too.
    main.invoke("show_prompt", &json!({}))?;
    let raised = Instant::now();
    let early = prompt.invoke("prompt_answer", &answer).unwrap_err().to_string();
    assert!(early.contains("refused") || early.contains("not_permitted"), "{early}");
    eventually_holds("the answer to be taken", || Ok(prompt.invoke("prompt_answer", &answer).is_ok()))?;
    assert!(raised.elapsed() > Duration::from_millis(400), "the guard slept for less than it should");
    let end = client.finish(&call)?;
    assert!(!end.is_ok() && end.text().contains("not now"), "{end:?}");
    desktop.until_visible("Gatehouse asks", false)?;
    window.quit()
}

/// The shortcut works whichever window has the keyboard focus.
#[test]
fn global_shortcut_pauses_everything() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    let paused = || -> Result<bool> {
        let status = main.invoke("command", &json!({"name": "status", "args": {}}))?;
        Ok(status["paused"] == true)
    };
    main.invoke("hide_main", &json!({}))?;
    desktop.until_visible("Gatehouse", false)?;
    assert!(!paused()?);
    desktop.xdotool(&["key", "ctrl+alt+shift+p"])?;
    eventually_holds("the keys to be heard", paused)?;
    window.quit()
}

/// A client of its own, connected to the gateway of this window.
fn connect_client(main: WebPage<'_>) -> Result<Client> {
    let minted = main.invoke("command", &json!({"name": "clients.add", "args": {"name": "Claude Code"}}))?;
    let (endpoint, token) = (minted["endpoint"].as_str().unwrap(), minted["token"].as_str().unwrap());
    Client::connect(Sdk::TypeScript, "2026-07-28", endpoint, Some(token))
}
