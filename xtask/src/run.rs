//! Sets up, builds and opens Gatehouse; on a machine without a display, in a virtual one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::places::Places;
use crate::process::{cargo, program, run as run_program, say};
use crate::{setup, ui};

pub(crate) fn run(places: &Places, arguments: &[String]) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    say("Building Gatehouse");
    run_program(cargo(&places.root).args(["build", "--package", "gatehouse"]))?;
    let gatehouse = places.program("debug", "gatehouse")?;
    say("Gatehouse");
    if has_display() {
        return run_program(program(gatehouse, &places.root).args(arguments));
    }
    let display = VirtualDisplay::start(&places.root)?;
    println!("No display here: Gatehouse runs on the virtual display {}.", display.name);
    println!("To see it: x11vnc -localhost -display {} and then a VNC viewer on port 5900.", display.name);
    let session = HeadlessSession::new(places)?;
    println!("It keeps everything in {}, and secrets in memory.", session.data_dir.display());
    run_program(session.command(&places.root).arg(gatehouse).args(arguments).env("DISPLAY", &display.name))
}

fn has_display() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// Where there is no display there is no keychain that somebody could unlock: a bus without services,
/// and a data folder of its own, so that what another session sealed is left alone.
struct HeadlessSession {
    folder: tempfile::TempDir,
    data_dir: PathBuf,
}

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

impl HeadlessSession {
    fn new(places: &Places) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("bus.conf"), BUS)?;
        let named = std::env::var_os("GATEHOUSE_DATA_DIR").filter(|value| !value.is_empty());
        let data_dir = named.map_or_else(|| places.cache.join("headless-data"), PathBuf::from);
        Ok(Self { folder, data_dir })
    }

    /// Runs what is added to it inside the session.
    fn command(&self, root: &Path) -> Command {
        let mut command = program("dbus-run-session", root);
        command.arg("--config-file").arg(self.folder.path().join("bus.conf")).arg("--");
        command.env("GATEHOUSE_DATA_DIR", &self.data_dir);
        command
    }
}

/// An X server without a screen. Ends when it is dropped.
struct VirtualDisplay {
    name: String,
    server: Child,
}

impl VirtualDisplay {
    fn start(root: &Path) -> Result<Self> {
        let Some(number) = (90..200).find(|number| !lock(*number).exists() && !socket(*number).exists())
        else {
            bail!("no free number for a virtual display");
        };
        let name = format!(":{number}");
        let server = program("Xvfb", root)
            .args([name.as_str(), "-screen", "0", "1280x900x24", "-nolisten", "tcp"])
            .spawn()
            .context("cannot start Xvfb")?;
        let mut display = Self { name, server };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !socket(number).exists() {
            if let Some(status) = display.server.try_wait()? {
                bail!("Xvfb ended at once ({status})");
            }
            if Instant::now() > deadline {
                bail!("Xvfb did not get ready");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(display)
    }
}

impl Drop for VirtualDisplay {
    fn drop(&mut self) {
        if self.server.kill().and_then(|()| self.server.wait()).is_err() {
            eprintln!("Xvfb on {} could not be stopped", self.name);
        }
    }
}

fn lock(number: u32) -> PathBuf {
    format!("/tmp/.X{number}-lock").into()
}

fn socket(number: u32) -> PathBuf {
    format!("/tmp/.X11-unix/X{number}").into()
}
