//! Child processes of servers: started in a process group of their own, marked, and ended without
//! leaving anything behind.
//!
//! The marker is an environment variable that every descendant inherits, so that even a process
//! that left the group can be found. Nothing here depends on the protocol.

pub(crate) mod log;
pub(crate) mod streams;
pub(crate) mod sweep;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::server::StdioStreams;
use process_wrap::tokio::{ChildWrapper, CommandWrap};

use self::streams::{Input, Output};
use crate::guard::ChildRun;

/// Name of the environment variable with the marker.
pub(crate) const MARKER: &str = "GATEHOUSE_CHILD";

/// How long a process may take to exit after its input was closed.
const AFTER_CLOSE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const AFTER_TERMINATE: Duration = Duration::from_secs(2);
/// How long the processes that it left behind may take after each signal.
const FOR_THE_REST: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(10);

/// Parameters of a process.
pub(crate) struct ChildSpec {
    /// The resolved path of the program.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The whole environment, without the marker.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    pub(crate) marker: String,
    pub(crate) streams: StdioStreams,
}

/// A running process. Dropping it kills its group and its marked descendants at once.
pub(crate) struct Child {
    wrapper: Box<dyn ChildWrapper>,
    group: Option<i32>,
    marker: String,
    run: Arc<ChildRun>,
    finished: bool,
}

/// A started process, with its streams.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        Self::Code(status.code().unwrap_or(-1))
    }
}

pub(crate) async fn start(spec: &ChildSpec, run: &Arc<ChildRun>) -> io::Result<Started> {
    run.ensure_guard().await;
    let (stdin, child_stdin) = streams::input(spec.streams)?;
    let (stdout, child_stdout) = streams::output(spec.streams)?;
    let (stderr, child_stderr) = streams::output(spec.streams)?;
    let mut command = CommandWrap::with_new(&spec.program, |command| {
        command
            .args(&spec.args)
            .env_clear()
            .envs(streams::environment(spec.streams))
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .env(MARKER, &spec.marker)
            .current_dir(&spec.cwd)
            .stdin(child_stdin)
            .stdout(child_stdout)
            .stderr(child_stderr);
    });
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    {
        command.wrap(process_wrap::tokio::JobObject);
        command.wrap(process_wrap::tokio::KillOnDrop);
    }
    let mut wrapper = command.spawn()?;
    // The command holds the child's ends of the streams; while it lives, they never end.
    drop(command);
    let group = wrapper.id().and_then(|id| i32::try_from(id).ok());
    let stdin = stdin.writer(wrapper.stdin().take());
    let stdout = stdout.reader(wrapper.stdout().take());
    let stderr = stderr.reader(wrapper.stderr().take());
    let child = Child { wrapper, group, marker: spec.marker.clone(), run: Arc::clone(run), finished: false };
    if let Some(group) = group {
        child.run.report(group, true).await;
    }
    Ok(Started { child, stdin: stdin?, stdout: stdout?, stderr: stderr? })
}

impl Child {
    /// Waits until the process itself has exited; its descendants may still run. May be dropped and
    /// awaited again.
    pub(crate) async fn wait(&mut self) -> Exit {
        match self.wrapper.wait().await {
            Ok(status) => Exit::from(status),
            Err(error) => {
                tracing::warn!(%error, "a process cannot be waited for");
                Exit::Code(-1)
            }
        }
    }

    /// Ends the process and everything that it started. Its input must be closed before.
    pub(crate) async fn stop(mut self) -> Exit {
        let exit = match tokio::time::timeout(AFTER_CLOSE, self.wait()).await {
            Ok(exit) => exit,
            Err(_) => {
                sweep::signal_group(self.group, sweep::Kind::Terminate);
                match tokio::time::timeout(AFTER_TERMINATE, self.wait()).await {
                    Ok(exit) => exit,
                    Err(_) => {
                        if let Err(error) = self.wrapper.start_kill() {
                            tracing::debug!(%error, "a process group could not be killed");
                        }
                        self.wait().await
                    }
                }
            }
        };
        self.clear_up().await;
        self.finished = true;
        if let Some(group) = self.group {
            self.run.report(group, false).await;
        }
        exit
    }

    /// Ends what the process left behind: the rest of its group, and processes that left the group
    /// but still carry the marker.
    async fn clear_up(&mut self) {
        let marker = self.marker.clone();
        for kind in [sweep::Kind::Terminate, sweep::Kind::Kill] {
            let group_left = sweep::signal_group(self.group, kind);
            let marked_left = signal_marked(marker.clone(), kind).await;
            if !group_left && !marked_left {
                return;
            }
            let end = tokio::time::Instant::now() + FOR_THE_REST;
            while tokio::time::Instant::now() < end {
                tokio::time::sleep(POLL).await;
                if !sweep::group_lives(self.group)
                    && !signal_marked(marker.clone(), sweep::Kind::Nothing).await
                {
                    return;
                }
            }
        }
        tracing::warn!("a process that a server started could not be ended");
    }
}

async fn signal_marked(marker: String, kind: sweep::Kind) -> bool {
    tokio::task::spawn_blocking(move || sweep::signal_marked(&|found| found == marker, kind))
        .await
        .unwrap_or(false)
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.finished {
            if let Err(error) = self.wrapper.start_kill() {
                tracing::debug!(%error, "a dropped process could not be killed");
            }
            let marker = std::mem::take(&mut self.marker);
            sweep::signal_marked(&|found| found == marker, sweep::Kind::Kill);
        }
    }
}
