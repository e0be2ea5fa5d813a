//! Composes the next content of the file: what Gatehouse changed is rewritten; everything else is preserved
//! as written, including invalid entries and unconfirmed edits.

use std::collections::HashSet;

use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};

use super::merge::{MergedEntry, MergedServers};
use super::name::fold_case;
use super::{FILE, HandEdit, entry};
use crate::error::StoreError;

/// The entries of the file for a new list of servers. `settled` is the hand edit that the user decided on:
/// its entry is written as in the list, or removed.
pub(super) fn compose(
    merged: &MergedServers,
    servers: &[ServerConfig],
    settled: Option<&HandEdit>,
) -> Result<Vec<(String, String)>, StoreError> {
    let is_pending = |slot: &MergedEntry| match (slot.edit, settled) {
        (Some(edit), Some(settled)) => merged.edits[edit] != *settled,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let is_new = |server: &ServerConfig| merged.servers.iter().all(|known| known.id != server.id);
    let accepted = settled.filter(|edit| edit.before.is_none()).and_then(|edit| {
        let name = &edit.after.as_ref()?.name;
        servers.iter().find(|server| is_new(server) && server.name == *name)
    });
    let mut entries = Vec::with_capacity(servers.len());
    let mut kept = HashSet::new();
    for server in servers {
        if accepted.is_some_and(|accepted| accepted.id == server.id) {
            continue;
        }
        let running = merged.servers.iter().position(|known| known.id == server.id);
        let untouched = running.is_some_and(|running| merged.servers[running] == *server);
        let slot = merged.slots.iter().position(|slot| slot.server.is_some() && slot.server == running);
        match slot {
            Some(index) => {
                let slot = &merged.slots[index];
                kept.insert(index);
                let stays =
                    untouched && (slot.entry.is_none() || is_pending(slot) || matches_server(slot, server));
                entries.push(if stays { unchanged_entry(slot) } else { render_entry(server)? });
            }
            None if untouched && is_removal_pending(merged, server, settled) => {}
            None => entries.push(render_entry(server)?),
        }
    }
    for (index, slot) in merged.slots.iter().enumerate() {
        let is_ours = kept.contains(&index) || slot.server.is_some();
        if is_ours {
            continue;
        }
        let entry = match (slot.edit.is_some() && !is_pending(slot), accepted) {
            (false, _) => unchanged_entry(slot),
            (true, Some(accepted)) => render_entry(accepted)?,
            (true, None) => continue,
        };
        // Keep its position after the entry that it follows now.
        let before = merged.slots[..index]
            .iter()
            .rev()
            .find_map(|before| entries.iter().position(|(name, _)| *name == before.name));
        let at = before.map_or(if index == 0 { 0 } else { entries.len() }, |before| before + 1);
        entries.insert(at, entry);
    }
    reject_new_duplicates(merged, &entries)?;
    Ok(entries)
}

/// Whether this server was removed from the file by hand and that edit isn't confirmed yet.
fn is_removal_pending(merged: &MergedServers, server: &ServerConfig, settled: Option<&HandEdit>) -> bool {
    merged.edits.iter().any(|edit| {
        edit.after.is_none()
            && edit.before.as_ref().is_some_and(|before| before.id == server.id)
            && settled != Some(edit)
    })
}

/// Whether an entry represents a server completely, including Gatehouse's own member.
fn matches_server(slot: &MergedEntry, server: &ServerConfig) -> bool {
    let gatehouse_member = slot.entry.as_ref().and_then(|entry| entry.gatehouse_member.as_ref());
    slot.name == server.name
        && slot.edit.is_none()
        && gatehouse_member.is_some_and(|gatehouse_member| {
            gatehouse_member.id == server.id
                && gatehouse_member.generation == server.generation
                && gatehouse_member.origin == server.origin
        })
}

fn unchanged_entry(slot: &MergedEntry) -> (String, String) {
    (slot.name.clone(), slot.raw.get().to_owned())
}

fn render_entry(server: &ServerConfig) -> Result<(String, String), StoreError> {
    let text = serde_json::to_string_pretty(&entry::write(server)?)?;
    Ok((server.name.clone(), text.replace('\n', "\n    ")))
}

/// Rejects new duplicate names. Duplicates that the file already contains are tolerated.
fn reject_new_duplicates(merged: &MergedServers, entries: &[(String, String)]) -> Result<(), StoreError> {
    let count = |names: &mut dyn Iterator<Item = &String>, name: &str| {
        names.filter(|n| fold_case(n) == fold_case(name)).count()
    };
    for (name, _) in entries {
        let now = count(&mut entries.iter().map(|(name, _)| name), name);
        let before = count(&mut merged.slots.iter().map(|slot| &slot.name), name);
        if now > 1 && now > before {
            return Err(StoreError::Config(
                UserError::new(
                    ErrorCode::NameTaken,
                    message!("error.store.entryTaken", name = name, file = FILE),
                )
                .with_cause(message!("error.store.entryTakenCause"))
                .with_hint(message!("error.store.entryTakenHint")),
            ));
        }
    }
    Ok(())
}
