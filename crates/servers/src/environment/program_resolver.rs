//! Where programs are found: resolves the command of a server's settings to a program, and its working
//! folder.
//!
//! An app that is started from the desktop has a shorter PATH than a terminal. So the PATH of the login
//! shell is searched, then the folders into which programs are usually installed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use gatehouse_mcp_client::ConnectError;
use gatehouse_model::message;

use super::{ProcessEnvironment, runtimes};

impl ProcessEnvironment {
    /// The working folder of a server's settings; the user's home if they set none.
    pub(crate) fn working_folder(&self, cwd: Option<&str>) -> Result<PathBuf, ConnectError> {
        let folder = cwd
            .filter(|cwd| !cwd.trim().is_empty())
            .map_or_else(|| self.home.clone(), |cwd| self.expand(cwd));
        if folder.is_dir() {
            Ok(folder)
        } else {
            let folder = folder.display().to_string();
            Err(ConnectError::bad_config(message!("error.servers.config.noFolder", folder = folder)))
        }
    }

    /// Resolves a command to the path of a program, before it is started: a path, with `~` for the user's home
    /// and relative to `folder`, or a name that is searched for in a PATH.
    ///
    /// `own_path` is the PATH of the server's settings, which replaces that of the user.
    ///
    /// # Errors
    /// [`ConnectError::CommandNotFound`] with advice on how to install the program.
    pub(crate) fn resolve_program(
        &self,
        command: &str,
        folder: &Path,
        own_path: Option<&str>,
    ) -> Result<PathBuf, ConnectError> {
        let command = command.trim();
        if command.is_empty() {
            return Err(ConnectError::bad_config(message!("error.servers.config.noCommand")));
        }
        let path = own_path.map_or_else(|| self.path.clone(), OsString::from);
        which::which_in(self.expand(command), Some(path), folder).map_err(|_| ConnectError::CommandNotFound {
            command: command.to_owned(),
            advice: runtimes::advice(command).into(),
        })
    }

    /// Replaces a leading `~` by the user's home.
    fn expand(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if text == "~" => self.home.clone(),
            None => PathBuf::from(text),
        }
    }
}

/// The PATH that was found, with the usual folders that it lacks appended.
pub(super) fn search_path(found: Option<OsString>, home: &Path) -> OsString {
    let mut folders: Vec<PathBuf> =
        found.as_deref().map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    for usual in usual_folders(home) {
        if !folders.contains(&usual) {
            folders.push(usual);
        }
    }
    // A folder whose name contains the separator cannot be in a PATH; then the PATH is left
    // unchanged.
    std::env::join_paths(folders).unwrap_or_else(|_| found.unwrap_or_else(|| OsStr::new("").to_owned()))
}

/// Where package managers and installers put programs.
fn usual_folders(home: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![home.join(".cargo").join("bin"), home.join(".local").join("bin")];
    }
    ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/snap/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(
            [".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin"].into_iter().map(|folder| home.join(folder)),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn process_env(path: &str, home: &Path) -> ProcessEnvironment {
        ProcessEnvironment { variables: BTreeMap::new(), path: path.into(), home: home.to_owned() }
    }

    #[test]
    fn appends_usual_folders_to_path() {
        let joined = search_path(Some("/opt/x:/usr/bin".into()), Path::new("/home/u"));
        let folders: Vec<PathBuf> = std::env::split_paths(&joined).collect();
        assert_eq!(folders.first().unwrap(), Path::new("/opt/x"));
        assert_eq!(folders.iter().filter(|folder| *folder == Path::new("/usr/bin")).count(), 1);
        assert!(folders.contains(&PathBuf::from("/home/u/.local/bin")));
    }

    #[cfg(unix)]
    #[test]
    fn resolves_commands() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("text"), "").unwrap();
        let here = process_env(folder.path().to_str().unwrap(), folder.path());

        assert_eq!(here.resolve_program("tool", Path::new("/"), None).unwrap(), program);
        assert_eq!(here.resolve_program("~/tool", Path::new("/"), None).unwrap(), program);
        assert_eq!(
            here.resolve_program("./tool", folder.path(), None).unwrap().canonicalize().unwrap(),
            program.canonicalize().unwrap()
        );
        assert!(here.resolve_program("text", Path::new("/"), None).is_err(), "not executable");
        let error = here.resolve_program("npx", Path::new("/"), None).unwrap_err().to_string();
        assert!(error.contains("“npx” was not found") && error.contains("Node.js"), "{error}");
        assert!(matches!(
            here.resolve_program(" ", Path::new("/"), None),
            Err(ConnectError::BadConfig { .. })
        ));
    }

    #[test]
    fn rejects_missing_working_folder() {
        let folder = tempfile::tempdir().unwrap();
        let here = process_env("", folder.path());
        assert_eq!(here.working_folder(None).unwrap(), folder.path());
        assert_eq!(here.working_folder(Some("~")).unwrap(), folder.path());
        assert!(
            here.working_folder(Some("/no/such/folder")).unwrap_err().to_string().contains("does not exist")
        );
    }
}
