//! Child processes of servers: started in a process group of their own, marked, and ended without
//! leaving anything behind.
//!
//! The marker is an environment variable that every descendant inherits, so that even a process
//! that left the group can be found.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_client::{InputWriter, OutputReader, ProcessExit, ServerProcess};
use gatehouse_model::BoxFuture;
use gatehouse_model::server::StdioStreams;
use process_wrap::tokio::{ChildWrapper, CommandWrap};

use super::guard::{ChildRun, GroupChange};
use super::reaper::{self, MARKER, ProcessSignal};
use super::streams;

/// How long a process may take to exit after its input was closed.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);
/// How long the processes that it left behind may take after each signal.
const DESCENDANT_GRACE: Duration = Duration::from_millis(500);
/// How often it is checked whether they are gone.
const POLL: Duration = Duration::from_millis(10);

/// Parameters of a process.
#[derive(Clone)]
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

/// A started process, with its streams.
pub(crate) struct StartedChild {
    pub(crate) child: Child,
    pub(crate) stdin: InputWriter,
    pub(crate) stdout: OutputReader,
    pub(crate) stderr: OutputReader,
}

/// Starts a process. The child guard runs before it and is told of its group, so that the process is ended
/// even if Gatehouse is killed.
///
/// # Errors
/// If the streams cannot be created or the program cannot be started.
pub(crate) async fn start(spec: &ChildSpec, run: &Arc<ChildRun>) -> io::Result<StartedChild> {
    run.ensure_guard().await;
    let (stdin, child_stdin) = streams::input(spec.streams)?;
    let (stdout, child_stdout) = streams::output(spec.streams)?;
    let (stderr, child_stderr) = streams::output(spec.streams)?;
    let mut command = build_command(spec, child_stdin, child_stdout, child_stderr);
    let mut wrapper = command.spawn()?;
    // The command holds the child's ends of the streams; while it lives, they never end.
    drop(command);
    let group = wrapper.id().and_then(|id| i32::try_from(id).ok());
    let stdin = stdin.writer(wrapper.stdin().take());
    let stdout = stdout.reader(wrapper.stdout().take());
    let stderr = stderr.reader(wrapper.stderr().take());
    let child = Child { wrapper, group, marker: spec.marker.clone(), run: Arc::clone(run), finished: false };
    if let Some(group) = group {
        child.run.report(group, GroupChange::Started).await;
    }
    Ok(StartedChild { child, stdin: stdin?, stdout: stdout?, stderr: stderr? })
}

/// The command of a process that leads its own group (a job object on Windows).
fn build_command(spec: &ChildSpec, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> CommandWrap {
    let mut command = CommandWrap::with_new(&spec.program, |command| {
        command
            .args(&spec.args)
            .env_clear()
            .envs(streams::environment(spec.streams))
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .env(MARKER, &spec.marker)
            .current_dir(&spec.cwd)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
    });
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    {
        command.wrap(process_wrap::tokio::JobObject);
        command.wrap(process_wrap::tokio::KillOnDrop);
    }
    command
}

/// A running process. Dropping it kills its group and its marked descendants at once.
pub(crate) struct Child {
    wrapper: Box<dyn ChildWrapper>,
    /// Id of its process group, which is its own id.
    group: Option<i32>,
    marker: String,
    /// Where the end of the group is reported.
    run: Arc<ChildRun>,
    /// Nothing of it is left; there is nothing to kill when it is dropped.
    finished: bool,
}

impl Child {
    /// Waits until the process itself has exited; its descendants may still run. May be dropped and
    /// awaited again.
    pub(crate) async fn wait(&mut self) -> ProcessExit {
        match self.wrapper.wait().await {
            Ok(status) => exit_of(status),
            Err(error) => {
                tracing::warn!(%error, "a process cannot be waited for");
                ProcessExit::Code(-1)
            }
        }
    }

    /// Ends the process and everything that it started. Its input must be closed before.
    pub(crate) async fn stop(mut self) -> ProcessExit {
        let exit = self.end_process().await;
        self.reap_descendants().await;
        self.finished = true;
        if let Some(group) = self.group {
            self.run.report(group, GroupChange::Ended).await;
        }
        exit
    }

    /// Ends the process itself. It can exit by itself, since its input is closed; if it does not, its group is
    /// terminated, then killed.
    async fn end_process(&mut self) -> ProcessExit {
        if let Ok(exit) = tokio::time::timeout(CLOSE_GRACE, self.wait()).await {
            return exit;
        }
        reaper::signal_group(self.group, ProcessSignal::Terminate);
        if let Ok(exit) = tokio::time::timeout(TERMINATE_GRACE, self.wait()).await {
            return exit;
        }
        if let Err(error) = self.wrapper.start_kill() {
            tracing::debug!(%error, "a process group could not be killed");
        }
        self.wait().await
    }

    /// Ends what the process left behind: the rest of its group, and processes that left the group
    /// but still carry the marker.
    async fn reap_descendants(&mut self) {
        let marker = self.marker.clone();
        for signal in [ProcessSignal::Terminate, ProcessSignal::Kill] {
            let group_left = reaper::signal_group(self.group, signal);
            let marked_left = signal_marked(marker.clone(), signal).await;
            if !group_left && !marked_left {
                return;
            }
            let end = tokio::time::Instant::now() + DESCENDANT_GRACE;
            while tokio::time::Instant::now() < end {
                tokio::time::sleep(POLL).await;
                if !reaper::is_group_alive(self.group)
                    && !signal_marked(marker.clone(), ProcessSignal::Nothing).await
                {
                    return;
                }
            }
        }
        tracing::warn!("a process that a server started could not be ended");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.finished {
            if let Err(error) = self.wrapper.start_kill() {
                tracing::debug!(%error, "a dropped process could not be killed");
            }
            let marker = std::mem::take(&mut self.marker);
            reaper::signal_marked(&|found| found == marker, ProcessSignal::Kill);
        }
    }
}

impl ServerProcess for Child {
    fn wait(&mut self) -> BoxFuture<'_, ProcessExit> {
        Box::pin(Self::wait(self))
    }

    fn stop(self: Box<Self>) -> BoxFuture<'static, ProcessExit> {
        Box::pin(Self::stop(*self))
    }
}

/// How a process ended, from its status.
fn exit_of(status: ExitStatus) -> ProcessExit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ProcessExit::Signal(signal);
    }
    ProcessExit::Code(status.code().unwrap_or(-1))
}

/// Signals the processes that carry the marker. `true` if there was one. The search reads from the system,
/// so it runs where blocking is allowed.
async fn signal_marked(marker: String, signal: ProcessSignal) -> bool {
    tokio::task::spawn_blocking(move || reaper::signal_marked(&|found| found == marker, signal))
        .await
        .unwrap_or(false)
}
