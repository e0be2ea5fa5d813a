//! When Gatehouse is killed, no child process is left. The test program plays three roles: the
//! test, the Gatehouse that is killed, and the guard.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::*;
use crate::processes::child::{ChildSpec, start};

const PARENT: &str = "GATEHOUSE_TEST_PARENT";
const GUARD: &str = "GATEHOUSE_TEST_GUARD";
const LONG: Duration = Duration::from_secs(30);

/// Entry point of the guard role.
#[test]
fn guard_part() {
    if let Ok(run) = std::env::var(GUARD) {
        run_guard(&run);
    }
}

/// Entry point of the Gatehouse role: starts two servers and waits to be killed.
#[test]
fn parent_part() {
    let Ok(folder) = std::env::var(PARENT) else { return };
    let folder = Path::new(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let run = Arc::new(ChildRun::new(Some(guard_program(folder))));
        let script = "sleep 1000 & echo $! >> PIDS; setsid sleep 1000 & echo $! >> PIDS; \
                      env -u GATEHOUSE_CHILD sleep 1000 & echo $! >> PIDS; trap '' TERM; echo $$ >> PIDS; \
                      while true; do sleep 1; done";
        let script = script.replace("PIDS", &folder.join("pids").display().to_string());
        let mut children = Vec::new();
        for _ in 0..2 {
            let spec = ChildSpec {
                program: "/bin/sh".into(),
                args: vec!["-c".to_owned(), script.clone()],
                env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
                cwd: folder.to_owned(),
                marker: run.marker(&ServerId::from("srv-test")),
                streams: Default::default(),
            };
            children.push(start(&spec, &run).await.unwrap());
        }
        std::fs::write(folder.join("ready"), "").unwrap();
        tokio::time::sleep(LONG * 2).await;
        drop(children);
    });
}

/// A program that runs the guard role of this test program.
fn guard_program(folder: &Path) -> PathBuf {
    let program = folder.join("guard");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = {ARGUMENT} ] || exit 1\nexec env {GUARD}=\"$2\" '{}' --exact processes::guard::tests::guard_part\n",
        std::env::current_exe().unwrap().display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < LONG, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn killed_gatehouse_leaves_no_children() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::guard::tests::parent_part", "--nocapture"])
        .env(PARENT, folder.path())
        .spawn()
        .unwrap();
    let pids = || -> Vec<String> {
        let text = std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    wait_until("eight processes", || pids().len() == 8 && folder.path().join("ready").exists());
    let pids = pids();
    assert!(pids.iter().all(|pid| alive(pid)));

    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("their end", || pids.iter().all(|pid| !alive(pid)));
}

#[tokio::test]
async fn guard_ends_on_shutdown_and_is_restarted_when_it_dies() {
    let folder = tempfile::tempdir().unwrap();
    let run = ChildRun::new(Some(guard_program(folder.path())));
    run.ensure_guard().await;
    run.report(i32::MAX, GroupChange::Started).await;
    let first = run.guard.lock().await.as_ref().unwrap().child.id().unwrap();
    run.ensure_guard().await;
    assert_eq!(run.guard.lock().await.as_ref().unwrap().child.id(), Some(first));

    let mut died = run.guard.lock().await;
    died.as_mut().unwrap().child.start_kill().unwrap();
    died.as_mut().unwrap().child.wait().await.unwrap();
    drop(died);
    run.ensure_guard().await;
    let guard = run.guard.lock().await;
    let second = guard.as_ref().unwrap();
    assert_ne!(second.child.id(), Some(first));
    assert!(second.groups.contains(&i32::MAX), "it is told of what the first one knew");
    drop(guard);
    tokio::time::timeout(LONG, run.shutdown()).await.unwrap();
    assert!(run.guard.lock().await.is_none());
}
