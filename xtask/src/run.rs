//! Sets up, builds and opens Gatehouse; on a machine without a display, on a virtual one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run as run_program};
use crate::{setup, ui};

pub(crate) fn run(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    print_step("Building Gatehouse");
    run_program(cargo(&paths.root).args(["build", "--package", "gatehouse"]))?;
    let gatehouse = paths.program("debug", "gatehouse")?;
    print_step("Gatehouse");
    if has_display() {
        return run_program(program(gatehouse, &paths.root).args(arguments));
    }
    let display = VirtualDisplay::start(&paths.root)?;
    println!("No display here: Gatehouse runs on the virtual display {}.", display.name);
    println!("To see it: x11vnc -localhost -display {} and then a VNC viewer on port 5900;", display.name);
    println!("or a picture of it: scrot -D {} gatehouse.png", display.name);
    let session = HeadlessSession::new(paths)?;
    println!("It keeps everything in {}, secrets in a keychain of its own there.", session.home.display());
    run_program(session.command(&paths.root).arg(gatehouse).args(arguments).env("DISPLAY", &display.name))
}

fn has_display() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// Without a display a keychain cannot be unlocked by hand, so the session has its own message bus and
/// its own keychain, unlocked from the start, separate from those of other sessions. Its data outlives
/// the session.
struct HeadlessSession {
    folder: tempfile::TempDir,
    home: PathBuf,
}

/// Unlocks the keychain, starts a window manager if there is one, and replaces itself by the program.
const SESSION_SCRIPT: &str = r#"printf gatehouse | gnome-keyring-daemon --unlock --components=secrets >/dev/null
command -v openbox >/dev/null && openbox &
exec "$@""#;

const BUS_CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
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
    fn new(paths: &WorkspacePaths) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("bus.conf"), BUS_CONFIG)?;
        let home = paths.cache.join("headless");
        std::fs::create_dir_all(&home)?;
        Ok(Self { folder, home })
    }

    /// A command inside the session; the program to run is appended to it.
    fn command(&self, root: &Path) -> Command {
        let mut command = program("dbus-run-session", root);
        command.arg("--config-file").arg(self.folder.path().join("bus.conf"));
        command.args(["--", "sh", "-c", SESSION_SCRIPT, "sh"]);
        command.env("XDG_DATA_HOME", &self.home).env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }
}

/// A virtual X server. It is stopped when dropped.
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
