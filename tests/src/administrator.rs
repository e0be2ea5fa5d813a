//! A simulated computer with a managed policy: a program runs in its own mount namespace and finds a
//! folder of the test at `/etc/gatehouse`. Must never change the machine's own `/etc`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Options of `unshare` for a mount namespace: as root, and as another user if the machine allows it.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];

/// Shell commands run in the namespace before the program starts: the first folder is bound to the
/// machine's `/etc`, and the second one replaces `/etc`.
const ENTER: &str = r#"mount --rbind /etc "$0" && mount --rbind "$1" /etc && shift && exec "$@""#;

/// Names of these two folders.
const BEFORE: &str = "before";
const ETC: &str = "etc";

/// The folder that the program finds at `/etc/gatehouse`.
pub(crate) fn folder(computer: &Path) -> PathBuf {
    computer.join(ETC).join("gatehouse")
}

/// Prepares the program's `/etc`: the machine's entries except `gatehouse`, which is an empty folder.
pub(crate) fn prepare(computer: &Path) -> Result<()> {
    let (before, etc) = (computer.join(BEFORE), computer.join(ETC));
    fs::create_dir_all(&before)?;
    fs::create_dir_all(folder(computer))?;
    for entry in fs::read_dir("/etc")? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str() == Some("gatehouse") {
            continue;
        }
        // A link may be relative to its location.
        let is_link = entry.file_type()?.is_symlink();
        let target = if is_link { fs::read_link(entry.path())? } else { before.join(&name) };
        symlink(target, etc.join(&name))?;
    }
    Ok(())
}

/// The same command in the namespace. Its standard streams have to be set again.
pub(crate) fn on(computer: &Path, command: &Command) -> Result<Command> {
    let mut inside = Command::new("unshare");
    inside
        .args(way()?)
        .args(["--", "/bin/sh", "-c", ENTER])
        .arg(computer.join(BEFORE))
        .arg(computer.join(ETC))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    Ok(inside)
}

/// The first way that works on this machine. The test fails if there is none, since its subject was not
/// tested then.
fn way() -> Result<&'static [&'static str]> {
    for way in WAYS {
        let tried = Command::new("unshare")
            .args(way)
            .args(["--", "mount", "--rbind", "/etc", "/etc"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("unshare, which is part of util-linux")?;
        if tried.success() {
            return Ok(way);
        }
    }
    bail!(
        "NOT TESTED: this machine allows no mount namespace, neither by `unshare --mount` nor by \
         `unshare --map-root-user --mount`, so no administrator's policy file can be put before Gatehouse"
    )
}
