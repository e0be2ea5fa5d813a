//! What is sent over the bus of a desktop, as `dbus-monitor` prints it.

use anyhow::{Result, bail};

use super::desktop::Desktop;
use crate::child_process::ChildProcess;

#[derive(Debug)]
pub struct BusMonitor(ChildProcess);

impl BusMonitor {
    /// Listens to the messages that a rule of the bus selects, and waits until it does.
    pub fn start(desktop: &Desktop, rule: &str) -> Result<Self> {
        let mut command = desktop.command("dbus-monitor");
        command.args(["--session", rule]);
        let mut program = ChildProcess::start("dbus-monitor", &mut command)?;
        // A monitor loses its own name on the bus as its first message.
        program.wait_for_line(|line| line.contains("member=NameLost"))?;
        Ok(Self(program))
    }

    /// Waits until each of these values was seen, in any order: members of a message have none.
    pub fn wait_for_values(&mut self, wanted: &[&str]) -> Result<()> {
        let mut missing = wanted.to_vec();
        while !missing.is_empty() {
            let line = self.0.wait_for_line(|line| missing.iter().any(|value| line.ends_with(value)));
            match line {
                Ok(line) => missing.retain(|value| !line.ends_with(value)),
                Err(error) => bail!("{missing:?} was not sent: {error}"),
            }
        }
        Ok(())
    }
}
