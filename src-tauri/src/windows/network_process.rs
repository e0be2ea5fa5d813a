//! Ends WebKit's network process while there is no window. WebKit keeps it for as long as the program runs, with 16 MiB,
//! and starts another one for the next window. Pages keep nothing in it: they have no storage of their own, and their files
//! come from this program.

use std::fs;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tauri::{AppHandle, Manager};

use super::main_window;

/// A window that is opened again at once finds the process still there.
const DELAY: Duration = Duration::from_secs(1);

/// How the name of the process begins, of which the system keeps 15 characters.
const NAME: &str = "WebKitNetworkPr";

/// A window is gone. If it was the last one, the process ends a moment later.
pub(super) fn on_window_destroyed(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        tokio::time::sleep(DELAY).await;
        let handle = app.clone();
        // Windows are made by the main thread, so none is made meanwhile.
        let ended = app.run_on_main_thread(move || {
            if handle.webview_windows().is_empty() && !main_window::is_opening(&handle) {
                end();
            }
        });
        if let Err(error) = ended {
            tracing::debug!(%error, "the application ends");
        }
    });
}

fn end() {
    for process in children().into_iter().filter(|process| is_network_process(*process)) {
        match kill(process, Signal::SIGTERM) {
            Ok(()) => tracing::debug!(%process, "the network process was ended"),
            Err(Errno::ESRCH) => {}
            Err(error) => tracing::warn!(%error, "the network process was not ended"),
        }
    }
}

/// The child processes of this one.
fn children() -> Vec<Pid> {
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        // A thread may have ended.
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw));
    }
    found
}

fn is_network_process(process: Pid) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim_end() == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    #[test]
    fn finds_own_network_process_alone() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("WebKitNetworkProcess");
        fs::copy("/bin/cat", &program).unwrap();
        let mut network = start(&program);
        let mut other = start("/bin/cat".as_ref());
        let found: Vec<_> = children().into_iter().filter(|it| is_network_process(*it)).collect();
        assert_eq!(found, [Pid::from_raw(network.id().try_into().unwrap())]);
        end();
        assert!(!network.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// Starts a program that repeats its input, and waits for its answer: the system names a process only after it
    /// let its parent go on.
    fn start(program: &Path) -> Child {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b".").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }
}
