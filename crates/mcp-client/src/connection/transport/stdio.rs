//! A server over the standard streams of a child process.
//!
//! One task supervises the process: it notices its exit, even if a grandchild still holds the
//! streams open, reports the reason, and leaves no process behind.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::BoxFuture;
use gatehouse_model::server::LogLine;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::line::{self, LineConnector, LineTransport, ReaderTask, UnnegotiatedLine};
use super::stderr_log::{LogFile, LogTail, read_lines};
use crate::connection::{ConnectSpec, Connection, Inbound};
use crate::error::ConnectError;
use crate::error::{CloseCause, CloseReason};
use crate::host::{PreparedProcess, ProcessExit, ServerProcess, StartedProcess};

/// Time limit for the login shell, the keychain and the search for the fastest mirror together. The
/// server's own limit begins after that.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long output from before the exit is still read.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process that closed its output may take to exit, so that the exit code is known.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the process and shakes hands; restarts it with another lifecycle if the first one was not
/// understood.
pub(in crate::connection) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let preparation = spec.deps.host.prepare_process(&spec.config, &spec.redactor);
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ConnectError::CANCELLED),
        prepared = tokio::time::timeout(PREPARE_TIMEOUT, preparation) => {
            prepared.unwrap_or(Err(ConnectError::TimedOut { after: PREPARE_TIMEOUT }))?
        }
    };
    line::connect(spec, &ProcessOpener { spec, prepared, inbound }, cancel).await
}

/// Starts processes of one server.
struct ProcessOpener<'a> {
    spec: &'a ConnectSpec,
    prepared: Box<dyn PreparedProcess>,
    inbound: mpsc::Sender<Inbound>,
}

impl LineConnector for ProcessOpener<'_> {
    fn open(&self) -> BoxFuture<'_, Result<UnnegotiatedLine, ConnectError>> {
        Box::pin(open(self.spec, &*self.prepared, self.inbound.clone()))
    }
}

/// Starts the process, with a task that reads its standard error and one that supervises it.
async fn open(
    spec: &ConnectSpec,
    prepared: &dyn PreparedProcess,
    inbound: mpsc::Sender<Inbound>,
) -> Result<UnnegotiatedLine, ConnectError> {
    let deps = &spec.deps;
    let StartedProcess { process, stdin, stdout, stderr } = prepared.start().await?;
    let (opened, reading) = line::start_line(spec, inbound, stdout, stdin);
    let transport = Arc::clone(&opened.transport);
    let tail = Arc::new(LogTail::default());
    let file = LogFile::new(&deps.data_dir, &spec.config.id);
    let stderr = {
        let tail = Arc::clone(&tail);
        let router = Arc::clone(&transport.router);
        let redactor = spec.redactor.clone();
        let clean = move |text| redactor.text(text);
        deps.tasks.spawn(read_lines(stderr, file, clean, move |line| {
            let LogLine { text, .. } = router.stderr(line);
            tail.push(text.clone());
            text
        }))
    };
    let supervisor = ProcessSupervisor { process, reading, stderr, tail, transport };
    deps.tasks.spawn(supervisor.supervise());
    Ok(opened)
}

/// Supervises a process from start to exit.
struct ProcessSupervisor {
    process: Box<dyn ServerProcess>,
    reading: ReaderTask,
    stderr: JoinHandle<()>,
    /// The last lines of standard error.
    tail: Arc<LogTail>,
    transport: Arc<LineTransport>,
}

impl ProcessSupervisor {
    /// Runs until the process and everything that it started are gone.
    async fn supervise(mut self) {
        let cause = self.first_cause().await;
        let mut last_lines = Arc::from([]);
        if cause != CloseCause::Requested {
            // The last lines of standard error may still be in the pipe.
            if tokio::time::timeout(DRAIN_TIMEOUT, &mut self.stderr).await.is_err() {
                tracing::debug!("something still holds the standard error of a server");
            }
            last_lines = self.tail.last_lines();
        }
        self.transport.closing.set_reason(CloseReason { cause, last_lines });
        self.transport.router.end();
        self.reading.stop.cancel();
        self.transport.sender.close().await;
        let exit = self.process.stop().await;
        tracing::debug!(?exit, "a server's process is gone");
        self.stderr.abort();
        self.transport.closing.mark_closed();
    }

    /// Waits for the first event that ends the connection.
    async fn first_cause(&mut self) -> CloseCause {
        tokio::select! {
            biased;
            () = self.transport.closing.close_requested() => CloseCause::Requested,
            exit = self.process.wait() => {
                self.drain_output().await;
                exit.into()
            }
            ended = &mut self.reading.task => match ended {
                Ok(CloseCause::OutputClosed) => self.cause_of_closed_output().await,
                Ok(cause) => cause,
                Err(error) => CloseCause::Broken(error.to_string().into()),
            },
        }
    }

    /// Reads the output of a process that has exited: responses that it wrote before still count.
    async fn drain_output(&mut self) {
        if !self.reading.task.is_finished()
            && tokio::time::timeout(DRAIN_TIMEOUT, &mut self.reading.task).await.is_err()
        {
            tracing::debug!("something still holds the output of a process that has ended");
        }
    }

    /// How the process exited, if it closed its output because it is exiting.
    async fn cause_of_closed_output(&mut self) -> CloseCause {
        match tokio::time::timeout(EXIT_TIMEOUT, self.process.wait()).await {
            Ok(exit) => exit.into(),
            Err(_) => CloseCause::OutputClosed,
        }
    }
}

impl From<ProcessExit> for CloseCause {
    fn from(exit: ProcessExit) -> Self {
        match exit {
            ProcessExit::Code(code) => Self::Exited(code),
            ProcessExit::Signal(signal) => Self::Signalled(signal),
        }
    }
}
