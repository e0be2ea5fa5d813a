//! Fuzz targets: settings of each application, and exported configurations, that are broken in a few places. A file of
//! settings stays as it is, an error repeats nothing of it, and what was entered as a secret is in no variable or header. A
//! configuration is refused, or its own text says the same.

use std::collections::BTreeMap;
use std::fs;

use gatehouse_fuzz::{fuzz, mutated};
use gatehouse_integrations::App;
use gatehouse_integrations::configuration::read_configuration;
use gatehouse_integrations::import::{ForeignServer, read_file, read_text};
use gatehouse_model::Secret;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use crate::{TestHome, fixture};

/// What is entered for each secret.
const ENTERED: &str = "5ecret";

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\n",
    "null",
    "${input:x-token}",
    "${env:X}",
    "${X:-y}",
    "${secret:K}",
    "${{ secrets.K }}",
    "{env:K}",
    "$K",
    "//",
    "/*",
    "&a",
    "*a",
    "\u{202e}",
    "\u{0}",
    "é",
];

fn settings() -> impl Strategy<Value = (App, String)> {
    (0..App::ALL.len()).prop_flat_map(|at| {
        let app = App::ALL[at];
        mutated(Just(fixture(app).to_owned()), TOKENS).prop_map(move |text| (app, text))
    })
}

fn holds(home: &TestHome, app: App, text: &str) -> Result<(), TestCaseError> {
    let path = home.write(app, text.as_bytes());
    let read = [read_file(&path, &home.folders), read_text(text, &home.folders)];
    prop_assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    for read in read {
        match read {
            Ok(settings) => {
                for server in &settings.servers {
                    keeps_secrets(server)?;
                }
            }
            Err(error) => {
                let shown = serde_json::to_string(&error).unwrap();
                prop_assert!(!shown.contains("ghp_") && !shown.contains("mcpServers"), "{}", shown);
            }
        }
    }
    Ok(())
}

fn keeps_secrets(server: &ForeignServer) -> Result<(), TestCaseError> {
    let value = |is_secret| Secret::new(if is_secret { ENTERED } else { "plain" });
    let values: BTreeMap<String, Secret> =
        server.inputs.iter().map(|input| (input.id.clone(), value(input.is_secret))).collect();
    let Ok(filled) = server.fill(&values, false) else { return Ok(()) };
    for group in ["env", "headers"] {
        let Some(Value::Object(texts)) = filled.entry.get(group) else { continue };
        for (name, text) in texts {
            prop_assert!(!text.to_string().contains(ENTERED), "{}: {}", name, text);
        }
    }
    Ok(())
}

#[test]
fn fuzz_import() {
    let home = TestHome::new();
    fuzz("import", &settings(), |(app, text)| holds(&home, app, &text)).unwrap();
}

/// A configuration with something of every kind.
const CONFIGURATION: &str = r#"{
  "gatehouseConfiguration": 1,
  "mcpServers": { "a": { "command": "x", "args": ["${input:k}"], "env": { "K": "${secret:K}" } } },
  "inputs": [{ "type": "promptString", "id": "k", "password": true }],
  "profiles": [{ "name": "Work", "servers": [{ "server": "a", "tools": { "shows": "all" } }] }],
  "clients": [{ "name": "Editor", "profile": "Work" }],
  "permissions": {
    "rules": [
      {
        "effect": "allow",
        "server": "a",
        "client": "Editor",
        "scope": { "width": "tool", "tool": "read" },
        "conditions": [{ "pointer": "/path", "test": { "test": "inside", "folder": "/tmp" } }],
        "definitions": { "read": "00" }
      }
    ],
    "accessClasses": [{ "server": "a", "tool": "read", "class": "read" }],
    "trustedLabels": ["a"]
  },
  "settings": { "auditDays": null, "activityDays": 90, "activityCalls": 1000 }
}"#;

fn says_the_same_again(text: &str) -> Result<(), TestCaseError> {
    let Ok(read) = read_configuration(text) else { return Ok(()) };
    let servers = read.document.servers();
    prop_assert_eq!(servers.len(), read.document.mcp_servers.len());
    for server in &servers {
        keeps_secrets(server)?;
    }
    let written = read.document.to_text().unwrap();
    let again = read_configuration(&written).map(|again| again.document.to_text().unwrap());
    prop_assert_eq!(again, Ok(written));
    Ok(())
}

#[test]
fn fuzz_configuration() {
    says_the_same_again(CONFIGURATION).unwrap();
    assert!(read_configuration(CONFIGURATION).is_ok());
    let cases = mutated(Just(CONFIGURATION.to_owned()), TOKENS);
    fuzz("configuration", &cases, |text| says_the_same_again(&text)).unwrap();
}
