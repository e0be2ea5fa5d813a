//! A child process whose standard output is read line by line with a deadline. Must never leave its
//! process behind: dropping it kills the child.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::eventually::eventually;

pub use crate::eventually::TEST_TIMEOUT;

/// A running child process and the lines that it printed.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: VecDeque<String>,
}

impl ChildProcess {
    /// Starts a command with piped standard input and output.
    pub fn start(name: &str, command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no standard output")?;
        let lines = follow(stdout);
        Ok(Self { name: name.to_owned(), child, stdin, lines, seen: VecDeque::new() })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line.
    pub fn next_line(&mut self) -> Result<String> {
        match self.lines.recv_timeout(TEST_TIMEOUT) {
            Ok(line) => {
                self.seen.push_back(line.clone());
                if self.seen.len() > 40 {
                    self.seen.pop_front();
                }
                Ok(line)
            }
            Err(RecvTimeoutError::Timeout) => {
                bail!("{} said nothing more; last lines: {:#?}", self.name, self.seen)
            }
            Err(RecvTimeoutError::Disconnected) => {
                bail!("{} ended its output; last lines: {:#?}", self.name, self.seen)
            }
        }
    }

    /// Reads until a line satisfies the predicate, and returns it.
    pub fn wait_for_line(&mut self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < deadline {
            let line = self.next_line()?;
            if wanted(&line) {
                return Ok(line);
            }
        }
        Err(anyhow!("{} never said what was waited for; last lines: {:#?}", self.name, self.seen))
    }

    /// Writes one line to the child.
    pub fn write_line(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("standard input is closed")?;
        writeln!(stdin, "{line}")?;
        stdin.flush()?;
        Ok(())
    }

    /// Closes the child's standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the child to end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let Self { name, child, .. } = self;
        eventually(format!("the end of {name}"), || Ok(child.try_wait()?.ok_or("it runs")))
    }

    /// Sends a signal by its name (`TERM`, `KILL`, …).
    pub fn signal(&self, signal: &str) -> Result<()> {
        let status = Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status()?;
        if status.success() { Ok(()) } else { bail!("kill -{signal} {} failed", self.pid()) }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

fn follow(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
