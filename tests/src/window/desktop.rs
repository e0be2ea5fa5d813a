//! A virtual desktop: an X server, a bus without services, a keychain that is unlocked from the start, a
//! window manager. All of them end when it is dropped.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::child_process::ChildProcess;
use crate::eventually::eventually_holds;
use crate::gatehouse::MOVED_SETTINGS;

/// A bus that starts no services.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:runtime=yes</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// The preferences of the application, below its home folder.
const PREFERENCES: &str = "data/app.gatehouse.desktop/preferences.json";

/// Position and size of the content of a window, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlace {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

#[derive(Debug)]
pub struct Desktop {
    bus: String,
    display: String,
    helpers: Vec<HelperProcess>,
    /// Bus and display, in the order in which they are stopped. They are asked to exit, so that they
    /// remove their sockets.
    servers: [ChildProcess; 2],
    home: TempDir,
    draws_as_for_users: bool,
    /// What programs get besides the variables of every desktop.
    variables: Vec<(&'static str, OsString)>,
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.helpers.clear();
        for server in &mut self.servers {
            if server.signal("TERM").and_then(|()| server.wait()).is_err() {
                // It is killed when it is dropped.
            }
        }
    }
}

/// A program that is killed when it is dropped.
#[derive(Debug)]
struct HelperProcess(Child);

impl Drop for HelperProcess {
    fn drop(&mut self) {
        if self.0.kill().and_then(|()| self.0.wait()).is_err() {
            // It has ended already.
        }
    }
}

impl Desktop {
    /// Starts a desktop.
    pub fn start() -> Result<Self> {
        let mut desktop = Self::without_keychain()?;
        desktop.keychain()?;
        Ok(desktop)
    }

    /// Starts a desktop without a keychain.
    pub fn without_keychain() -> Result<Self> {
        let home = tempfile::Builder::new().prefix("gatehouse-desktop-").tempdir()?;
        for folder in ["run", "data", "config", "cache", "tmp"] {
            fs::DirBuilder::new().mode(0o700).create(home.path().join(folder))?;
        }
        fs::write(home.path().join("bus.conf"), BUS)?;
        let mut server = Command::new("Xvfb");
        server.args(["-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]);
        let mut display = ChildProcess::start("Xvfb", server.stderr(Stdio::null()))?;
        let number = format!(":{}", display.next_line()?.trim());
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--nofork", "--print-address=1", "--config-file"]).arg(home.path().join("bus.conf"));
        daemon.env("XDG_RUNTIME_DIR", home.path().join("run"));
        let mut bus = ChildProcess::start("dbus-daemon", &mut daemon)?;
        let address = bus.next_line()?;
        let servers = [bus, display];
        // The pages are tested as after the first steps.
        let preferences = home.path().join(PREFERENCES);
        fs::create_dir_all(preferences.parent().context("no folder")?)?;
        fs::write(preferences, r#"{"preferences":{"firstRunDone":true}}"#)?;
        let mut desktop = Self {
            bus: address,
            display: number,
            helpers: Vec::new(),
            servers,
            home,
            draws_as_for_users: false,
            variables: Vec::new(),
        };
        desktop.window_manager()?;
        Ok(desktop)
    }

    /// A command that runs on this desktop.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let home = self.home.path();
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus)
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("GDK_BACKEND", "x11")
            .env("LANG", "C.UTF-8")
            // A developer's own start-up files are not under test.
            .env("SHELL", "/bin/sh")
            // These lead to a developer's own desktop.
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("SESSION_MANAGER")
            .env_remove("GNOME_KEYRING_CONTROL")
            .env_remove("GATEHOUSE_DATA_DIR")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(home);
        for moved in MOVED_SETTINGS {
            command.env_remove(moved);
        }
        if self.draws_as_for_users {
            command.env("WEBKIT_DISABLE_DMABUF_RENDERER", "1");
        }
        command
    }

    /// Lets pages be drawn with the processor, as the application does unless a test drives it: what it is started with stays
    /// then. Not for tests: WebKitGTK leaves WebDriver's request for a screenshot unanswered while such a page stands still.
    pub fn draw_as_for_users(&mut self) {
        self.draws_as_for_users = true;
    }

    /// Sets a variable for the programs that are started from now on.
    pub fn set_variable(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Starts a program that belongs to the desktop and ends with it, and waits until it has taken its name on the bus.
    pub fn start_service(&mut self, command: &mut Command, name: &str) -> Result<()> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let program = command.get_program().to_string_lossy().into_owned();
        self.helpers.push(HelperProcess(child.context(program)?));
        eventually_holds(format!("the service {name}"), || self.has_owner(name))
    }

    /// Stores something as the preferences of the application, which must not be running.
    pub fn store_preferences(&self, stored: &serde_json::Value) -> Result<()> {
        Ok(fs::write(self.home.path().join(PREFERENCES), stored.to_string())?)
    }

    /// Makes the next start of the application a first one, which begins with the first steps.
    pub fn forget_first_steps(&self) -> Result<()> {
        Ok(fs::remove_file(self.home.path().join(PREFERENCES))?)
    }

    /// The address of its bus.
    pub fn bus(&self) -> &str {
        &self.bus
    }

    /// The name of its display.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The data folder of the application on this desktop.
    pub fn data_dir(&self) -> PathBuf {
        self.home.path().join("data/gatehouse")
    }

    /// The home folder, with everything that programs on this desktop write.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A folder for files of the test.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.home.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder.canonicalize()?)
    }

    /// Takes a screenshot of the whole screen.
    pub fn screenshot(&self, file: &Path) -> Result<()> {
        let status = self.command("scrot").arg("--overwrite").arg(file).status().context("scrot")?;
        ensure!(status.success(), "no picture of the screen");
        Ok(())
    }

    /// The name of the window with the keyboard focus; empty if none has it.
    pub fn focused_window(&self) -> Result<String> {
        self.xdotool(&["getactivewindow", "getwindowname"])
    }

    /// Whether a window with this name is visible.
    pub fn is_visible(&self, name: &str) -> Result<bool> {
        Ok(!self.xdotool(&["search", "--onlyvisible", "--name", &format!("^{name}$")])?.is_empty())
    }

    /// Waits until a window with this name is visible, or is not.
    pub fn until_visible(&self, name: &str, wanted: bool) -> Result<()> {
        let what = format!("the window {name} to be visible: {wanted}");
        eventually_holds(what, || Ok(self.is_visible(name)? == wanted))
    }

    /// Where the visible window with this name is.
    pub fn place_of(&self, name: &str) -> Result<WindowPlace> {
        let window = self.xdotool(&["search", "--onlyvisible", "--name", &format!("^{name}$")])?;
        let printed = self.xdotool(&["getwindowgeometry", "--shell", &window])?;
        let figure = |of: &str| -> Result<i32> {
            let line = printed.lines().find_map(|line| line.strip_prefix(of)?.strip_prefix('='));
            Ok(line.with_context(|| format!("no {of} in {printed:?}"))?.parse()?)
        };
        Ok(WindowPlace {
            x: figure("X")?,
            y: figure("Y")?,
            width: figure("WIDTH")?,
            height: figure("HEIGHT")?,
        })
    }

    /// Runs `xdotool`, and returns its output.
    pub fn xdotool(&self, words: &[&str]) -> Result<String> {
        let output = self.command("xdotool").args(words).stderr(Stdio::null()).output().context("xdotool")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn keychain(&mut self) -> Result<()> {
        let mut command = self.command("gnome-keyring-daemon");
        command.args(["--foreground", "--unlock", "--components=secrets"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("gnome-keyring-daemon")?;
        child.stdin.take().context("no input")?.write_all(b"secret of nobody")?;
        self.helpers.push(HelperProcess(child));
        eventually_holds("the keychain", || self.has_owner("org.freedesktop.secrets"))
    }

    fn window_manager(&mut self) -> Result<()> {
        let start = || self.command("openbox").stderr(Stdio::null()).spawn().context("openbox");
        let mut child = start()?;
        eventually_holds("the window manager", || {
            // A window manager that starts together with the display may find it not ready, and exits.
            if child.try_wait()?.is_some() {
                child = start()?;
            }
            Ok(self.output_of("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"])?.contains("window id"))
        })?;
        self.helpers.push(HelperProcess(child));
        Ok(())
    }

    fn has_owner(&self, name: &str) -> Result<bool> {
        let ask = ["--session", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/"];
        let what = ["org.freedesktop.DBus.NameHasOwner", &format!("string:{name}")].map(str::to_owned);
        let words: Vec<&str> = ask.into_iter().chain(what.iter().map(String::as_str)).collect();
        Ok(self.output_of("dbus-send", &words)?.contains("true"))
    }

    fn output_of(&self, program: &str, words: &[&str]) -> Result<String> {
        let output = self.command(program).args(words).output().with_context(|| program.to_owned())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
