//! Migrates older versions of `servers.json`, with one pure step per version.
//!
//! A step changes what it knows and preserves everything else as written. Values that it can't parse are left
//! alone: validation reports them later.

use gatehouse_mcp_wire::raw::WrittenMembers;
use serde_json::value::RawValue;

use super::document::{ServersDocument, VERSION};

type DocumentMigration = fn(ServersDocument) -> ServersDocument;

/// The step at index n migrates from version n to n + 1.
const MIGRATIONS: [DocumentMigration; VERSION as usize] = [migrate_0_to_1];

/// Migrates a document to the current version.
pub(super) fn migrate_to_current(mut document: ServersDocument) -> ServersDocument {
    while let Some(step) = usize::try_from(document.version).ok().and_then(|version| MIGRATIONS.get(version))
    {
        document = step(document);
    }
    document
}

/// 0 → 1: a plain `mcpServers` file, as used by other apps, gets a version; `disabled` becomes `enabled`, and
/// other spellings of the type become ours.
fn migrate_0_to_1(mut document: ServersDocument) -> ServersDocument {
    for entry in &mut document.entries {
        if let Some(raw) = plain_entry(&entry.raw) {
            entry.raw = raw;
        }
    }
    document.version = 1;
    document
}

fn plain_entry(raw: &RawValue) -> Option<Box<RawValue>> {
    let WrittenMembers(members) = serde_json::from_str(raw.get()).ok()?;
    let has_enabled = members.iter().any(|(name, _)| name == "enabled");
    let mut changed = false;
    let mut parts = Vec::with_capacity(members.len());
    for (name, value) in &members {
        let (name, value) = match (&**name, value.get()) {
            ("disabled", "true") if !has_enabled => ("enabled", "false"),
            ("disabled", "false") if !has_enabled => ("enabled", "true"),
            ("type", "\"streamable-http\"" | "\"streamableHttp\"" | "\"streamable_http\"") => {
                ("type", "\"http\"")
            }
            ("type", "\"websocket\"") => ("type", "\"ws\""),
            other => {
                parts.push(format!("{}:{}", serde_json::to_string(other.0).ok()?, other.1));
                continue;
            }
        };
        changed = true;
        parts.push(format!("\"{name}\":{value}"));
    }
    if changed { RawValue::from_string(format!("{{{}}}", parts.join(","))).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::document::{read, write};
    use super::*;

    #[test]
    fn migrates_version_0_to_1() {
        let document = migrate_to_current(read(include_str!("../../fixtures/servers-0.json")).unwrap());
        assert_eq!(document.version, 1);
        let entries: Vec<_> =
            document.entries.iter().map(|e| (e.name.clone(), e.raw.get().to_owned())).collect();
        assert_eq!(write(&entries, &document.rest).unwrap(), include_str!("../../fixtures/servers-1.json"));
    }

    #[test]
    fn current_version_is_unchanged() {
        let text = include_str!("../../fixtures/servers-1.json");
        let document = migrate_to_current(read(text).unwrap());
        let entries: Vec<_> =
            document.entries.iter().map(|e| (e.name.clone(), e.raw.get().to_owned())).collect();
        assert_eq!(write(&entries, &document.rest).unwrap(), text);
    }
}
