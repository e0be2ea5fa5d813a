//! Allowed crate dependencies. A dependency that is not in these tables is a design error unless the
//! tables are changed; ARCHITECTURE.md explains them and has to list the same members. What a member is allowed
//! to use it has to use. Dev-dependencies are not checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Names of crates, each with the crates that belong to it.
type Table = [(&'static str, &'static [&'static str])];

/// Which members of the workspace a member may use.
const MEMBERS: [(&str, &[&str]); 19] = [
    ("gatehouse-model", &[]),
    ("gatehouse-common", &["gatehouse-model"]),
    ("gatehouse-mcp-wire", &[]),
    ("gatehouse-policy", &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire"]),
    ("gatehouse-store", &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire"]),
    ("gatehouse-auth", &["gatehouse-model", "gatehouse-common", "gatehouse-store"]),
    (
        "gatehouse-mcp-client",
        &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire", "gatehouse-auth"],
    ),
    (
        "gatehouse-builtin-servers",
        &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire", "gatehouse-mcp-client"],
    ),
    (
        "gatehouse-integrations",
        &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire", "gatehouse-store"],
    ),
    ("gatehouse-models", &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire", "gatehouse-store"]),
    (
        "gatehouse-servers",
        &[
            "gatehouse-model",
            "gatehouse-common",
            "gatehouse-mcp-wire",
            "gatehouse-mcp-client",
            "gatehouse-builtin-servers",
            "gatehouse-store",
            "gatehouse-auth",
        ],
    ),
    (
        "gatehouse-tools",
        &[
            "gatehouse-model",
            "gatehouse-common",
            "gatehouse-mcp-wire",
            "gatehouse-policy",
            "gatehouse-store",
            "gatehouse-servers",
        ],
    ),
    (
        "gatehouse-gateway",
        &[
            "gatehouse-model",
            "gatehouse-common",
            "gatehouse-mcp-wire",
            "gatehouse-models",
            "gatehouse-tools",
            "gatehouse-store",
        ],
    ),
    (
        "gatehouse-app",
        &[
            "gatehouse-model",
            "gatehouse-common",
            "gatehouse-store",
            "gatehouse-auth",
            "gatehouse-servers",
            "gatehouse-tools",
            "gatehouse-gateway",
            "gatehouse-integrations",
            "gatehouse-models",
        ],
    ),
    ("gatehouse-ctl", &["gatehouse-app", "gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire"]),
    ("gatehouse-desktop", &["gatehouse-app", "gatehouse-model", "gatehouse-common"]),
    ("gatehouse", &["gatehouse-desktop", "gatehouse-app", "gatehouse-model", "gatehouse-common"]),
    // The conformance suite tests the servers crate directly; the other tests use the running product.
    (
        "gatehouse-tests",
        &[
            "gatehouse-model",
            "gatehouse-mcp-wire",
            "gatehouse-policy",
            "gatehouse-models",
            "gatehouse-store",
            "gatehouse-auth",
            "gatehouse-servers",
            "gatehouse-app",
            "gatehouse-desktop",
        ],
    ),
    ("xtask", &["gatehouse-model"]),
];

/// External crates that only some members may use; crates whose name starts with this name are included.
const RESERVED: [(&str, &[&str]); 10] = [
    ("tauri", &["gatehouse"]),
    ("open", &["gatehouse", "gatehouse-ctl"]),
    ("rmcp", &["gatehouse-mcp-client"]),
    ("oauth2", &["gatehouse-auth"]),
    ("axum", &["gatehouse-auth", "gatehouse-tests"]),
    ("rusqlite", &["gatehouse-store"]),
    ("keyring", &["gatehouse-store"]),
    ("ts-rs", &["gatehouse-model", "xtask"]),
    ("anyhow", &["gatehouse-tests", "xtask"]),
    ("clap", &["gatehouse-ctl"]),
];

/// Members that may use no other external crates.
const ONLY_THESE: [(&str, &[&str]); 3] = [
    ("gatehouse-mcp-wire", &["serde", "serde_json", "thiserror", "base64", "http", "memchr"]),
    ("gatehouse-model", &["serde", "serde_json", "strum", "thiserror", "ts-rs", "zeroize", "sha2", "hex"]),
    (
        "gatehouse-policy",
        &[
            "ahash",
            "serde",
            "serde_json",
            "thiserror",
            "sha2",
            "hex",
            "url",
            "globset",
            "unicode-normalization",
            "memchr",
        ],
    ),
];

/// Has the same table for readers.
const DOCUMENT: &str = "ARCHITECTURE.md";

pub(crate) fn check(root: &Path) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let members: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut violations = Vec::new();
    for package in &metadata.packages {
        for used in used_by(package) {
            violations.extend(violation(&package.name, used, members.contains(&used)));
        }
        violations.extend(unused(&package.name, &used_by(package).collect::<Vec<_>>()));
    }
    let document =
        fs::read_to_string(root.join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))?;
    violations.extend(differences(&document, &MEMBERS));
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

fn used_by(package: &Package) -> impl Iterator<Item = &str> {
    let counts = |kind| matches!(kind, DependencyKind::Normal | DependencyKind::Build);
    package.dependencies.iter().filter(move |used| counts(used.kind)).map(|used| used.name.as_str())
}

fn violation(member: &str, used: &str, is_member: bool) -> Option<String> {
    if is_member {
        let Some(allowed) = allowed_by(&MEMBERS, member) else {
            return Some(format!(
                "{member} is not in the table of crate dependencies (xtask/src/check/layers.rs)"
            ));
        };
        return (!allowed.contains(&used)).then(|| format!("{member} must not depend on {used}"));
    }
    if allowed_by(&ONLY_THESE, member).is_some_and(|allowed| !allowed.contains(&used)) {
        return Some(format!(
            "{member} must not use {used}: the crate is limited to those in ONLY_THESE (xtask/src/check/layers.rs)"
        ));
    }
    let reserved = RESERVED.iter().find(|(name, _)| is_family_of(used, name));
    let (_, allowed) = reserved?;
    (!allowed.contains(&member))
        .then(|| format!("{member} must not use {used}: only {} may", allowed.join(", ")))
}

fn allowed_by(table: &Table, name: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed)
}

/// The members that a member may use and does not.
fn unused(member: &str, used: &[&str]) -> Vec<String> {
    let allowed = allowed_by(&MEMBERS, member).unwrap_or_default();
    let unused = allowed.iter().filter(|name| !used.contains(name));
    unused.map(|name| format!("{member} may depend on {name}, and does not")).collect()
}

/// Members for which the document lists others than the table of members.
fn differences(document: &str, table: &Table) -> Vec<String> {
    let is_listed = |word: &str| table.iter().any(|(member, _)| name_in_document(member) == word);
    let mut differences = Vec::new();
    for (member, allowed) in table {
        let name = name_in_document(member);
        let start = format!("| {name} | ");
        let row = document.lines().find_map(|line| line.strip_prefix(start.as_str()));
        let words =
            row.unwrap_or_default().split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let listed: BTreeSet<&str> = words.filter(|word| is_listed(word)).collect();
        let expected: BTreeSet<&str> = allowed.iter().map(|used| name_in_document(used)).collect();
        if row.is_none() || listed != expected {
            let expected: Vec<&str> = expected.into_iter().collect();
            differences.push(format!("{DOCUMENT}: the row of {name} has to list: {}", expected.join(", ")));
        }
    }
    differences
}

/// A member of the workspace as the document calls it: by its folder.
fn name_in_document(member: &str) -> &str {
    if member == "gatehouse" { "src-tauri" } else { member.strip_prefix("gatehouse-").unwrap_or(member) }
}

/// Whether a crate is the named one or one of its family: `tauri`, `tauri-build`, but not `opener`.
fn is_family_of(used: &str, name: &str) -> bool {
    used.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_layer_rules() {
        for (member, used, is_member, allowed) in [
            ("gatehouse-policy", "gatehouse-model", true, true),
            ("gatehouse-policy", "gatehouse-store", true, false),
            ("gatehouse-model", "gatehouse-policy", true, false),
            ("gatehouse-ctl", "gatehouse-tools", true, false),
            ("gatehouse-somewhere", "gatehouse-model", true, false),
            ("gatehouse-model", "tokio", false, false),
            ("gatehouse-policy", "tracing", false, false),
            ("gatehouse-app", "tauri-plugin-store", false, false),
            ("gatehouse-desktop", "tauri", false, false),
            ("gatehouse-desktop", "gatehouse-store", true, false),
            ("gatehouse", "tauri-build", false, true),
            ("gatehouse-app", "opener", false, true),
            ("gatehouse-mcp-client", "rmcp", false, true),
            ("gatehouse-servers", "rmcp", false, false),
            ("gatehouse-tools", "rmcp", false, false),
        ] {
            assert_eq!(violation(member, used, is_member).is_none(), allowed, "{member} uses {used}");
        }
    }

    #[test]
    fn reports_what_is_allowed_and_not_used() {
        assert_eq!(unused("gatehouse-common", &["gatehouse-model", "serde"]), Vec::<String>::new());
        let found = unused("gatehouse-common", &["serde"]);
        assert_eq!(found, ["gatehouse-common may depend on gatehouse-model, and does not"]);
    }

    #[test]
    fn compares_the_document_with_the_table() {
        let table: &Table = &[
            ("gatehouse-a", &[]),
            ("gatehouse-b-c", &["gatehouse-a"]),
            ("gatehouse", &["gatehouse-a", "gatehouse-b-c"]),
        ];
        let good = "| a | serde; no member |\n| b-c | a (for it); serde |\n| src-tauri | b-c and a |\n";
        assert_eq!(differences(good, table), Vec::<String>::new());
        let bad = "| a | b-c |\n| b-c | a |\n";
        assert_eq!(
            differences(bad, table),
            [
                "ARCHITECTURE.md: the row of a has to list: ",
                "ARCHITECTURE.md: the row of src-tauri has to list: a, b-c"
            ]
        );
    }
}
