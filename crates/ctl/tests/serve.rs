//! `gatehousectl` as it is run: the ready line, the operator key, exit codes, and that nothing is left.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const PROGRAM: &str = env!("CARGO_BIN_EXE_gatehousectl");

struct ServeProcess {
    home: TempDir,
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    ready: Value,
}

impl ServeProcess {
    /// Starts with the operator key on descriptor 3 and no terminal.
    fn start(words: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), words)
    }

    /// As `start`, in a home of which `data` may be there already.
    fn start_in(home: TempDir, words: &str) -> Self {
        let script =
            format!(r#"exec 3>"$HOMEDIR/key"; exec setsid "$0" serve --data-dir "$HOMEDIR/data" {words}"#);
        let mut child = Command::new("sh")
            .args(["-c", &script, PROGRAM])
            .env("HOMEDIR", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(home.path().join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let said = fs::read_to_string(home.path().join("stderr")).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}, stderr: {said}"));
        Self { home, child, out, ready }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.home.path().join("stderr")).unwrap()
    }

    fn key(&self) -> String {
        fs::read_to_string(self.home.path().join("key")).unwrap().trim().to_owned()
    }

    fn ctl(&self, operator: bool, words: &[&str]) -> Output {
        let redirect = if operator { r#"exec 3<"$KEY"; "# } else { "" };
        let flag = if operator { "--operator-key-fd 3" } else { "" };
        let script = format!(r#"{redirect}exec setsid -w "$0" --data-dir "$DATA" {flag} "$@""#);
        Command::new("sh")
            .args(["-c", &script, PROGRAM])
            .args(words)
            .env("KEY", self.home.path().join("key"))
            .env("DATA", self.data())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.ctl(true, &[&["--json"], words].concat());
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.ready["pid"].to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    fn stop(&mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        wait(&mut self.child)
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal("KILL");
            self.child.wait().unwrap();
        }
    }
}

/// Looks again and again until something is there.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn wait(child: &mut Child) -> ExitStatus {
    eventually("the end of the program", || child.try_wait().unwrap())
}

/// Processes whose command line holds a text.
fn processes(mark: &str) -> usize {
    let holds = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    fs::read_dir("/proc").unwrap().flatten().filter(holds).count()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn stdout_contains_only_ready_line() {
    let mut serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    assert!(serve.ready["endpoint"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{}", serve.ready);
    assert_eq!(Path::new(serve.ready["dataDir"].as_str().unwrap()), serve.data());
    assert_eq!(serve.ready.as_object().unwrap().len(), 3);
    let key = serve.key();
    assert_eq!(key.len(), 43, "256 bits in base64url");
    assert!(serve.ctl(false, &["status"]).status.success());
    assert_eq!(serve.stop("TERM").code(), Some(0));
    let mut rest = String::new();
    serve.out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(!serve.ready.to_string().contains(&key) && !serve.stderr().contains(&key), "the key was printed");
    assert!(
        serve.stderr().contains("last only until"),
        "it does not say what memory means: {}",
        serve.stderr()
    );
    assert!(!serve.data().join("control.sock").exists());
}

#[test]
fn signals_stop_server_and_children() {
    for signal in ["TERM", "INT"] {
        let mut serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
        let mark = format!("mark-{signal}-{}", serve.home.path().file_name().unwrap().to_str().unwrap());
        let script = format!("sleep 600 # {mark}");
        serve.json(&["servers", "add", "sleeper", "--", "sh", "-c", &format!("{script}\ntrue")]);
        eventually("the child", || (processes(&mark) > 0).then_some(()));
        assert_eq!(serve.stop(signal).code(), Some(0), "{}", serve.stderr());
        assert_eq!(processes(&mark), 0, "a child was left");
    }
}

#[test]
fn without_key_sink_nothing_can_be_approved() {
    let mut serve = ServeProcess::start("--secrets memory");
    assert!(serve.stderr().contains("nothing can be approved"), "{}", serve.stderr());
    assert_eq!(serve.ctl(false, &["clients", "add", "x"]).status.code(), Some(4));
    assert_eq!(serve.ctl(false, &["approvals", "watch"]).status.code(), Some(4));
    assert_eq!(serve.stop("TERM").code(), Some(0));
}

#[test]
fn exit_codes_match_errors() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    for (operator, words, code) in [
        (false, &["status"][..], 0),
        (false, &["servers", "frobnicate"], 2),
        (true, &["servers", "add", "x"], 2),
        (false, &["servers", "stop", "nobody"], 1),
        (false, &["servers", "add", "x", "--", "true"], 4),
        (false, &["resume"], 4),
        (true, &["resume"], 0),
        (true, &["approvals", "answer", "ask-0", "allow"], 1),
        (true, &["approvals", "answer", "ask-0", "perhaps"], 2),
        (false, &["audit", "verify"], 0),
        (false, &["completions", "bash"], 0),
    ] {
        let output = serve.ctl(operator, words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        assert_eq!(output.status.success(), output.stderr.is_empty(), "{words:?}: {output:?}");
    }
    let nowhere = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM).arg("--data-dir").arg(nowhere.path()).arg("status").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn errors_are_in_the_language_of_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    for (words, said) in [
        (&["servers", "reset"][..], "请加 --yes 确认。"),
        (&["status"], "没有 Gatehouse 在使用"),
        (&["serve", "--secrets", "memory", "--operator-key-fd", "1"], "操作员密钥须写入单独的描述符"),
    ] {
        let output = Command::new(PROGRAM)
            .arg("--data-dir")
            .arg(home.path().join("data"))
            .args(words)
            .env("LC_ALL", "zh_CN.UTF-8")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{words:?}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{words:?}: {output:?}");
    }
}

#[test]
fn start_errors_are_explained() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    let other = tempfile::tempdir().unwrap();
    let taken = serve.ready["endpoint"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    let start = |words: &[&str], dir: &Path| {
        Command::new(PROGRAM)
            .arg("serve")
            .args(words)
            .arg("--data-dir")
            .arg(dir)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for (words, dir, said) in [
        (&["--secrets", "memory"][..], serve.data(), "in use"),
        (&["--secrets", "memory", "--listen", &taken], other.path().to_owned(), &taken),
        (&["--secrets", "memory", "--listen", "0.0.0.0:0"], other.path().to_owned(), "loopback"),
        (&["--secrets", "memory", "--operator-key-fd", "1"], other.path().to_owned(), "descriptor"),
        (&["--secrets", "memory", "--operator-key-fd", "77"], other.path().to_owned(), "77"),
    ] {
        let output = start(words, &dir);
        assert!(!output.status.success() && output.stdout.is_empty(), "{words:?}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{words:?}: {output:?}");
    }
}

#[test]
fn script_answers_tool_call_approval() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    let minted = serve.json(&["clients", "add", "Script"]);
    fs::write(serve.home.path().join("token"), minted["token"].as_str().unwrap()).unwrap();
    let mut watch = Command::new("sh")
        .args([
            "-c",
            r#"exec 3<"$KEY"; exec "$0" --data-dir "$DATA" --operator-key-fd 3 --json approvals watch"#,
            PROGRAM,
        ])
        .env("KEY", serve.home.path().join("key"))
        .env("DATA", serve.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = watch.stdin.take().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let call = |text: &str| {
        Command::new("sh")
            .args([
                "-c",
                r#"exec 3<"$TOKEN"; exec "$0" --data-dir "$DATA" call add_note --token-fd 3 "$1""#,
                PROGRAM,
                text,
            ])
            .env("TOKEN", serve.home.path().join("token"))
            .env("DATA", serve.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let tools = || serve.json(&["tools", "list", "--server", "Notes"]);
    eventually("tools", || (!tools().as_array().unwrap().is_empty()).then_some(()));
    let mut next_request = || -> Value {
        loop {
            let line = lines.next().unwrap().unwrap();
            if line.contains(r#""request":"#) {
                return serde_json::from_str(&line).unwrap();
            }
        }
    };

    let calling = call("text=buy milk");
    let asked = next_request();
    assert_eq!(asked["request"]["client"]["name"], "Script");
    assert_eq!(asked["request"]["arguments"][0]["text"], r#""buy milk""#);
    writeln!(answers, "{} allow", asked["id"].as_str().unwrap()).unwrap();
    let output = calling.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let calling = call(r#"{"text":"secret plans"}"#);
    let asked = next_request();
    writeln!(answers, "{} deny not on this machine", asked["id"].as_str().unwrap()).unwrap();
    let output = calling.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(text(&output.stdout).contains("not on this machine"), "{output:?}");

    let audit = text(&serve.ctl(false, &["audit"]).stdout);
    for said in ["allowed by the operator add_note of Notes", "denied by the operator add_note of Notes"] {
        assert!(audit.contains(said), "{audit}");
    }

    // When Gatehouse goes, the watch says so and ends.
    let mut serve = serve;
    assert_eq!(serve.stop("TERM").code(), Some(0));
    assert_eq!(wait(&mut watch).code(), Some(3));
}

#[test]
fn makes_empty_folder_private_and_rejects_used_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |dir: &Path| fs::metadata(dir).unwrap().permissions().mode() & 0o777;
    let open_to_others = |dir: &Path| {
        fs::create_dir(dir).unwrap();
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let home = tempfile::tempdir().unwrap();
    open_to_others(&home.path().join("data"));
    let serve = ServeProcess::start_in(home, "--secrets memory --operator-key-fd 3");
    assert_eq!(mode(&serve.data()), 0o700);
    assert!(serve.ctl(false, &["status"]).status.success());

    let other = tempfile::tempdir().unwrap();
    let dir = other.path().join("data");
    open_to_others(&dir);
    fs::write(dir.join("letters"), "of mine").unwrap();
    let output = Command::new(PROGRAM)
        .args(["serve", "--secrets", "memory", "--data-dir"])
        .arg(&dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("chmod 700") && said.contains("another folder"), "{said}");
    assert_eq!(mode(&dir), 0o755);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing was put there");
}

#[test]
fn prints_server_log_and_test_report() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    let script = r"echo one >&2; printf 't\033[31mwo\n' >&2; sleep 600";
    serve.json(&["servers", "add", "talking", "--", "sh", "-c", script]);
    let shown = || text(&serve.ctl(false, &["servers", "log", "talking"]).stdout);
    let words = eventually("two lines of the log", || Some(shown()).filter(|log| log.lines().count() >= 2));
    let first = words.lines().next().unwrap();
    assert!(first.ends_with("  one") && !words.contains('\u{1b}'), "{words:?}");
    assert_eq!(serve.json(&["servers", "log", "talking"])[0]["text"], "one");
    assert_eq!(serve.ctl(false, &["servers", "log", "nobody"]).status.code(), Some(1));

    let tested = serve.ctl(true, &["servers", "test", "tried", "--builtin", "notes"]);
    let tested = text(&tested.stdout);
    let marked =
        |name: &str| tested.lines().find(|line| line.contains(name)).map(|line| line.contains("reads"));
    assert_eq!((marked("add_note"), marked("search_notes")), (Some(false), Some(true)), "{tested}");
}

#[test]
fn switches_mcp_off_and_on() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    assert!(serve.ctl(false, &["servers", "off"]).status.success());
    assert_eq!(serve.json(&["status"])["switchedOn"], false);
    let status = serve.ctl(false, &["status"]);
    assert!(text(&status.stdout).contains("MCP is off"), "{status:?}");
    let servers = serve.json(&["servers", "list"]);
    assert!(servers.as_array().is_some_and(|servers| !servers.is_empty()), "{servers}");
    for server in servers.as_array().unwrap() {
        assert_eq!(server["status"]["state"], "stopped", "{server}");
    }
    let started = serve.ctl(true, &["servers", "start", "Time"]);
    assert!(text(&started.stderr).contains("gatehousectl servers on"), "{started:?}");
    assert_eq!(serve.ctl(false, &["servers", "on"]).status.code(), Some(4));
    assert!(serve.ctl(true, &["servers", "on"]).status.success());
    assert_eq!(serve.json(&["status"])["switchedOn"], true);
    let audit = serve.ctl(false, &["audit"]);
    assert!(text(&audit.stdout).contains("settings: MCP switched off"), "{audit:?}");
}

#[test]
fn sets_autostart_and_confirms_reset() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    let list = || serve.json(&["servers", "list"]);
    let one = |name: &str| {
        let list = list();
        list.as_array().unwrap().iter().find(|server| server["config"]["name"] == name).cloned().unwrap()
    };
    eventually("the connection of Notes", || (one("Notes")["status"]["state"] == "connected").then_some(()));
    let since = one("Notes")["status"]["since"].clone();
    for (word, wanted) in [("off", false), ("on", true), ("off", false)] {
        assert_eq!(serve.json(&["servers", "autostart", "Notes", word])["config"]["autostart"], wanted);
    }
    assert_eq!(one("Notes")["status"]["since"], since, "it reconnected");
    assert_eq!(serve.ctl(false, &["servers", "autostart", "Notes", "on"]).status.code(), Some(4));
    assert_eq!(serve.ctl(true, &["servers", "autostart", "nobody", "on"]).status.code(), Some(1));

    serve.json(&["servers", "add", "More", "--builtin", "time"]);
    assert_eq!(serve.ctl(true, &["servers", "reset"]).status.code(), Some(2));
    assert_eq!(serve.ctl(false, &["servers", "reset", "--yes"]).status.code(), Some(4));
    assert_eq!(list().as_array().unwrap().len(), 3);
    assert_eq!(serve.json(&["servers", "reset", "--yes"]).as_array().unwrap().len(), 2);
    assert_eq!(one("Notes")["config"]["autostart"], true);
}

#[test]
fn sets_retention_settings_separately() {
    let serve = ServeProcess::start("--secrets memory --operator-key-fd 3");
    let show = || {
        let set = serve.json(&["settings", "show"]);
        (set["auditDays"].as_u64(), set["activityDays"].as_u64(), set["activityCalls"].as_u64())
    };
    assert_eq!(show(), (None, Some(90), Some(1_000_000)));
    for (words, code) in [
        (&["settings", "set"][..], 2),
        (&["settings", "set", "--audit-days", "soon"], 2),
        (&["settings", "set", "--audit-days", "6"], 1),
        (&["settings", "set", "--activity-days", "0"], 1),
    ] {
        assert_eq!(serve.ctl(true, words).status.code(), Some(code), "{words:?}");
    }
    assert_eq!(serve.ctl(false, &["settings", "set", "--audit-days", "7"]).status.code(), Some(4));
    assert_eq!(show(), (None, Some(90), Some(1_000_000)));
    serve.json(&["settings", "set", "--audit-days", "30", "--activity-calls", "500"]);
    serve.json(&["settings", "set", "--activity-days", "10"]);
    assert_eq!(show(), (Some(30), Some(10), Some(500)));
    serve.json(&["settings", "set", "--audit-days", "forever"]);
    assert_eq!(show(), (None, Some(10), Some(500)));
    let words = serve.ctl(false, &["settings", "show"]);
    assert!(text(&words.stdout).contains("kept forever"), "{words:?}");
}
