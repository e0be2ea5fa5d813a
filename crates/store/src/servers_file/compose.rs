//! Composes the next content of the file: what Gatehouse changed is rewritten; everything else is preserved
//! as written, including invalid entries and unconfirmed edits.

use std::collections::HashSet;

use gatehouse_model::{ErrorCode, Problem, ServerConfig};

use super::merge::{Merged, Slot};
use super::name::folded;
use super::{FILE, HandEdit, entry};
use crate::error::StoreError;

/// The entries of the file for a new list of servers. `settled` is the hand edit that the user decided on:
/// its entry is written as in the list, or removed.
pub(super) fn compose(
    merged: &Merged,
    servers: &[ServerConfig],
    settled: Option<&HandEdit>,
) -> Result<Vec<(String, String)>, StoreError> {
    let waits = |slot: &Slot| match (slot.edit, settled) {
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
                let stays = untouched && (slot.entry.is_none() || waits(slot) || says(slot, server));
                entries.push(if stays { as_it_is(slot) } else { written(server)? });
            }
            None if untouched && removal_waits(merged, server, settled) => {}
            None => entries.push(written(server)?),
        }
    }
    for (index, slot) in merged.slots.iter().enumerate() {
        let is_ours = kept.contains(&index) || slot.server.is_some();
        if is_ours {
            continue;
        }
        let entry = match (slot.edit.is_some() && !waits(slot), accepted) {
            (false, _) => as_it_is(slot),
            (true, Some(accepted)) => written(accepted)?,
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
    refuse_new_duplicates(merged, &entries)?;
    Ok(entries)
}

/// Whether this server was removed from the file by hand and that edit isn't confirmed yet.
fn removal_waits(merged: &Merged, server: &ServerConfig, settled: Option<&HandEdit>) -> bool {
    merged.edits.iter().any(|edit| {
        edit.after.is_none()
            && edit.before.as_ref().is_some_and(|before| before.id == server.id)
            && settled != Some(edit)
    })
}

/// Whether an entry represents a server completely, including Gatehouse's own member.
fn says(slot: &Slot, server: &ServerConfig) -> bool {
    let mark = slot.entry.as_ref().and_then(|entry| entry.mark.as_ref());
    slot.name == server.name
        && slot.edit.is_none()
        && mark.is_some_and(|mark| {
            mark.id == server.id && mark.generation == server.generation && mark.origin == server.origin
        })
}

fn as_it_is(slot: &Slot) -> (String, String) {
    (slot.name.clone(), slot.raw.get().to_owned())
}

fn written(server: &ServerConfig) -> Result<(String, String), StoreError> {
    let text = serde_json::to_string_pretty(&entry::write(server)?)?;
    Ok((server.name.clone(), text.replace('\n', "\n    ")))
}

/// Rejects new duplicate names. Duplicates that the file already contains are tolerated.
fn refuse_new_duplicates(merged: &Merged, entries: &[(String, String)]) -> Result<(), StoreError> {
    let count = |names: &mut dyn Iterator<Item = &String>, name: &str| {
        names.filter(|n| folded(n) == folded(name)).count()
    };
    for (name, _) in entries {
        let now = count(&mut entries.iter().map(|(name, _)| name), name);
        let before = count(&mut merged.slots.iter().map(|slot| &slot.name), name);
        if now > 1 && now > before {
            return Err(StoreError::Config(
                Problem::new(ErrorCode::NameTaken, format!("There is an entry “{name}” in {FILE} already."))
                    .why("It is faulty or waits to be confirmed.")
                    .todo("Settle that entry first, or use another name."),
            ));
        }
    }
    Ok(())
}
