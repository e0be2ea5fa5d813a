//! Runs the user's login shell to read its environment. A program that is started from the desktop
//! doesn't get what the user's shell files set up, and the commands of servers are usually found
//! through that.
//!
//! The shell runs the user's own files, so it gets no terminal, no input and a short time limit.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Time limit of the shell.
#[cfg(unix)]
const LIMIT: std::time::Duration = std::time::Duration::from_secs(5);
#[cfg(any(unix, test))]
const MARK: &str = "__GATEHOUSE_ENVIRONMENT__";

/// The shell's variables; empty if it fails.
pub(super) async fn read_environment() -> BTreeMap<String, OsString> {
    #[cfg(unix)]
    if let Some(shell) = std::env::var_os("SHELL").filter(|shell| std::path::Path::new(shell).is_absolute()) {
        match tokio::time::timeout(LIMIT, unix::run(&shell)).await {
            Ok(Ok(printed)) => return parse(&printed),
            Ok(Err(error)) => tracing::warn!(%error, "the login shell cannot be asked for its environment"),
            Err(_) => tracing::warn!("the login shell takes too long; Gatehouse's own PATH is used"),
        }
    }
    BTreeMap::new()
}

/// Parses the output between the two marks as variables. Shell files may print text of their own
/// before and after.
#[cfg(any(unix, test))]
fn parse(printed: &[u8]) -> BTreeMap<String, OsString> {
    let printed = String::from_utf8_lossy(printed);
    let Some(between) = printed.split(MARK).nth(1) else { return BTreeMap::new() };
    between
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), OsString::from(value)))
        .collect()
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::io;
    use std::process::Stdio;

    use gatehouse_common::user_environment;
    use gatehouse_model::server::StdioStreams;
    use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
    use tokio::io::AsyncReadExt;

    use super::MARK;
    use crate::processes::{reaper, streams};

    struct ShellProcess(Box<dyn ChildWrapper>);

    impl Drop for ShellProcess {
        fn drop(&mut self) {
            if let Err(error) = self.0.start_kill() {
                tracing::trace!(%error, "the shell has ended already");
            }
        }
    }

    pub(super) async fn run(shell: &OsStr) -> io::Result<Vec<u8>> {
        let script = format!("printf '%s\\n' {MARK}; /usr/bin/env; printf '%s\\n' {MARK}");
        let (stdout, child_stdout) = streams::output(StdioStreams::Sockets)?;
        let mut command = CommandWrap::with_new(shell, |command| {
            command
                .args(["-ilc", &script])
                .stdin(Stdio::null())
                .stdout(child_stdout)
                .stderr(Stdio::null())
                .env_clear()
                .envs(user_environment::variables())
                .env_remove(reaper::MARKER);
        });
        // A session of its own, because an interactive shell would otherwise take over Gatehouse's
        // terminal.
        command.wrap(ProcessSession);
        let mut shell = ShellProcess(command.spawn()?);
        // The command holds the shell's end of the stream; while it lives, the stream never ends.
        drop(command);
        let mut stdout = stdout.reader(shell.0.stdout().take())?;
        let mut printed = Vec::new();
        // A process that the shell files started may keep the stream open, so the second mark ends
        // it too.
        let mark = format!("{MARK}\n");
        loop {
            if stdout.read_buf(&mut printed).await? == 0
                || memchr::memmem::find_iter(&printed, &mark).count() >= 2
            {
                return Ok(printed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_between_marks() {
        let printed =
            format!("Welcome!\nPATH=/wrong\n{MARK}\nPATH=/a:/b\nX=1=2\nnothing\n{MARK}\nPATH=/late\n");
        let found = parse(printed.as_bytes());
        assert_eq!(found.get("PATH").unwrap(), "/a:/b");
        assert_eq!(found.get("X").unwrap(), "1=2");
        assert_eq!(found.len(), 2);
        assert!(parse(b"no marks").is_empty());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn reads_environment_of_login_shell() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("shell");
        std::fs::write(
            &shell,
            "#!/bin/sh\necho hello\nPATH=/from/shell:$PATH\nexport PATH\nsleep 60 &\neval \"$2\"\n",
        )
        .unwrap();
        std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
        let printed = tokio::time::timeout(LIMIT, unix::run(shell.as_os_str())).await.unwrap().unwrap();
        assert!(parse(&printed).get("PATH").unwrap().to_str().unwrap().starts_with("/from/shell:"));
    }
}
