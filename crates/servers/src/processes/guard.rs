//! The child guard: a small process that ends Gatehouse's child processes if Gatehouse was killed
//! and could not do so itself.
//!
//! Gatehouse reports process groups to it over a stream. When the stream ends, for whatever reason,
//! the guard ends every process with the marker of this run and every group that was not reported
//! as ended. It never signals anything else, and does nothing while the stream is open.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gatehouse_mcp_client::InputWriter;
use gatehouse_model::ServerId;
use gatehouse_model::server::StdioStreams;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::AsyncWriteExt;

use super::reaper::{self, MARKER};
use super::streams;

/// The hidden argument that makes a program the guard.
pub(crate) const ARGUMENT: &str = "--child-guard";
/// How long processes may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long the guard keeps sending SIGKILL after that.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Waits for the end of standard input and then ends the processes of a run.
pub(crate) fn run_guard(run: &str) {
    // Signals of a terminal are sent to its session; the guard leaves it, so that it survives
    // Ctrl+C.
    #[cfg(unix)]
    if let Err(error) = nix::unistd::setsid() {
        tracing::debug!(%error, "the guard already leads a session");
    }
    let mut groups = BTreeSet::new();
    for line in BufReader::new(std::io::stdin().lock()).lines() {
        let Ok(line) = line else { break };
        match (line.strip_prefix('+').map(str::parse::<i32>), line.strip_prefix('-').map(str::parse::<i32>)) {
            (Some(Ok(group)), _) => {
                groups.insert(group);
            }
            (_, Some(Ok(group))) => {
                groups.remove(&group);
            }
            _ => {}
        }
    }
    reap_run(run, &groups);
}

fn reap_run(run: &str, groups: &BTreeSet<i32>) {
    let prefix = format!("{run}/");
    let signal = |kind| {
        let marked = reaper::signal_marked(&|found| found.starts_with(&prefix), kind);
        groups.iter().fold(marked, |any, group| reaper::signal_group(Some(*group), kind) | any)
    };
    let begun = Instant::now();
    signal(reaper::ProcessSignal::Terminate);
    let mut quiet = 0;
    // A process that was being started when Gatehouse died shows its marker a moment later, so the
    // result is trusted only after several checks that found nothing.
    while quiet < 4 && begun.elapsed() < GRACE + KILL_TIMEOUT {
        std::thread::sleep(POLL);
        let kind = if begun.elapsed() < GRACE {
            reaper::ProcessSignal::Nothing
        } else {
            reaper::ProcessSignal::Kill
        };
        quiet = if signal(kind) { 0 } else { quiet + 1 };
    }
}

/// The child processes of this run of Gatehouse: their marker, and the guard.
pub(crate) struct ChildRun {
    id: String,
    program: Option<PathBuf>,
    guard: tokio::sync::Mutex<Option<GuardProcess>>,
    next: AtomicU64,
}

/// What happened to a process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupChange {
    Started,
    Ended,
}

struct GuardProcess {
    child: Box<dyn ChildWrapper>,
    /// `None` after shutdown.
    stdin: Option<InputWriter>,
    groups: BTreeSet<i32>,
}

impl ChildRun {
    /// A new run. `program` must call [`crate::run_helper_if_requested`].
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        let bits = getrandom::u64().unwrap_or_else(|error| {
            tracing::warn!(%error, "no random bits for the marker of this run");
            u64::from(std::process::id())
        });
        Self {
            id: format!("{bits:016x}"),
            program,
            guard: tokio::sync::Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// A unique marker for one process of a server.
    pub(crate) fn marker(&self, server: &ServerId) -> String {
        format!("{}/{server}/{}", self.id, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes sure that the guard is running. If it cannot be started, children run unguarded, which
    /// is logged.
    pub(crate) async fn ensure_guard(&self) {
        let Some(program) = &self.program else {
            tracing::debug!("no guard program: children would outlive a kill of Gatehouse");
            return;
        };
        let mut guard = self.guard.lock().await;
        let mut groups = BTreeSet::new();
        if let Some(running) = guard.as_mut() {
            if matches!(running.child.try_wait(), Ok(None)) {
                return;
            }
            groups = std::mem::take(&mut running.groups);
            tracing::warn!("the guard has ended and is started again");
        }
        match self.start_guard(program) {
            Ok(mut started) => {
                for group in groups {
                    started.report(group, GroupChange::Started).await;
                }
                *guard = Some(started);
            }
            Err(error) => {
                tracing::error!(%error, "the guard cannot be started: children would outlive a kill")
            }
        }
    }

    fn start_guard(&self, program: &Path) -> io::Result<GuardProcess> {
        let (stdin, child_stdin) = streams::input(StdioStreams::Sockets)?;
        let mut command = CommandWrap::with_new(program, |command| {
            command
                .args([ARGUMENT, &self.id])
                .env_remove(MARKER)
                .stdin(child_stdin)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
        });
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessSession);
        let mut child = command.spawn()?;
        let stdin = stdin.writer(child.stdin().take())?;
        Ok(GuardProcess { child, stdin: Some(stdin), groups: BTreeSet::new() })
    }

    /// Reports to the guard that a process group was started or has ended.
    pub(crate) async fn report(&self, group: i32, change: GroupChange) {
        if let Some(guard) = self.guard.lock().await.as_mut() {
            guard.report(group, change).await;
        }
    }

    /// Closes the guard's stream and waits for it to exit.
    pub(crate) async fn shutdown(&self) {
        let Some(mut guard) = self.guard.lock().await.take() else { return };
        drop(guard.stdin.take());
        if tokio::time::timeout(GRACE + KILL_TIMEOUT, guard.child.wait()).await.is_err() {
            tracing::warn!("the guard does not end");
        }
    }
}

impl GuardProcess {
    async fn report(&mut self, group: i32, change: GroupChange) {
        let sign = match change {
            GroupChange::Started => {
                self.groups.insert(group);
                '+'
            }
            GroupChange::Ended => {
                self.groups.remove(&group);
                '-'
            }
        };
        if let Some(stdin) = self.stdin.as_mut()
            && let Err(error) = stdin.write_all(format!("{sign}{group}\n").as_bytes()).await
        {
            tracing::debug!(%error, "a report to the guard failed");
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
