//! Runs other programs; prints each command line first.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The feature that lets tests drive the real windows; bundles are built without it.
pub(crate) const TEST_DOOR: [&str; 2] = ["--features", "gatehouse/test-door"];

/// Prints the heading of the next step, and how long the ones before took. A run that is ended from outside says by it
/// what it was at.
pub(crate) fn print_step(what: &str) {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let seconds = BEGUN.elapsed().as_secs();
    println!("\n== {what} ({}:{:02})", seconds / 60, seconds % 60);
}

/// A program that runs in a folder.
pub(crate) fn program(name: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder);
    command
}

/// The cargo that runs this task.
pub(crate) fn cargo(folder: &Path) -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), folder)
}

/// npm, a script with another name on Windows.
pub(crate) fn npm(folder: &Path) -> Command {
    program(if cfg!(windows) { "npm.cmd" } else { "npm" }, folder)
}

/// Prints and runs a command; fails if the command fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = display_command(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if status.success() { Ok(()) } else { bail!("`{line}` failed ({status})") }
}

/// A command that runs beside others, for what they leave of the processors. What it prints is kept in a
/// file until it is waited for.
#[must_use = "it has to be waited for"]
pub(crate) struct Background {
    line: String,
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts a command line with the lowest priority, where the system has `nice`.
    pub(crate) fn start(words: &[&OsStr], folder: &Path, log: PathBuf) -> Result<Self> {
        let [name, arguments @ ..] = words else { bail!("there is no command to start") };
        let mut command = if cfg!(unix) {
            let mut nice = program("nice", folder);
            nice.args(["-n", "19"]).arg(name);
            nice
        } else {
            program(name, folder)
        };
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let line = display_command(&command);
        println!("$ {line} (beside what follows)");
        let child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        Ok(Self { line, child, log })
    }

    /// Waits for its end; if the command fails, prints what it printed and fails.
    pub(crate) fn wait(mut self) -> Result<()> {
        let status = self.child.wait()?;
        println!("$ {}", self.line);
        if status.success() {
            return Ok(());
        }
        print!("{}", String::from_utf8_lossy(&fs::read(&self.log)?));
        bail!("`{}` failed ({status})", self.line)
    }
}

/// Runs a command silently and returns whether it succeeded; false if the program does not exist.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// The standard output of a command.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = display_command(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not write UTF-8"))
}

fn display_command(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        line.push(' ');
        // Scripts are left out.
        line.push_str(if argument.contains('\n') { "…" } else { &argument });
    }
    line
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn background(script: &str, log: PathBuf) -> Result<Background> {
        let words = ["sh", "-c", script].map(OsStr::new);
        Background::start(&words, Path::new("."), log)
    }

    #[test]
    fn keeps_what_a_background_command_prints_and_reports_its_failure() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        background("echo out; echo err >&2", log.clone())?.wait()?;
        assert_eq!(fs::read_to_string(&log)?, "out\nerr\n");
        let error = background("exit 3", log)?.wait().unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        Ok(())
    }
}
