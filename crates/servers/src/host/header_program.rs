//! Headers printed by a program of the user's (SRV-11): a JSON object of strings, or one `Name:
//! value` per line. The output is never logged, and the program is killed at its time limit.

use std::process::Stdio;
use std::time::Duration;

use gatehouse_mcp_client::ConnectError;
use gatehouse_model::server::{HeaderProgram, StdioStreams};
use gatehouse_model::{Message, message};
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::AsyncReadExt;

use crate::environment::ProcessEnvironment;
use crate::processes::streams;

/// Time limit of the program.
const LIMIT: Duration = Duration::from_secs(10);
/// Most output that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Kills the program and its descendants on drop.
struct HeaderProgramProcess(Box<dyn ChildWrapper>);

impl Drop for HeaderProgramProcess {
    fn drop(&mut self) {
        if let Err(error) = self.0.start_kill() {
            tracing::trace!(%error, "the program has ended already");
        }
    }
}

/// Runs the program and parses its headers.
pub(super) async fn run(
    program: &HeaderProgram,
    process_env: &ProcessEnvironment,
) -> Result<Vec<(String, String)>, ConnectError> {
    let wrong = |why: Message| {
        let command = &program.command;
        ConnectError::bad_config(message!(
            "error.servers.config.headerProgram",
            command = command,
            reason = why
        ))
    };
    let folder = process_env.working_folder(None)?;
    let path = process_env.resolve_program(&program.command, &folder, None)?;
    let unstarted =
        |error: std::io::Error| wrong(message!("error.servers.config.unstarted", reason = error.to_string()));
    let (stdout, child_stdout) = streams::output(StdioStreams::Sockets).map_err(unstarted)?;
    let mut command = CommandWrap::with_new(&path, |command| {
        command
            .args(&program.args)
            .env_clear()
            .envs(process_env.with_variables(std::iter::empty()))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(child_stdout)
            .stderr(Stdio::null());
    });
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    let mut child = HeaderProgramProcess(command.spawn().map_err(unstarted)?);
    // The command holds the child's end of the stream; while it lives, the stream never ends.
    drop(command);
    let stdout = stdout.reader(child.0.stdout().take()).map_err(unstarted)?;
    let ran = tokio::time::timeout(LIMIT, async {
        let mut printed = Vec::new();
        stdout.take(LONGEST).read_to_end(&mut printed).await?;
        Ok::<_, std::io::Error>((printed, child.0.wait().await?))
    });
    match ran.await {
        Err(_) => Err(wrong(message!("error.servers.config.unended", seconds = LIMIT.as_secs().to_string()))),
        Ok(Err(error)) => Err(wrong(message!("error.servers.config.unread", reason = error.to_string()))),
        Ok(Ok((_, status))) if !status.success() => {
            Err(wrong(message!("error.servers.config.failed", status = status.to_string())))
        }
        Ok(Ok((printed, _))) => {
            parse(&printed).ok_or_else(|| wrong(message!("error.servers.config.noHeaders")))
        }
    }
}

fn parse(printed: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(printed).ok()?.trim();
    if text.starts_with('{') {
        let members: std::collections::BTreeMap<String, String> = serde_json::from_str(text).ok()?;
        return Some(members.into_iter().collect());
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_json_and_line_output() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(parse(br#"{"X-A": "1", "B": "b:c"}"#).unwrap(), [pair("B", "b:c"), pair("X-A", "1")]);
        assert_eq!(parse(b"X-A: 1\n\nB: b:c\n").unwrap(), [pair("X-A", "1"), pair("B", "b:c")]);
        assert_eq!(parse(b"").unwrap(), []);
        for wrong in [&b"{\"A\": 1}"[..], b"no header", b"\xff"] {
            assert_eq!(parse(wrong), None);
        }
    }
}
