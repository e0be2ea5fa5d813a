//! The real windows: what each of them may do, and the behaviour of the prompt window.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gatehouse_tests::eventually::{TEST_TIMEOUT, eventually_holds};
use gatehouse_tests::paths;
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
            json!({"preferences": {"theme": "dark", "language": "en", "saidKeepsRunning": true, "firstRunDone": true}}),
        ),
        ("page_state", json!({})),
        ("set_page_state", json!({"name": "chat.draft", "value": null})),
        ("has_pause_shortcut", json!({})),
        ("starts_at_login", json!({})),
        ("set_starts_at_login", json!({"starts": false})),
        ("update_status", json!({})),
        ("check_update", json!({})),
        ("install_update", json!({})),
        ("cancel_update", json!({})),
        ("open_link", json!({"address": "https://example.org/"})),
        ("pick_file", json!({"endings": ["mcpb"]})),
        ("painted", json!({})),
        ("show_prompt", json!({})),
        ("close_main", json!({})),
        ("quit", json!({})),
    ]
}

/// Every command of the prompt window.
fn of_prompt() -> Vec<(&'static str, Value)> {
    vec![
        ("prompt_pending", json!({ "known": [] })),
        ("prompt_answer", json!({"answers": []})),
        ("prompt_reveal", json!({"id": "x", "hash": "x", "argument": 0})),
        ("prompt_trust_labels", json!({"id": "x", "hash": "x", "trusted": true})),
        ("prompt_generate", json!({"id": "x", "run": "x"})),
        ("prompt_stop_generating", json!({"run": "x"})),
        ("prompt_opinion", json!({"id": "x", "hash": "x"})),
        ("prompt_signals", json!({"channel": "__CHANNEL__:1"})),
        ("prompt_preferences", json!({})),
        ("prompt_put_away", json!({})),
        ("prompt_fit", json!({"height": 300})),
        ("prompt_open_main", json!({})),
        ("prompt_open_link", json!({ "address": "https://example.org" })),
    ]
}

/// Label of the field that filters the calls.
const SEARCH: &str = "Search tools, arguments and results";

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
    let _client = window.connect_client("Claude Code")?;
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

/// Addresses that a page must not navigate to.
const ADDRESSES_ELSEWHERE: [&str; 3] = ["there", "'about:blank'", "'tauri://other/'"];

/// How many navigations the application has refused, by its log.
fn refused_navigations(desktop: &Desktop) -> Result<usize> {
    let mut refused = 0;
    for entry in std::fs::read_dir(desktop.data_dir().join("logs"))? {
        refused += std::fs::read_to_string(entry?.path())?.matches("a page tried to navigate away").count();
    }
    Ok(refused)
}

#[test]
fn pages_cannot_run_foreign_code_or_navigate_away() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let _client = window.connect_client("Claude Code")?;
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
        for elsewhere in ADDRESSES_ELSEWHERE {
            let refused = refused_navigations(&desktop)?;
            page.run(&format!("const there = {there}; location.assign({elsewhere}); return null"))?;
            eventually_holds(format!("{elsewhere} to be refused"), || {
                Ok(refused_navigations(&desktop)? > refused)
            })?;
            assert_eq!(page.address()?, address, "{elsewhere}");
        }
        assert_eq!(page.run(&format!("return window.open({there})"))?, Value::Null, "a page opened another");
        assert_eq!(window.count()?, 2);
        assert_eq!(page.run("return [window.stayed ?? false, window.stolen ?? null]")?, json!([true, null]));
    }
    assert!(others.accept().is_err(), "a page reached somebody else");
    let _here = TcpStream::connect(others.local_addr()?)?;
    others.accept().expect("nobody would have been noticed");
    window.quit()
}

/// For how long after it was raised the prompt window takes no answer.
const INPUT_DELAY: Duration = Duration::from_millis(500);

#[test]
fn prompt_shows_without_focus_and_delays_input() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let (main, prompt) = (window.main(), window.prompt());
    let mut client = window.connect_client("Claude Code")?;
    desktop.until_visible("Gatehouse", true)?;
    desktop.xdotool(&["search", "--onlyvisible", "--name", "^Gatehouse$", "windowactivate", "--sync"])?;
    assert_eq!(desktop.focused_window()?, "Gatehouse");
    assert!(!desktop.is_visible("Gatehouse asks")?);

    // An answer that arrives too late says nothing of the guard: then there is another call.
    let begun = Instant::now();
    let (call, answer, before) = loop {
        ensure!(begun.elapsed() < TEST_TIMEOUT, "every answer came too late");
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
        let before = Instant::now();
        // Raised by the user: from this moment on its buttons are disabled for half a second, in the
        // shell too.
        main.invoke("show_prompt", &json!({}))?;
        match prompt.invoke("prompt_answer", &answer) {
            Err(early) => {
                let early = early.to_string();
                assert!(early.contains("refused") || early.contains("not_permitted"), "{early}");
                break (call, answer, before);
            }
            Ok(_) => {
                assert!(before.elapsed() >= INPUT_DELAY, "an early answer was taken");
                client.finish(&call)?;
                desktop.until_visible("Gatehouse asks", false)?;
            }
        }
    };
    eventually_holds("the answer to be taken", || Ok(prompt.invoke("prompt_answer", &answer).is_ok()))?;
    assert!(before.elapsed() >= INPUT_DELAY, "an early answer was taken");
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
    let paused = || -> Result<bool> {
        let mut status = desktop.command(paths::program("gatehousectl")?);
        let output = status.args(["status", "--json", "--data-dir"]).arg(desktop.data_dir()).output()?;
        let status: Value = serde_json::from_slice(&output.stdout)?;
        Ok(status["paused"] == true)
    };
    window.close_main()?;
    desktop.until_visible("Gatehouse", false)?;
    assert!(!paused()?);
    // The shortcut is listened to shortly after the start. Pressing it again ends no pause.
    eventually_holds("the keys to be heard", || {
        desktop.xdotool(&["key", "ctrl+alt+shift+p"])?;
        paused()
    })?;
    // A second start opens the window again, which quits as a user would. It loads no window toolkit, which would fail here.
    let mut second = desktop.command(paths::program("gatehouse")?);
    ensure!(second.env("DISPLAY", ":no-display").status()?.success());
    window.quit()
}

/// Closing the main window frees its page; it comes back where it was, or where a notice leads.
#[test]
fn closed_window_comes_back_as_it_was() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    let mut client = window.connect_client("Claude Code")?;
    let _call = client.begin("current_time", &json!({}))?;
    desktop.until_visible("Gatehouse asks", true)?;
    for route in ["#/clients", "#/activity/events"] {
        main.run(&format!("location.hash = '{route}'; window.stayed = true; return null"))?;
        window.close_main()?;
        desktop.until_visible("Gatehouse", false)?;
        eventually_holds("the end of the page", || Ok(window.count()? == 1))?;
        // A second start only raises the first.
        ensure!(desktop.command(paths::program("gatehouse")?).status()?.success());
        desktop.until_visible("Gatehouse", true)?;
        main.wait_until("return document.querySelector('header code') !== null")?;
        assert!(main.address()?.ends_with(route), "{}", main.address()?);
        assert_eq!(main.run("return window.stayed ?? null")?, Value::Null, "the page was kept");
    }
    main.run("location.hash = '#/activity/calls'; return null")?;
    main.fill(SEARCH, "vienna")?;
    eventually_holds("the shell's knowledge of the filter", || {
        Ok(main.invoke("page_state", &json!({}))?["activity.calls"].is_string())
    })?;
    window.close_main()?;
    desktop.until_visible("Gatehouse", false)?;
    eventually_holds("the end of the page", || Ok(window.count()? == 1))?;
    ensure!(desktop.command(paths::program("gatehouse")?).status()?.success());
    main.wait_until(&format!(
        "return document.querySelector('input[aria-label=\"{SEARCH}\"]')?.value === 'vienna'"
    ))?;
    window.close_main()?;
    desktop.until_visible("Gatehouse", false)?;
    window.prompt().invoke("prompt_open_main", &json!({}))?;
    desktop.until_visible("Gatehouse", true)?;
    main.wait_until("return location.hash === '#/approvals'")?;
    window.quit()
}

/// A link that the system hands to a second start fills the form in and adds nothing, also if the window was closed.
#[test]
fn link_of_second_start_fills_the_form() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    // Its prompt is a page that stays when the main window is closed.
    let mut client = window.connect_client("Claude Code")?;
    let _call = client.begin("current_time", &json!({}))?;
    desktop.until_visible("Gatehouse asks", true)?;
    let servers = || -> Result<usize> {
        let listed = main.invoke("command", &json!({"name": "servers.list", "args": {}}))?;
        Ok(listed.as_array().map_or(0, Vec::len))
    };
    let before = servers()?;
    for program in ["first-program", "second-program"] {
        let link = format!("gatehouse://add?name=Linked&command={program}");
        let mut second = desktop.command(paths::program("gatehouse")?);
        second.args(["--other", &link, "gatehouse://add?command=ignored"]);
        ensure!(second.status()?.success());
        desktop.until_visible("Gatehouse", true)?;
        main.wait_until(&format!(
            "return [...document.querySelectorAll('input')].some(({{ value }}) => value === '{program}')"
        ))?;
        main.wait_for_text("This came from a link")?;
        ensure!(servers()? == before, "a link added a server");
        window.close_main()?;
        desktop.until_visible("Gatehouse", false)?;
        eventually_holds("the end of the page", || Ok(window.count()? == 1))?;
    }
    ensure!(desktop.command(paths::program("gatehouse")?).status()?.success());
    desktop.until_visible("Gatehouse", true)?;
    window.quit()
}
