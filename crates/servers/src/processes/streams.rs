//! The standard streams of child processes.
//!
//! On Linux every program of the same user can open a pipe of another process through
//! `/proc/PID/fd` and write to it or read from it. A socket cannot be opened that way (`ENXIO`), so
//! there children get socket pairs unless their settings say otherwise. Other systems have no such
//! paths, so children get pipes there.

use std::io;
use std::process::Stdio;

use gatehouse_mcp_client::{InputWriter, OutputReader};
use gatehouse_model::server::StdioStreams;
use tokio::io::AsyncRead;
#[cfg(target_os = "linux")]
use tokio::net::UnixStream;
use tokio::process::ChildStdin;

/// Gatehouse's end of one stream of a child that is about to start.
pub(crate) enum ParentEnd {
    /// A pipe, whose end is in the handle of the running child.
    Pipe,
    /// One end of a socket pair.
    #[cfg(target_os = "linux")]
    Socket(UnixStream),
}

impl ParentEnd {
    /// The end to write to. `pipe` comes from the handle of the running child.
    ///
    /// # Errors
    /// If this is a pipe and the handle has none.
    pub(crate) fn writer(self, pipe: Option<ChildStdin>) -> io::Result<InputWriter> {
        match self {
            Self::Pipe => Ok(Box::new(pipe.ok_or_else(missing)?)),
            #[cfg(target_os = "linux")]
            Self::Socket(socket) => Ok(Box::new(socket)),
        }
    }

    /// The end to read from. `pipe` comes from the handle of the running child.
    ///
    /// # Errors
    /// If this is a pipe and the handle has none.
    pub(crate) fn reader(
        self,
        pipe: Option<impl AsyncRead + Send + Unpin + 'static>,
    ) -> io::Result<OutputReader> {
        match self {
            Self::Pipe => Ok(Box::new(pipe.ok_or_else(missing)?)),
            #[cfg(target_os = "linux")]
            Self::Socket(socket) => Ok(Box::new(socket)),
        }
    }
}

fn missing() -> io::Error {
    io::Error::other("a standard stream of the process is missing")
}

/// Creates a standard input. The opposite direction is shut down, so nothing that the child writes
/// to it arrives.
pub(crate) fn input(streams: StdioStreams) -> io::Result<(ParentEnd, Stdio)> {
    let (own, child) = stream(streams)?;
    #[cfg(target_os = "linux")]
    if let ParentEnd::Socket(socket) = own {
        let socket = socket.into_std()?;
        socket.shutdown(std::net::Shutdown::Read)?;
        return Ok((ParentEnd::Socket(UnixStream::from_std(socket)?), child));
    }
    Ok((own, child))
}

/// Creates a standard output or error.
///
/// The opposite direction stays open, although nothing is ever sent on it: Python's asyncio treats
/// a standard output whose opposite direction has ended as closed by its reader. Only Gatehouse
/// holds the end that could send.
pub(crate) fn output(streams: StdioStreams) -> io::Result<(ParentEnd, Stdio)> {
    stream(streams)
}

fn stream(streams: StdioStreams) -> io::Result<(ParentEnd, Stdio)> {
    match streams {
        #[cfg(target_os = "linux")]
        StdioStreams::Sockets => {
            let (own, child) = std::os::unix::net::UnixStream::pair()?;
            own.set_nonblocking(true)?;
            let own = UnixStream::from_std(own)?;
            Ok((ParentEnd::Socket(own), Stdio::from(std::os::fd::OwnedFd::from(child))))
        }
        _ => Ok((ParentEnd::Pipe, Stdio::piped())),
    }
}

/// A variable that a child with these streams needs in its environment, unless its settings
/// override it.
///
/// `bash -c` with a socket as its input assumes that it was started by a remote shell daemon and
/// reads `~/.bashrc`, but only in the outermost shell. `SHLVL` makes it an inner one.
pub(crate) fn environment(streams: StdioStreams) -> Option<(&'static str, &'static str)> {
    match streams {
        StdioStreams::Sockets => Some(("SHLVL", "1")),
        StdioStreams::Pipes => None,
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::path::Path;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::process::{Child, Command};

    use super::*;

    struct RunningChild {
        child: Child,
        stdin: InputWriter,
        stdout: OutputReader,
        stderr: OutputReader,
    }

    fn start(streams: StdioStreams, script: &str, home: &Path) -> RunningChild {
        let (stdin, child_stdin) = input(streams).unwrap();
        let (stdout, child_stdout) = output(streams).unwrap();
        let (stderr, child_stderr) = output(streams).unwrap();
        let mut child = Command::new("bash")
            .args(["-c", script])
            .env_clear()
            .envs(environment(streams))
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .stdin(child_stdin)
            .stdout(child_stdout)
            .stderr(child_stderr)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        RunningChild {
            stdin: stdin.writer(child.stdin.take()).unwrap(),
            stdout: stdout.reader(child.stdout.take()).unwrap(),
            stderr: stderr.reader(child.stderr.take()).unwrap(),
            child,
        }
    }

    async fn read(mut output: OutputReader) -> String {
        let mut text = String::new();
        output.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn streams_end_with_shutdown_and_exit() {
        let home = tempfile::tempdir().unwrap();
        for streams in [StdioStreams::Sockets, StdioStreams::Pipes] {
            let mut running = start(streams, "cat; echo done >&2", home.path());
            running.stdin.write_all(b"one\ntwo\n").await.unwrap();
            running.stdin.shutdown().await.unwrap();
            drop(running.stdin);
            assert_eq!(read(running.stdout).await, "one\ntwo\n", "{streams:?}");
            assert_eq!(read(running.stderr).await, "done\n", "{streams:?}");
            assert!(running.child.wait().await.unwrap().success());
        }
    }

    #[tokio::test]
    async fn child_cannot_write_to_stdin_and_notices_closed_stdout() {
        let home = tempfile::tempdir().unwrap();
        let script = "trap '' PIPE; echo x >&0 2>/dev/null || echo refused; read -r go; yes 2>/dev/null; echo stopped >&2";
        let mut running = start(StdioStreams::Sockets, script, home.path());
        let mut first = [0; 8];
        running.stdout.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"refused\n");
        drop(running.stdout);
        running.stdin.write_all(b"go\n").await.unwrap();
        assert!(read(running.stderr).await.ends_with("stopped\n"));
    }

    #[tokio::test]
    async fn socket_stdin_does_not_make_bash_a_remote_shell() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".bashrc"), "echo from the start-up file\n").unwrap();
        for streams in [StdioStreams::Sockets, StdioStreams::Pipes] {
            let running = start(streams, "echo ready", home.path());
            assert_eq!(read(running.stdout).await, "ready\n", "{streams:?}");
        }
    }

    #[tokio::test]
    async fn asyncio_accepts_socket_stdout() {
        let home = tempfile::tempdir().unwrap();
        let script = r#"exec python3 -c '
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
asyncio.run(main())
'"#;
        let mut running = start(StdioStreams::Sockets, script, home.path());
        for line in ["first\n", "second\n"] {
            running.stdin.write_all(line.as_bytes()).await.unwrap();
            let mut back = vec![0; line.len()];
            running.stdout.read_exact(&mut back).await.unwrap();
            assert_eq!(back, line.as_bytes());
        }
        drop(running.stdin);
        assert_eq!(read(running.stdout).await, "");
        assert!(running.child.wait().await.unwrap().success());
    }
}
