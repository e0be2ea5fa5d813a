//! An agent names paths on a file system that hangs, as a network share does when its server is gone.
//! Each test states what was tried and what stopped it.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use gatehouse_tests::{approvals, paths};
use serde_json::{Value, json};

/// A Gatehouse, and a share that can hang. Notes may be added without approval if their text is a path
/// in the folder that contains both the share and `files`, and may be listed.
struct PathsTestbed {
    gatehouse: Gatehouse,
    token: String,
    files: PathBuf,
    share: PathBuf,
}

impl PathsTestbed {
    fn start() -> Result<Self> {
        let mut gatehouse = Gatehouse::start()?;
        let (files, share) = (gatehouse.folder("files")?, gatehouse.folder("share")?);
        let library = gatehouse.home().join("hanging_paths.so");
        let source = paths::tests_dir().join("c/hanging_paths.c");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status()?;
        ensure!(built.success(), "the library that hangs was not built: {built}");
        gatehouse.stop()?;
        gatehouse.launch_with_env(&[("LD_PRELOAD", text(&library)?), ("HANGING", text(&share)?)])?;
        gatehouse.await_status("Notes", "connected")?;
        let inside = format!("text inside {}", text(files.parent().context("no folder")?)?);
        gatehouse.ask(&["policy", "grant", "Notes", "--tool", "add_note", "--when", &inside])?;
        gatehouse.ask(&["policy", "grant", "Notes", "--tool", "list_notes"])?;
        let token = gatehouse.add_client("agent")?;
        Ok(Self { gatehouse, token, files, share })
    }

    /// From now on, every lookup of a path in the share blocks.
    fn hang(&self) -> Result<()> {
        let made = Command::new("mkfifo").arg(self.share.join("gate")).status()?;
        ensure!(made.success(), "the gate was not made: {made}");
        Ok(())
    }

    /// The share responds again, also to blocked lookups, at the latest when the returned file is
    /// dropped.
    fn answer(&self) -> Result<File> {
        let open = self.share.join("open");
        fs::rename(self.share.join("gate"), &open)?;
        Ok(File::options().write(true).open(open)?)
    }

    fn call(&self, tool: &str, arguments: &str) -> BackgroundCall {
        BackgroundCall::call(&self.gatehouse.endpoint, &self.token, tool, arguments)
    }

    /// Starts to add a note that is a path.
    fn note(&self, path: &Path) -> BackgroundCall {
        self.call("add_note", &json!({ "text": path }).to_string())
    }

    /// Whether a note that is a path is added without approval. An approval request is denied.
    fn passes(&self, path: &Path) -> Result<bool> {
        let call = self.note(path);
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !call.is_finished() {
            let pending = self.gatehouse.ask(&["approvals", "list"])?;
            if let Some(question) = pending.get(0) {
                self.deny(std::slice::from_ref(question))?;
                break;
            }
            ensure!(Instant::now() < deadline, "the call neither ran nor asked");
        }
        Ok(!call.end()?.body.contains(r#""isError":true"#))
    }

    fn deny(&self, questions: &[Value]) -> Result<()> {
        let denied = json!({ "answer": "deny", "choice": approvals::once_choice(), "reason": null });
        let answers: Vec<Value> = questions
            .iter()
            .map(|asked| json!({ "id": asked["id"], "hash": asked["request"]["hash"], "answer": denied }))
            .collect();
        self.gatehouse.command("approvals.answer", &json!({ "answers": answers }))?;
        Ok(())
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("path")
}

/// Tried: to block everything with calls whose paths are never resolved, more of them than there are
/// threads, and to get such a call through because its path is unknown. Stopped by: paths are resolved
/// separately, on few threads and with a short time limit. A path that is unknown then needs approval.
#[test]
fn it_names_paths_that_are_never_looked_up_to_the_end() -> Result<()> {
    const CALLS: usize = 48;
    let scene = PathsTestbed::start()?;
    ensure!(scene.passes(&scene.files.join("a"))?, "a path in the folder asks");
    ensure!(scene.passes(&scene.share.join("a"))?, "a path in the share asks before it hangs");

    scene.hang()?;
    let calls: Vec<BackgroundCall> =
        (0..CALLS).map(|index| scene.note(&scene.share.join(format!("slow-{index}")))).collect();
    let questions = approvals::wait_for_pending(&scene.gatehouse, CALLS)?;
    let listed = scene.call("list_notes", "{}").end()?;
    ensure!(!listed.body.contains("slow-"), "one of the calls ran: {listed:?}");
    ensure!(!listed.body.contains(r#""isError":true"#), "another call does not go on: {listed:?}");
    // A new rule makes all pending calls be judged again.
    scene.gatehouse.ask(&["policy", "deny", "Notes", "--tool", "delete_note"])?;
    // A person can allow such a call as it is.
    approvals::allow(
        &scene.gatehouse,
        &questions[0]["id"],
        &questions[0]["request"]["hash"],
        &approvals::once_choice(),
    )?;
    scene.deny(&questions[1..])?;
    let mut ran = 0;
    for call in calls {
        ran += usize::from(!call.end()?.body.contains(r#""isError":true"#));
    }
    ensure!(ran == 1, "{ran} of the calls ran");

    // Nothing of it is left behind.
    let _open = scene.answer()?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    for path in [scene.share.join("slow-1"), scene.files.join("b")] {
        while !scene.passes(&path)? {
            ensure!(Instant::now() < deadline, "{path:?} asks although nothing hangs any more");
        }
    }
    Ok(())
}

/// Tried: to evade a block of a folder with a path that cannot be resolved. Stopped by: a block applies
/// unless its condition is known not to match.
#[test]
fn it_gets_round_a_block_by_a_path_that_hangs() -> Result<()> {
    let scene = PathsTestbed::start()?;
    let blocked = format!("text inside {}", text(&scene.files)?);
    scene.gatehouse.ask(&["policy", "deny", "Notes", "--tool", "add_note", "--when", &blocked])?;
    ensure!(scene.passes(&scene.share.join("a"))?, "a path beside the folder is blocked");
    scene.hang()?;
    let end = scene.note(&scene.share.join("b")).end()?;
    ensure!(end.body.contains(r#""isError":true"#) && end.body.contains("block"), "{end:?}");
    ensure!(approvals::wait_for_pending(&scene.gatehouse, 0)?.is_empty(), "somebody was asked");
    Ok(())
}

/// Tried: to keep Gatehouse from stopping. Stopped by: it does not wait for lookups that hang.
#[test]
fn it_keeps_gatehouse_from_ending() -> Result<()> {
    let mut scene = PathsTestbed::start()?;
    scene.hang()?;
    let call = scene.note(&scene.share.join("a"));
    approvals::wait_for_pending(&scene.gatehouse, 1)?;
    scene.gatehouse.stop()?;
    // Whether it was answered or cut off: it did not run, and it has ended.
    if let Ok(end) = call.end() {
        ensure!(end.body.contains(r#""isError":true"#), "{end:?}");
    }
    Ok(())
}
