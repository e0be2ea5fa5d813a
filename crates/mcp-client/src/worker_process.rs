//! Processes for work on what a server chose, where that could take for ever, use all memory, or end the process that
//! does it: this program, started with a hidden argument, with limits on time and memory. Whatever goes wrong in one
//! affects its task alone.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The side that gives tasks to a worker. Dropping it ends the worker.
pub struct WorkerProcess {
    child: Child,
    /// Takes tasks.
    pub input: Box<dyn Write + Send>,
    /// Has their outcomes. It ends with the worker, on Unix also if that doesn't answer in time.
    pub output: Box<dyn BufRead + Send>,
}

impl std::fmt::Debug for WorkerProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerProcess").field("child", &self.child.id()).finish_non_exhaustive()
    }
}

impl WorkerProcess {
    /// Starts a program with the argument that makes it this worker. `time` is the limit of one task.
    ///
    /// # Errors
    /// When it could not be started.
    pub fn start(program: &Path, argument: &str, time: Duration) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(argument).stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::fd::OwnedFd;
            use std::os::unix::net::UnixStream;
            // A socket pair, as for servers: no other program can open a socket by its path and
            // answer in the worker's place.
            let (own, theirs) = UnixStream::pair()?;
            command.env_clear().stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
            // The worker's watchdog ends it in time; this is for a worker whose watchdog doesn't.
            own.set_read_timeout(Some(time * 2))?;
            own.set_write_timeout(Some(time * 2))?;
            let child = command.spawn()?;
            let output = Box::new(BufReader::new(own.try_clone()?));
            Ok(Self { child, input: Box::new(own), output })
        }
        #[cfg(not(unix))]
        {
            // Only its own watchdog limits the time of this worker.
            let _ = time;
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let missing = || io::Error::other("a standard stream is missing");
            let input = Box::new(child.stdin.take().ok_or_else(missing)?);
            let output = Box::new(BufReader::new(child.stdout.take().ok_or_else(missing)?));
            Ok(Self { child, input, output })
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            tracing::debug!(%error, "a worker process could not be ended");
        }
    }
}

/// Ends this process when a task takes too long, because the task itself cannot be interrupted.
pub struct Watchdog(SyncSender<WatchdogSignal>);

enum WatchdogSignal {
    Begin,
    End,
}

impl Watchdog {
    /// `time` is the limit of one task.
    #[must_use]
    pub fn start(time: Duration) -> Self {
        let (sender, signals) = sync_channel(0);
        std::thread::spawn(move || watch(&signals, time));
        Self(sender)
    }

    /// A task begins.
    pub fn begin(&self) {
        self.signal(WatchdogSignal::Begin);
    }

    /// The task has ended.
    pub fn end(&self) {
        self.signal(WatchdogSignal::End);
    }

    fn signal(&self, signal: WatchdogSignal) {
        if self.0.send(signal).is_err() {
            // Nothing may run without the watchdog.
            std::process::exit(1);
        }
    }
}

fn watch(signals: &Receiver<WatchdogSignal>, time: Duration) {
    while signals.recv().is_ok() {
        if matches!(signals.recv_timeout(time), Err(RecvTimeoutError::Timeout)) {
            std::process::exit(1);
        }
    }
}

/// Limits the memory of this process, in bytes, so that it fails alone when it needs too much, and disables core dumps,
/// so that a crash writes no file with what it read.
#[cfg(unix)]
pub fn limit_memory(bytes: u64) {
    use nix::sys::resource::{Resource, setrlimit};
    for (what, most) in [(Resource::RLIMIT_DATA, bytes), (Resource::RLIMIT_CORE, 0)] {
        if let Err(error) = setrlimit(what, most, most) {
            tracing::debug!(%error, "a limit of a worker process could not be set");
        }
    }
}
