//! Starts the desktop app beside this program, once per bridge: an app that the user quits later stays so.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Name of the desktop app's program.
const PROGRAM: &str = "gatehouse";

pub(super) struct AppStart {
    program: Option<PathBuf>,
    /// The app, which is not ended with this program.
    child: Option<Child>,
}

impl AppStart {
    /// Starts nothing.
    pub(super) fn never() -> Self {
        Self { program: None, child: None }
    }

    /// Starts the app if it is installed beside this program.
    pub(super) fn beside_this_program() -> Self {
        let this = std::env::current_exe().ok();
        let program =
            this.map(|this| this.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)));
        Self { program: program.filter(|program| program.is_file()), child: None }
    }

    /// Starts the app, the first time. Returns what happened, for the log.
    pub(super) fn start(&mut self) -> Option<String> {
        let program = self.program.take()?;
        let mut command = Command::new(&program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // AI clients end the process group of a server that they stop.
        #[cfg(unix)]
        command.process_group(0);
        match command.spawn() {
            Ok(child) => {
                self.child = Some(child);
                Some(format!("started {}", program.display()))
            }
            Err(error) => Some(format!("{} can't be started: {error}", program.display())),
        }
    }
}
