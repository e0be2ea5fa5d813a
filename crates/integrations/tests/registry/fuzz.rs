//! Fuzz target: links that are written by the grammar and then broken in a few places. Whatever is read has nothing hidden
//! in it, and refers to nothing but the secrets that a person is asked for.

use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_fuzz::{fuzz, mutated};
use gatehouse_integrations::read_link;
use gatehouse_model::Transport;
use gatehouse_model::registry::{LinkContent, MAX_LINK_BYTES};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

const PARAMETERS: &[&str] =
    &["name", "command", "args", "env", "headers", "url", "config", "registry", "version", "cwd"];

const VALUES: &[&str] = &[
    "npx",
    "-y",
    "weather",
    "A%3D1",
    "API_KEY%3Dabc",
    "Authorization%3DBearer%20x",
    "https%3A%2F%2Fa.example%2Fmcp",
    "https://me:pw@a.example",
    "io.example%2Fweather",
    "1.2.0",
    "eyJjb21tYW5kIjoibnB4IiwiYXJncyI6WyIteSIsIngiXSwiZW52Ijp7IkEiOiIxIn19",
    "eyJ1cmwiOiJodHRwczovL2EuZXhhbXBsZS9tY3AifQ",
    "",
];

const TOKENS: &[&str] = &[
    "&",
    "=",
    "%",
    "%00",
    "%0A",
    "%20",
    "%E2%80%AE",
    "%E2%80%8B",
    "%FF",
    "%24%7Benv:A%7D",
    "${secret:B}",
    "#",
    "?",
    "/",
    "\u{202e}",
    "\u{0}",
    "é",
    "gatehouse://",
    "&command=x",
];

fn link() -> impl Strategy<Value = String> {
    let parameter = (select(PARAMETERS), select(VALUES)).prop_map(|(name, value)| format!("{name}={value}"));
    prop::collection::vec(parameter, 0..6)
        .prop_map(|parameters| format!("gatehouse://add?{}", parameters.join("&")))
}

/// Everything that would run, or say where a server is.
fn texts(transport: &Transport) -> Vec<&str> {
    match transport {
        Transport::Stdio { command, args, env, .. } => {
            let pairs = env.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
            std::iter::once(command.as_str()).chain(args.iter().map(String::as_str)).chain(pairs).collect()
        }
        _ => transport.remote().map_or_else(Vec::new, |remote| {
            let pairs = remote.headers.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
            std::iter::once(remote.url.as_str()).chain(pairs).collect()
        }),
    }
}

fn holds(link: &str) -> Result<(), TestCaseError> {
    let Ok(content) = read_link(link) else { return Ok(()) };
    prop_assert!(link.len() <= MAX_LINK_BYTES);
    let LinkContent::Server { draft, secrets, .. } = content else { return Ok(()) };
    let is_builtin = matches!(draft.transport, Transport::Builtin { .. });
    prop_assert!(!is_builtin, "a built-in server");
    prop_assert!(draft.registry.is_none() && draft.look.icon.is_none());
    for text in texts(&draft.transport) {
        prop_assert!(!text.chars().any(is_invisible), "{text:?}");
        let is_asked_for = |field: &String| {
            field.split_once('/').is_some_and(|(_, name)| text == format!("${{secret:{name}}}"))
        };
        prop_assert!(!text.contains("${") || secrets.iter().any(is_asked_for), "{text:?}");
    }
    Ok(())
}

#[test]
fn fuzz_link() {
    fuzz("link", &mutated(link(), TOKENS), |link| holds(&link)).unwrap();
}
