//! A real Gatehouse: `gatehousectl serve` in its own folder, and the user in front of it.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use gatehouse_app::control::ControlClient;
use gatehouse_model::{Secret, SystemClock, UserError, UserText};
use gatehouse_store::{Owner, Store, StoreOptions, open_vault};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tempfile::TempDir;

use crate::child_process::ChildProcess;
use crate::eventually::eventually;
use crate::pty::PtyProcess;
use crate::{administrator, paths};

/// The message of a failed server's status, or of an error, in English.
pub fn status_text(status: &Value) -> Result<String> {
    let text = serde_json::from_value::<UserText>(status["message"].clone());
    Ok(text.with_context(|| format!("no message in {status:#}"))?.to_string())
}

/// Runs commands of the core with the operator key.
#[derive(Clone)]
pub struct CommandRunner {
    data_dir: PathBuf,
    key: String,
}

impl CommandRunner {
    /// Runs a command.
    pub fn run(&self, name: &str, args: &Value) -> Result<Value> {
        let args = to_raw_value(args)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let client = ControlClient::connect(&self.data_dir).await?;
            let mut client = client.with_operator_key(Some(Secret::new(&*self.key)));
            let reply = client.run_raw(name, &args).await?;
            Ok(serde_json::from_str(reply.get())?)
        })
    }
}

/// Variables by which whoever runs the tests may have moved the settings of other applications.
pub(crate) const MOVED_SETTINGS: [&str; 10] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "CONTINUE_GLOBAL_DIR",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "CLINE_MCP_SETTINGS_PATH",
    "VSCODE_PORTABLE",
];

/// A running `gatehousectl serve`.
#[derive(Debug)]
pub struct Gatehouse {
    home: TempDir,
    serve: Option<ChildProcess>,
    has_administrator: bool,
    /// Address of the gateway.
    pub endpoint: String,
}

/// Shell scripts that run `gatehousectl`: with the operator key, the same with both output streams in
/// one, without the key.
const OPERATOR: &str = r#"exec 3<"$KEY"; exec "$0" --data-dir "$DATA" --operator-key-fd 3 "$@""#;
const OPERATOR_WITH_STDERR: &str =
    r#"exec 3<"$KEY" 2>&1; exec "$0" --data-dir "$DATA" --operator-key-fd 3 "$@""#;
const ANYONE: &str = r#"exec setsid "$0" --data-dir "$DATA" "$@""#;

/// Shell script that rotates the operator key.
const ROTATE: &str = r#"exec 3<"$KEY" 5>"$KEY.new"; "$0" --data-dir "$DATA" --operator-key-fd 3 operator-key rotate --new-key-fd 5 && mv "$KEY.new" "$KEY""#;

/// The passphrase of its vault.
pub const PASSPHRASE: &str = "correct horse battery staple";

impl Gatehouse {
    /// Starts on an empty data folder, with a vault for its secrets.
    pub fn start() -> Result<Self> {
        Self::start_with(|_| Ok(()))
    }

    /// Starts after the data folder was prepared by the closure.
    pub fn start_with(prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let mut gatehouse = Self::not_started()?;
        prepare(&gatehouse.data_dir())?;
        gatehouse.launch()?;
        Ok(gatehouse)
    }

    /// Starts on a simulated computer with a managed policy, which [`Gatehouse::administer`] writes.
    /// There is none at first. It runs in its own mount namespace, so the machine's own file is left
    /// alone.
    pub fn start_administered() -> Result<Self> {
        let mut gatehouse = Self::not_started()?;
        administrator::prepare(&gatehouse.computer())?;
        gatehouse.has_administrator = true;
        gatehouse.launch()?;
        Ok(gatehouse)
    }

    fn not_started() -> Result<Self> {
        let home = tempfile::Builder::new().prefix("gatehouse-test-").tempdir()?;
        fs::DirBuilder::new().mode(0o700).create(home.path().join("data"))?;
        Ok(Self { home, serve: None, has_administrator: false, endpoint: String::new() })
    }

    /// Starts as from a desktop entry: with this home folder, a login shell, and no other variables.
    pub fn start_bare(home: &Path) -> Result<Self> {
        let mut gatehouse = Self::not_started()?;
        let mut command = gatehouse.serve_command(&[])?;
        let kept: Vec<(String, std::ffi::OsString)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_owned())))
            .collect();
        command.env_clear().envs(kept).env("HOME", home);
        gatehouse.run(&mut command)?;
        Ok(gatehouse)
    }

    /// Starts for a user with an empty home folder, which is returned too, and the bus at this address with a keychain.
    pub fn start_for_user(bus: &str) -> Result<(Self, PathBuf)> {
        let mut gatehouse = Self::not_started()?;
        let home = gatehouse.folder("user")?;
        let home_text = home.to_str().context("the path is no text")?;
        let mut variables =
            vec![("HOME", home_text), ("DBUS_SESSION_BUS_ADDRESS", bus), ("XDG_CONFIG_HOME", "")];
        variables.extend(MOVED_SETTINGS.map(|name| (name, "")));
        gatehouse.launch_with_env(&variables)?;
        Ok((gatehouse, home))
    }

    /// Starts again after [`Gatehouse::stop`] or [`Gatehouse::kill`].
    pub fn launch(&mut self) -> Result<()> {
        self.launch_with(&[])
    }

    /// Starts again with more arguments for `serve`.
    pub fn launch_with(&mut self, more: &[&str]) -> Result<()> {
        let mut command = self.serve_command(more)?;
        self.run(&mut command)
    }

    /// Starts again with more variables in its environment.
    pub fn launch_with_env(&mut self, variables: &[(&str, &str)]) -> Result<()> {
        let mut command = self.serve_command(&[])?;
        command.envs(variables.iter().copied());
        self.run(&mut command)
    }

    /// Deletes the user's copy of the operator key. Returns it, for [`Gatehouse::restore_operator_key`].
    pub fn take_operator_key(&self) -> Result<String> {
        let known = fs::read_to_string(self.key_file())?;
        fs::remove_file(self.key_file())?;
        Ok(known)
    }

    /// Restores the user's copy of the operator key.
    pub fn restore_operator_key(&self, known: &str) -> Result<()> {
        Ok(fs::write(self.key_file(), known)?)
    }

    /// Rotates the operator key, and keeps the new one as the user's.
    pub fn rotate_key(&self) -> Result<()> {
        let output = self.ctl_script(ROTATE, &[])?.stdin(Stdio::null()).output()?;
        if output.status.success() { Ok(()) } else { bail!("the key was not rotated: {output:?}") }
    }

    fn run(&mut self, command: &mut Command) -> Result<()> {
        const NAME: &str = "gatehousectl serve";
        fs::write(self.passphrase_file(), PASSPHRASE)?;
        let mut serve = if self.has_administrator {
            let mut inside = administrator::on(&self.computer(), command)?;
            ChildProcess::start(NAME, inside.stderr(self.stderr_log()?))?
        } else {
            ChildProcess::start(NAME, command)?
        };
        let line = serve.next_line().with_context(|| format!("it doesn't start: {}", self.stderr()))?;
        let ready: Value = serde_json::from_str(&line).context("the ready line is not JSON")?;
        self.endpoint = ready["endpoint"].as_str().context("no endpoint in the ready line")?.to_owned();
        self.serve = Some(serve);
        Ok(())
    }

    /// The command that starts `serve` here: the vault's passphrase is read from descriptor 4, the
    /// operator key is written to descriptor 3 at the first start, and is valid for the later ones.
    pub fn serve_command(&self, more: &[&str]) -> Result<Command> {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(r#"exec 3>>"$KEY" 4<"$PASS"; exec "$0" serve --data-dir "$DATA" --secrets vault --operator-key-fd 3 --vault-passphrase-fd 4 "$@""#)
            .arg(paths::program("gatehousectl")?)
            .args(more)
            .env("KEY", self.key_file())
            .env("PASS", self.passphrase_file())
            .env("DATA", self.data_dir())
            // Gatehouse asks the login shell for its PATH; a developer's own start-up files are not
            // under test.
            .env("SHELL", "/bin/sh")
            .stderr(self.stderr_log()?);
        Ok(command)
    }

    /// Writes the managed policy of this computer; see [`Gatehouse::start_administered`].
    pub fn administer(&self, policy: &str) -> Result<()> {
        ensure!(self.has_administrator, "this computer has no administrator");
        let folder = administrator::folder(&self.computer());
        // Atomically, so that half a file is never read.
        fs::write(folder.join("new.json"), policy)?;
        Ok(fs::rename(folder.join("new.json"), folder.join("policy.json"))?)
    }

    /// Its data folder.
    pub fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The folder with everything of this Gatehouse: its data folder, its output, test files.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Opens the data folder with the user's passphrase while Gatehouse does not run.
    pub fn open_store(&self) -> Result<Store> {
        let dir = self.data_dir();
        let secrets = open_vault(&dir, &Secret::new(PASSPHRASE))?;
        Ok(Store::open(StoreOptions { dir, owner: Owner::Serve, secrets, clock: Arc::new(SystemClock) })?)
    }

    /// A folder beside the data folder for files of the test.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.home.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder.canonicalize()?)
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(self.stderr_file()).unwrap_or_default()
    }

    fn key_file(&self) -> PathBuf {
        self.home.path().join("operator-key")
    }

    fn passphrase_file(&self) -> PathBuf {
        self.home.path().join("passphrase")
    }

    fn stderr_file(&self) -> PathBuf {
        self.home.path().join("stderr.log")
    }

    fn stderr_log(&self) -> Result<File> {
        Ok(File::options().create(true).append(true).open(self.stderr_file())?)
    }

    /// The folder that replaces `/etc` if there is a managed policy.
    fn computer(&self) -> PathBuf {
        self.home.path().join("computer")
    }

    /// Process id of `serve`.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.serve.as_ref().context("not running")?.pid())
    }

    /// The operator key of this folder.
    pub fn operator_key(&self) -> Result<String> {
        Ok(fs::read_to_string(self.key_file())?.trim().to_owned())
    }

    /// Stops it as a user would, with SIGTERM.
    pub fn stop(&mut self) -> Result<()> {
        let mut serve = self.serve.take().context("not running")?;
        serve.signal("TERM")?;
        let status = serve.wait()?;
        if status.success() { Ok(()) } else { bail!("serve ended with {status}: {}", self.stderr()) }
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        let mut serve = self.serve.take().context("not running")?;
        serve.signal("KILL")?;
        serve.wait()?;
        Ok(())
    }

    /// Runs a `gatehousectl` command with the operator's key.
    pub fn run_as_operator(&self, words: &[&str]) -> Result<Output> {
        self.ctl(words, true)
    }

    /// Runs a `gatehousectl` command with the operator key and this variable in its environment.
    pub fn operator_in(&self, variable: (&str, &str), words: &[&str]) -> Result<Output> {
        let (name, value) = variable;
        Ok(self.ctl_command(words, true)?.env(name, value).stdin(Stdio::null()).output()?)
    }

    /// Runs a `gatehousectl` command without the key, as any program of the same user could.
    pub fn run_unprivileged(&self, words: &[&str]) -> Result<Output> {
        self.ctl(words, false)
    }

    /// Starts a long-running operator's command; its output on both streams can be read as it arrives.
    pub fn begin(&self, words: &[&str]) -> Result<ChildProcess> {
        let mut command = self.ctl_script(OPERATOR_WITH_STDERR, words)?;
        ChildProcess::start(&format!("gatehousectl {words:?}"), &mut command)
    }

    /// Starts an operator's command at a terminal.
    pub fn begin_at_terminal(&self, words: &[&str]) -> Result<PtyProcess> {
        PtyProcess::start(&mut self.ctl_script(OPERATOR, words)?)
    }

    /// Starts an operator's command at a terminal of its own, where it can ask for secrets.
    pub fn begin_at_own_terminal(&self, words: &[&str]) -> Result<PtyProcess> {
        let command = self.ctl_script(OPERATOR, words)?;
        let mut with_terminal = Command::new("setsid");
        with_terminal.arg("--ctty").arg(command.get_program()).args(command.get_args());
        with_terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        PtyProcess::start(&mut with_terminal)
    }

    /// Starts an operator's command at a terminal, with this variable in its environment.
    pub fn begin_at_terminal_in(&self, variable: (&str, &str), words: &[&str]) -> Result<PtyProcess> {
        let (name, value) = variable;
        PtyProcess::start(self.ctl_script(OPERATOR, words)?.env(name, value))
    }

    fn ctl(&self, words: &[&str], operator: bool) -> Result<Output> {
        Ok(self.ctl_command(words, operator)?.stdin(Stdio::null()).output()?)
    }

    fn ctl_command(&self, words: &[&str], operator: bool) -> Result<Command> {
        self.ctl_script(if operator { OPERATOR } else { ANYONE }, words)
    }

    fn ctl_script(&self, script: &str, words: &[&str]) -> Result<Command> {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(script)
            .arg(paths::program("gatehousectl")?)
            .args(words)
            .env("KEY", self.key_file())
            .env("DATA", self.data_dir())
            // Texts are compared in English, whatever language the tests are started in.
            .env("LC_ALL", "C.UTF-8");
        Ok(command)
    }

    /// What is wrong, in English and in one text.
    ///
    /// # Errors
    /// When the status can't be read.
    pub fn problems(&self) -> Result<String> {
        let problems: Vec<UserError> = serde_json::from_value(self.ask(&["status"])?["problems"].take())?;
        Ok(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    /// Runs an operator's command that has to succeed, and parses its JSON.
    pub fn ask(&self, words: &[&str]) -> Result<Value> {
        let mut all = vec!["--json"];
        all.extend_from_slice(words);
        let output = self.run_as_operator(&all)?;
        if !output.status.success() {
            bail!(
                "gatehousectl {words:?} failed: {}{}",
                String::from_utf8_lossy(&output.stderr),
                String::from_utf8_lossy(&output.stdout)
            );
        }
        let text = String::from_utf8(output.stdout)?;
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).with_context(|| format!("gatehousectl {words:?} printed {text}"))
    }

    /// Runs a command of the core with the operator key, as the windows do.
    pub fn command(&self, name: &str, args: &Value) -> Result<Value> {
        self.commands()?.run(name, args)
    }

    /// A handle that runs commands from other threads.
    pub fn commands(&self) -> Result<CommandRunner> {
        Ok(CommandRunner { data_dir: self.data_dir(), key: self.operator_key()? })
    }

    /// Adds a client and returns its token.
    pub fn add_client(&self, name: &str) -> Result<String> {
        let minted = self.ask(&["clients", "add", name])?;
        Ok(minted["token"].as_str().context("no token")?.to_owned())
    }

    /// Waits until a server has a status.
    pub fn await_status(&self, server: &str, state: &str) -> Result<Value> {
        eventually(format!("{server} to be {state}"), || {
            let servers = self.ask(&["servers", "list"])?;
            let found = servers
                .as_array()
                .into_iter()
                .flatten()
                .find(|entry| entry["config"]["name"] == server)
                .cloned()
                .unwrap_or(Value::Null);
            Ok(if found["status"]["state"] == state {
                Ok(found)
            } else {
                Err(format!("{found:#}\n{}", self.stderr()))
            })
        })
    }

    /// `gatehousectl approvals watch` as text.
    pub fn terminal(&self) -> Result<ApprovalTerminal> {
        let mut command = self.ctl_command(&["approvals", "watch"], true)?;
        Ok(ApprovalTerminal { watch: ChildProcess::start("approvals watch", &mut command)? })
    }

    /// `gatehousectl approvals watch` as JSON, used as the person who answers.
    pub fn person(&self) -> Result<Person> {
        let mut command = self.ctl_command(&["--json", "approvals", "watch"], true)?;
        Ok(Person { watch: ChildProcess::start("approvals watch", &mut command)? })
    }
}

/// The output of `approvals watch` as a person sees it.
#[derive(Debug)]
pub struct ApprovalTerminal {
    watch: ChildProcess,
}

impl ApprovalTerminal {
    /// The next approval request: its id and every line that was shown.
    pub fn next_approval(&mut self) -> Result<(String, Vec<String>)> {
        let mut shown = Vec::new();
        loop {
            let line = self.watch.next_line()?;
            // The last line of an approval request says how to answer it.
            let id = line.split_whitespace().find(|word| word.starts_with("ask-")).map(str::to_owned);
            shown.push(line);
            if let Some(id) = id
                && shown.last().is_some_and(|last| last.contains("allow") && last.contains("deny"))
            {
                return Ok((id, shown));
            }
        }
    }

    /// Types a line.
    pub fn write_line(&mut self, line: &str) -> Result<()> {
        self.watch.write_line(line)
    }
}

/// A person who watches the pending approvals and answers them.
#[derive(Debug)]
pub struct Person {
    watch: ChildProcess,
}

impl Person {
    /// The next approval request for a call.
    pub fn next_approval(&mut self) -> Result<Value> {
        let line = self.watch.wait_for_line(|line| line.contains(r#""request":"#))?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Answers an approval request in the syntax of `approvals watch`.
    pub fn answer(&mut self, question: &Value, words: &str) -> Result<()> {
        let id = question["id"].as_str().context("no id in the question")?;
        self.watch.write_line(&format!("{id} {words}"))
    }
}
