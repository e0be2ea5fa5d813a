//! The real windows on a desktop without a keychain: a vault is created, unlocked at the next start, and
//! skipped, and its passphrase is visible nowhere else (AUTH-8).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::paths;
use gatehouse_tests::window::{AppWindow, Desktop, WebPage};
use serde_json::{Value, json};

const PASSPHRASE: &str = "correct horse battery";
const WRONG: &str = "correct horse buttery";
const SECRET: &str = "hunter2-of-the-notes";

fn run(main: WebPage<'_>, name: &str, args: &Value) -> Result<Value> {
    main.invoke("command", &json!({ "name": name, "args": args }))
}

fn secret_store_kind(main: WebPage<'_>) -> Result<Value> {
    Ok(run(main, "status", &json!({}))?["secrets"].clone())
}

/// Adds a server that logs which secret it was given.
fn add_server(main: WebPage<'_>, seen: &Path) -> Result<()> {
    let script = format!(
        "printf %s \"$KEY\" > '{}'; exec '{}'",
        seen.display(),
        paths::program("fixture-server")?.display()
    );
    let transport = json!({"type": "stdio", "command": "/bin/sh", "args": ["-c", script], "env": {"KEY": "${secret:KEY}"}, "cwd": null});
    let draft = json!({"name": "keyed", "transport": transport, "enabled": true, "autostart": true});
    let secrets = json!([{"field": "env/KEY", "value": SECRET}]);
    run(main, "servers.add", &json!({"draft": draft, "trustLabels": false, "secrets": secrets})).map(drop)
}

/// Waits until the server was given its secret, and deletes the log.
fn wait_for_secret(seen: &Path) -> Result<()> {
    eventually("the secret of the server", || {
        let text = fs::read_to_string(seen);
        Ok(if text.as_ref().is_ok_and(|text| text == SECRET) { Ok(()) } else { Err(format!("{text:?}")) })
    })?;
    Ok(fs::remove_file(seen)?)
}

/// The files below a folder that contain one of these texts.
fn files_with(folder: &Path, texts: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
        let kind = kind?;
        if kind.is_dir() {
            found.extend(files_with(&path, texts)?);
        } else if kind.is_file() {
            let bytes = fs::read(&path)?;
            let holds = |text: &&str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            if texts.iter().any(holds) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Waits until the core runs and the page shows it.
fn wait_until_running(main: WebPage<'_>) -> Result<()> {
    main.wait_until("return document.querySelector('header code') !== null").map(drop)
}

#[test]
fn creates_opens_and_skips_vault() -> Result<()> {
    let desktop = Desktop::without_keychain()?;
    let seen = desktop.folder("seen")?.join("secret");
    let vault = desktop.data_dir().join("vault.bin");

    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    main.wait_for_text("No keychain available")?;
    assert_eq!(secret_store_kind(main)?, "memory");
    main.press("Create vault…")?;
    main.fill("New passphrase", PASSPHRASE)?;
    main.fill("Repeat passphrase", WRONG)?;
    main.press("Create vault")?;
    main.wait_for_text("The passphrases don't match")?;
    assert!(!vault.exists());
    main.fill("Repeat passphrase", PASSPHRASE)?;
    main.press("Create vault")?;
    main.wait_for_text("Vault created")?;
    assert_eq!(secret_store_kind(main)?, "vault");
    main.wait_until("return !document.body.innerText.includes('No keychain available')")?;
    // Events of the new core reach the page.
    run(main, "pause", &json!({}))?;
    main.wait_for_text("Everything is paused")?;
    run(main, "resume", &json!({}))?;
    add_server(main, &seen)?;
    wait_for_secret(&seen)?;
    window.quit()?;

    let window = AppWindow::open(&desktop)?;
    let main = window.main();
    main.wait_for_text("Unlock the vault")?;
    let refusal = run(main, "status", &json!({})).unwrap_err().to_string();
    assert!(refusal.contains("error.desktop.locked"), "{refusal}");
    main.fill("Passphrase", WRONG)?;
    main.press("Unlock")?;
    main.wait_for_text("Wrong passphrase. Try again.")?;
    assert_eq!(main.run("return document.querySelector('input[type=password]').value")?, "");
    assert!(!seen.exists(), "nothing runs before the vault is open");
    main.fill("Passphrase", PASSPHRASE)?;
    main.press("Unlock")?;
    wait_until_running(main)?;
    assert_eq!(secret_store_kind(main)?, "vault");
    wait_for_secret(&seen)?;
    window.quit()?;

    let window = AppWindow::open(&desktop)?;
    let main = window.main();
    let before = fs::read(&vault)?;
    main.press("Use memory only this time")?;
    wait_until_running(main)?;
    assert_eq!(secret_store_kind(main)?, "memory");
    assert_eq!(fs::read(&vault)?, before, "the vault stays as it is");
    assert!(!seen.exists(), "what was confirmed with the vault open does not run without it");
    main.press("Unlock vault…")?;
    main.fill("Passphrase", PASSPHRASE)?;
    main.press("Unlock")?;
    main.wait_for_text("Vault unlocked")?;
    assert_eq!(secret_store_kind(main)?, "vault");
    wait_for_secret(&seen)?;
    window.quit()?;

    assert_eq!(files_with(desktop.home(), &[PASSPHRASE, WRONG, SECRET])?, Vec::<PathBuf>::new());
    let log = files_with(&desktop.data_dir(), &["Gatehouse is ready"])?;
    assert!(!log.is_empty(), "a log would have been looked at");
    Ok(())
}
