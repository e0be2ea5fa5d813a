//! Allowed crate dependencies. A dependency that is not in these tables is a design error unless the
//! tables are changed; ARCHITECTURE.md explains them. Dev-dependencies are not checked.

use std::path::Path;

use anyhow::{Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Which members of the workspace a member may use.
const MEMBERS: [(&str, &[&str]); 17] = [
    ("gatehouse-model", &[]),
    ("gatehouse-common", &["gatehouse-model"]),
    ("gatehouse-mcp-wire", &["gatehouse-model"]),
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
        &["gatehouse-model", "gatehouse-common", "gatehouse-mcp-wire", "gatehouse-tools", "gatehouse-store"],
    ),
    (
        "gatehouse-app",
        &[
            "gatehouse-model",
            "gatehouse-common",
            "gatehouse-policy",
            "gatehouse-store",
            "gatehouse-auth",
            "gatehouse-servers",
            "gatehouse-tools",
            "gatehouse-gateway",
        ],
    ),
    ("gatehouse-ctl", &["gatehouse-app", "gatehouse-model", "gatehouse-common"]),
    ("gatehouse-desktop", &["gatehouse-app", "gatehouse-model", "gatehouse-common"]),
    ("gatehouse", &["gatehouse-desktop", "gatehouse-app", "gatehouse-model", "gatehouse-common"]),
    // The conformance suite tests the servers crate directly; the other tests use the running product.
    (
        "gatehouse-tests",
        &[
            "gatehouse-model",
            "gatehouse-mcp-wire",
            "gatehouse-policy",
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

pub(crate) fn check(root: &Path) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let members: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut violations = Vec::new();
    for package in &metadata.packages {
        for used in used_by(package) {
            violations.extend(violation(&package.name, used, members.contains(&used)));
        }
    }
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

fn used_by(package: &Package) -> impl Iterator<Item = &str> {
    let counts = |kind| matches!(kind, DependencyKind::Normal | DependencyKind::Build);
    package.dependencies.iter().filter(move |used| counts(used.kind)).map(|used| used.name.as_str())
}

fn violation(member: &str, used: &str, is_member: bool) -> Option<String> {
    let of = |table: &[(&str, &'static [&'static str])], name: &str| {
        table.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed)
    };
    if is_member {
        let Some(allowed) = of(&MEMBERS, member) else {
            return Some(format!(
                "{member} is not in the table of crate dependencies (xtask/src/check/layers.rs)"
            ));
        };
        return (!allowed.contains(&used)).then(|| format!("{member} must not depend on {used}"));
    }
    if of(&ONLY_THESE, member).is_some_and(|allowed| !allowed.contains(&used)) {
        return Some(format!(
            "{member} must not use {used}: the crate is limited to those in ONLY_THESE (xtask/src/check/layers.rs)"
        ));
    }
    let reserved = RESERVED.iter().find(|(name, _)| is_family_of(used, name));
    let (_, allowed) = reserved?;
    (!allowed.contains(&member))
        .then(|| format!("{member} must not use {used}: only {} may", allowed.join(", ")))
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
}
