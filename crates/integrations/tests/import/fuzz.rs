//! Fuzz target: settings of each application that are broken in a few places. The file stays as it is, an error repeats
//! nothing of it, and what was entered as a secret is in no variable or header.

use std::collections::BTreeMap;
use std::fs;

use gatehouse_fuzz::{fuzz, mutated};
use gatehouse_integrations::App;
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
