//! Roots of sessions (GATE-4): the folders that a client says it works in. If one of them belongs to a profile, the session
//! sees only what that profile shows too. They are only the client's word, so they can narrow a view and never widen it.
//!
//! A client is asked on its GET stream, and only if some profile has a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::ClientFeature;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::state::ProtocolState;
use crate::session::sessions::Session;

/// Most roots of one client that count.
const MAX_ROOTS: usize = 64;

/// Asks the client of a session for its roots, if it has any, in the background.
pub(crate) fn ask(state: &Arc<ProtocolState>, session: &Arc<Session>) {
    if !session.client_capabilities.supports(ClientFeature::Roots)
        || !state.tool_service.has_project_folders()
    {
        return;
    }
    let (owned, session) = (Arc::clone(state), Arc::clone(session));
    state.calls.spawn(async move {
        // One request is pending and one more may wait, since the roots may change while they are asked for.
        let Ok(_slot) = session.roots.slots.try_acquire() else { return };
        let _turn = session.roots.turn.lock().await;
        let Some(answer) = session.request_roots().await else { return };
        let Some(roots) = parse(&answer) else { return };
        let find = move || roots.into_iter().map(real_folder).collect::<Vec<Arc<Path>>>();
        let Ok(roots) = tokio::task::spawn_blocking(find).await else { return };
        session.set_roots(roots);
        session.update_view(owned.tool_service.view_key(&session.viewer()));
    });
}

/// The folders in the result of `roots/list`; `None` if it is none. Roots that are no folders here don't count.
fn parse(result: &RawValue) -> Option<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct Root {
        uri: String,
    }
    let roots: Vec<Root> = serde_json::from_str(Members::of(result).ok()?.get("roots")?.get()).ok()?;
    Some(roots.iter().take(MAX_ROOTS).filter_map(|root| folder(&root.uri)).collect())
}

/// The path in a `file:` URI.
fn folder(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    // `file:///C:/folder`
    let path = if cfg!(windows) { path.trim_start_matches('/') } else { &*path };
    let path = Path::new(path);
    path.is_absolute().then(|| path.to_owned())
}

/// The folder without links, if it exists. Blocks.
fn real_folder(folder: PathBuf) -> Arc<Path> {
    folder.canonicalize().unwrap_or(folder).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn reads_folders_of_file_uris() {
        let parse = |text: &str| parse(&RawValue::from_string(text.to_owned()).unwrap());
        let roots = r#"{"roots":[{"uri":"file:///a/b%20c","name":"n"},{"uri":"file://localhost/d"},{"uri":"https://x/"},{"uri":"file://other/e"},{"uri":"file:relative"}]}"#;
        assert_eq!(parse(roots), Some(vec!["/a/b c".into(), "/d".into()]));
        assert_eq!(parse(r#"{"roots":[]}"#), Some(Vec::new()));
        for broken in ["{}", "[]", r#"{"roots":{}}"#, r#"{"roots":[{}]}"#] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
