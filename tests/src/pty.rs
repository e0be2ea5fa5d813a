//! A program at a pseudo-terminal, as a person at the keyboard sees it. Dropping it kills the program.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use nix::pty::openpty;
use parking_lot::Mutex;

use crate::eventually::eventually;

#[derive(Debug)]
pub struct PtyProcess {
    child: Child,
    keyboard: File,
    /// Everything that was printed, what was typed included.
    shown: Arc<Mutex<String>>,
    /// How much of it was looked at.
    read_to: usize,
}

impl PtyProcess {
    /// Starts a program whose standard streams are a terminal.
    pub fn start(command: &mut Command) -> Result<Self> {
        let pty = openpty(None, None)?;
        let child = command
            .stdin(Stdio::from(pty.slave.try_clone()?))
            .stdout(Stdio::from(pty.slave.try_clone()?))
            .stderr(Stdio::from(pty.slave))
            .spawn()
            .context("the program could not be started")?;
        // The command holds the other end open.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let shown = Arc::new(Mutex::new(String::new()));
        let (screen, seen) = (File::from(pty.master.try_clone()?), Arc::clone(&shown));
        std::thread::spawn(move || follow(screen, &seen));
        Ok(Self { child, keyboard: File::from(pty.master), shown, read_to: 0 })
    }

    /// Waits until this is shown, and returns what was shown since the last wait up to its end.
    pub fn wait_for(&mut self, text: &str) -> Result<String> {
        let from = self.read_to;
        let (to, seen) = eventually(format!("“{text}” at the terminal"), || {
            let shown = self.shown.lock();
            let rest = &shown[from..];
            Ok(match rest.find(text) {
                Some(at) => Ok((from + at + text.len(), rest[..at + text.len()].to_owned())),
                None => Err(rest.to_owned()),
            })
        })?;
        self.read_to = to;
        Ok(seen)
    }

    /// Types a line and Enter.
    pub fn write_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.keyboard, "{line}")?;
        Ok(())
    }

    /// Waits for the program to end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        eventually("the end of the program", || {
            Ok(self.child.try_wait()?.ok_or_else(|| self.shown.lock().clone()))
        })
    }

    /// Presses Ctrl+C, where the terminal is the program's own; else sends what it would send.
    pub fn interrupt(&mut self) -> Result<()> {
        let status = Command::new("kill").arg("-INT").arg(self.child.id().to_string()).status()?;
        ensure!(status.success(), "kill failed");
        Ok(())
    }
}

impl Drop for PtyProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Collects what is printed until the terminal is closed.
fn follow(mut screen: File, shown: &Mutex<String>) {
    let mut undecoded = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        undecoded.extend_from_slice(&buffer[..count]);
        // A character may be cut by the end of the buffer.
        let valid = match std::str::from_utf8(&undecoded) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = undecoded.split_off(valid);
        shown.lock().push_str(&String::from_utf8_lossy(&undecoded));
        undecoded = rest;
    }
}
