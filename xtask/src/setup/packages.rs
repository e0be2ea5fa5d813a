//! System packages, through the package manager of the machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{output, program, run, succeeds};

/// A package manager and the packages that Gatehouse needs from it.
struct PackageManager {
    /// Name of the program, used to detect the manager.
    name: &'static str,
    /// Refreshes the package lists, if that is necessary.
    refresh: Option<&'static [&'static str]>,
    /// Installs; the package names are appended.
    install: &'static [&'static str],
    /// Queries whether one package is installed; its name is appended.
    query: &'static [&'static str],
    /// What the output of the query starts with if the package is installed; empty if the exit code says
    /// it.
    installed_prefix: &'static str,
    packages: &'static [&'static str],
}

/// In the order of detection.
const MANAGERS: [PackageManager; 4] = [
    PackageManager {
        name: "apt-get",
        refresh: Some(&["apt-get", "update"]),
        install: &["apt-get", "install", "--yes", "--no-install-recommends"],
        query: &["dpkg-query", "--show", "--showformat=${db:Status-Status}"],
        installed_prefix: "installed",
        packages: &[
            "build-essential",
            "pkg-config",
            "libwebkit2gtk-4.1-dev",
            "libgtk-3-dev",
            "librsvg2-dev",
            "xvfb",
            "xauth",
            "dbus",
            "gnome-keyring",
            // What the bundler reads its path from.
            "libayatana-appindicator3-dev",
            "python3-venv",
            "chromium",
            "webkit2gtk-driver",
            "openbox",
            "dunst",
            "xdotool",
            "x11-utils",
            "scrot",
        ],
    },
    PackageManager {
        name: "dnf",
        refresh: None,
        install: &["dnf", "install", "--assumeyes"],
        query: &["rpm", "--query"],
        installed_prefix: "",
        packages: &[
            "gcc",
            "pkgconf-pkg-config",
            "webkit2gtk4.1-devel",
            "gtk3-devel",
            "librsvg2-devel",
            "xorg-x11-server-Xvfb",
            "dbus-daemon",
            "dbus-tools",
            "gnome-keyring",
            "libayatana-appindicator-gtk3-devel",
            "chromium",
            "webkit2gtk-driver",
            "openbox",
            "dunst",
            "xdotool",
            "xprop",
            "scrot",
        ],
    },
    PackageManager {
        name: "pacman",
        refresh: None,
        install: &["pacman", "--sync", "--refresh", "--needed", "--noconfirm"],
        query: &["pacman", "--query"],
        installed_prefix: "",
        packages: &[
            "base-devel",
            "pkgconf",
            "webkit2gtk-4.1",
            "gtk3",
            "librsvg",
            "xorg-server-xvfb",
            "dbus",
            "gnome-keyring",
            "libayatana-appindicator",
            "chromium",
            "openbox",
            "dunst",
            "xdotool",
            "xorg-xprop",
            "scrot",
        ],
    },
    PackageManager {
        name: "brew",
        refresh: None,
        install: &["brew", "install"],
        query: &["brew", "list", "--versions"],
        installed_prefix: "",
        packages: &["pkgconf"],
    },
];

/// Installs missing packages.
pub(crate) fn install(root: &Path) -> Result<()> {
    if cfg!(windows) {
        println!("On Windows the WebView2 runtime and the Visual Studio build tools have to be installed.");
        return Ok(());
    }
    let Some(manager) = MANAGERS.iter().find(|manager| exists(manager.name, root)) else {
        println!("No package manager that this task knows; going on with what is installed.");
        return Ok(());
    };
    let missing: Vec<&str> =
        manager.packages.iter().copied().filter(|package| !is_installed(manager, package, root)).collect();
    if missing.is_empty() {
        println!("System packages: all installed");
        return Ok(());
    }
    println!("System packages that are missing: {}", missing.join(" "));
    if let Some(refresh) = manager.refresh {
        run(&mut privileged(manager, refresh, root)?)?;
    }
    run(privileged(manager, manager.install, root)?.args(&missing))
}

fn exists(name: &str, root: &Path) -> bool {
    succeeds(program(name, root).arg("--version"))
}

fn is_installed(manager: &PackageManager, package: &str, root: &Path) -> bool {
    let Some((query, arguments)) = manager.query.split_first() else { return false };
    let answer = program(query, root).args(arguments).arg(package).output();
    answer.is_ok_and(|answer| {
        answer.status.success() && answer.stdout.starts_with(manager.installed_prefix.as_bytes())
    })
}

/// A command that may need root. Homebrew refuses to run as root.
fn privileged(manager: &PackageManager, words: &[&str], root: &Path) -> Result<Command> {
    let is_privileged = manager.name == "brew" || output(program("id", root).arg("-u"))?.trim() == "0";
    let mut all = Vec::new();
    if !is_privileged {
        if !exists("sudo", root) {
            bail!("this has to be run as root, and there is no sudo: {} …", words.join(" "));
        }
        all.extend(["sudo", "--preserve-env=DEBIAN_FRONTEND"]);
    }
    all.extend_from_slice(words);
    let Some((first, rest)) = all.split_first() else { bail!("no command") };
    let mut command = program(first, root);
    command.args(rest).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}
