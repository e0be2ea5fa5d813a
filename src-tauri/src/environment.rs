//! Keeps others from steering the window through variables of the environment (PERM-16): web view
//! automation and remote inspectors could press **Allow**. Nothing here reads what a variable says.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// Beginnings of the names of variables that open the web view or the toolkit to other programs.
const STEERING: [&str; 5] = ["TAURI_", "WEBKIT_INSPECTOR", "WEBKIT_INJECTED", "WEBVIEW2_", "GTK_DEBUG"];

/// A build that finds such a variable starts again without it, since the toolkit's own threads and
/// libraries read the environment of the process. Only builds with the feature `test-door`, which no
/// release has, leave them. The answer is the exit code of this process, where it is to end.
pub(crate) fn restart_if_steered() -> Option<ExitCode> {
    if cfg!(feature = "test-door") {
        return None;
    }
    let found = steering(std::env::vars_os().map(|(name, _)| name));
    if found.is_empty() { None } else { Some(restart_without(&found)) }
}

/// The names among these that have to go.
fn steering(names: impl Iterator<Item = OsString>) -> Vec<OsString> {
    names.filter(|name| is_steering(name)).collect()
}

fn is_steering(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    STEERING.iter().any(|start| name.starts_with(start))
}

fn restart_without(names: &[OsString]) -> ExitCode {
    let failed = match std::env::current_exe() {
        Ok(program) => {
            let mut command = std::process::Command::new(program);
            command.args(std::env::args_os().skip(1));
            for name in names {
                command.env_remove(name);
            }
            match replace(command) {
                Ok(code) => return code,
                Err(error) => error,
            }
        }
        Err(error) => error,
    };
    eprintln!("Gatehouse does not run under remote control, and could not start without it: {failed}");
    ExitCode::FAILURE
}

/// Becomes the other program; comes back only with an error.
#[cfg(unix)]
fn replace(mut command: std::process::Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Runs the other program in this one's place.
#[cfg(not(unix))]
fn replace(mut command: std::process::Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automation_and_inspectors_are_found_and_nothing_else() {
        let names = [
            ("TAURI_AUTOMATION", true),
            ("TAURI_WEBVIEW_AUTOMATION", true),
            ("tauri_automation", true),
            ("WEBKIT_INSPECTOR_SERVER", true),
            ("WEBKIT_INSPECTOR_HTTP_SERVER", true),
            ("WEBVIEW2_ADDITIONAL_BROWSER_ARGUMENTS", true),
            ("GTK_DEBUG", true),
            ("PATH", false),
            ("HOME", false),
            ("WEBKIT_DISABLE_DMABUF_RENDERER", false),
            ("GTK_THEME", false),
            ("MY_TAURI_AUTOMATION", false),
        ];
        for (name, expected) in names {
            assert_eq!(steering([OsString::from(name)].into_iter()).len() == 1, expected, "{name}");
        }
    }

    /// Somebody starts it as a driver does. In its second life nothing of that is left.
    #[cfg(unix)]
    #[test]
    fn a_steered_start_becomes_one_that_nobody_steers() {
        const CHILD: &str = "GATEHOUSE_STEERED_CHILD";
        const FREE: &str = "nobody steers this";
        if std::env::var_os(CHILD).is_some() {
            let found = steering(std::env::vars_os().map(|(name, _)| name));
            if found.is_empty() {
                println!("{FREE}");
                return;
            }
            restart_without(&found);
            panic!("it came back");
        }
        let this = "environment::tests::a_steered_start_becomes_one_that_nobody_steers";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([this, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .envs([
                ("TAURI_AUTOMATION", "true"),
                ("TAURI_WEBVIEW_AUTOMATION", "true"),
                ("WEBKIT_INSPECTOR_SERVER", "127.0.0.1:9"),
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains(FREE), "{child:?}");
    }
}
