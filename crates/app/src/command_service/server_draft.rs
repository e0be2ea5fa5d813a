//! Validates a server's settings before anything is written. Errors are meant for the user; nothing is
//! corrected silently.

use std::path::Path;

use gatehouse_model::server::{Builtin, Remote, ServerDraft};
use gatehouse_model::{ErrorCode, ServerConfig, ServerId, Transport, UserError, UserText, message};
use gatehouse_store::check_server_name;

/// Checks that the name is free, and everything about the transport that can be checked without
/// connecting.
pub(super) fn check(
    draft: &ServerDraft,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Result<(), UserError> {
    check_name(&draft.name, own, others)?;
    if let Some(root) = draft.limits.roots.iter().find(|root| !Path::new(root).is_absolute()) {
        return Err(invalid_draft(message!("error.app.rootNotAbsolute", folder = root)));
    }
    match &draft.transport {
        Transport::Stdio { command, .. } if command.trim().is_empty() => {
            Err(invalid_draft(message!("error.app.commandMissing"))
                .with_hint(message!("error.app.programHint")))
        }
        Transport::Stdio { .. } => Ok(()),
        Transport::Auto(remote) | Transport::Http(remote) | Transport::Sse(remote) => {
            check_remote(remote, &["http://", "https://"])
        }
        Transport::Ws(remote) => check_remote(remote, &["ws://", "wss://"]),
        Transport::Builtin { builtin } => check_builtin(builtin),
    }
}

/// Checks that a name is valid and not taken, ignoring case.
pub(super) fn check_name(
    name: &str,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Result<(), UserError> {
    check_server_name(name)?;
    let taken =
        others.iter().any(|other| Some(&other.id) != own && other.name.to_lowercase() == name.to_lowercase());
    if taken {
        return Err(UserError::new(ErrorCode::NameTaken, message!("error.app.serverNameTaken", name = name))
            .with_hint(message!("error.app.otherNameHint")));
    }
    Ok(())
}

fn check_remote(remote: &Remote, schemes: &[&str]) -> Result<(), UserError> {
    if remote.headers_from.as_ref().is_some_and(|program| program.command.trim().is_empty()) {
        return Err(invalid_draft(message!("error.app.headerProgramMissing"))
            .with_hint(message!("error.app.programHint")));
    }
    if let Some(why) = remote.sign_in.validation_error() {
        return Err(invalid_draft(message!("error.app.badSignInSettings")).with_cause(why));
    }
    check_url(&remote.url, schemes)
}

fn check_url(url: &str, schemes: &[&str]) -> Result<(), UserError> {
    let lower = url.to_ascii_lowercase();
    let rest = schemes.iter().find_map(|scheme| lower.strip_prefix(scheme));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !url.contains(char::is_whitespace) => {
            Ok(())
        }
        _ => Err(invalid_draft(message!("error.app.badServerUrl", url = url))
            .with_cause(message!("error.app.badServerUrlCause", schemes = schemes.join(", ")))),
    }
}

fn check_builtin(builtin: &Builtin) -> Result<(), UserError> {
    let folder = match builtin {
        Builtin::Time | Builtin::Notes | Builtin::Fetch { .. } => return Ok(()),
        Builtin::Files { folder } => Path::new(folder),
    };
    if !folder.is_absolute() {
        return Err(invalid_draft(message!("error.app.folderNotAbsolute")));
    }
    if !folder.is_dir() {
        return Err(invalid_draft(message!("error.app.noFolder", folder = folder.display().to_string()))
            .with_hint(message!("error.app.noFolderHint")));
    }
    Ok(())
}

fn invalid_draft(what: impl Into<UserText>) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}
