//! What a connection needs of the machine that it runs on: resolved settings, programs that print
//! headers, and processes. A connection only asks for them; the `servers` crate, which owns child
//! processes and their environment, provides them.

use std::sync::Arc;

use gatehouse_model::server::HeaderProgram;
use gatehouse_model::{BoxFuture, Secret, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::ConnectError;
use crate::redact::Redactor;

/// Writes to a process's standard input. Shutting it down or dropping it ends the input.
pub type InputWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Reads a process's standard output or standard error.
pub type OutputReader = Box<dyn AsyncRead + Send + Unpin>;

/// Provides what a server's settings refer to on this machine.
pub trait ServerHost: Send + Sync {
    /// The headers of a remote server's settings, with their references resolved. Adds the secrets
    /// among them to `redactor`.
    fn headers<'a>(
        &'a self,
        config: &'a Arc<ServerConfig>,
        redactor: &'a Redactor,
    ) -> BoxFuture<'a, Result<Vec<(String, Secret)>, ConnectError>>;

    /// Runs a program that prints headers, and returns their names and values.
    fn run_header_program<'a>(
        &'a self,
        program: &'a HeaderProgram,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, ConnectError>>;

    /// Resolves program, environment and working folder of a stdio server. Adds the secrets among
    /// its variables to `redactor`. Nothing is started yet.
    fn prepare_process<'a>(
        &'a self,
        config: &'a Arc<ServerConfig>,
        redactor: &'a Redactor,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedProcess>, ConnectError>>;
}

/// A process that can be started any number of times: once per lifecycle that is tried.
pub trait PreparedProcess: Send + Sync {
    /// Starts it.
    fn start(&self) -> BoxFuture<'_, Result<StartedProcess, ConnectError>>;
}

/// A started process, with its streams.
pub struct StartedProcess {
    pub process: Box<dyn ServerProcess>,
    pub stdin: InputWriter,
    pub stdout: OutputReader,
    pub stderr: OutputReader,
}

/// A running process. Dropping it kills it and everything that it started.
pub trait ServerProcess: Send {
    /// Waits until the process itself has exited; its descendants may still run. May be dropped and
    /// awaited again.
    fn wait(&mut self) -> BoxFuture<'_, ProcessExit>;

    /// Ends the process and everything that it started. Its input must be closed before.
    fn stop(self: Box<Self>) -> BoxFuture<'static, ProcessExit>;
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}
