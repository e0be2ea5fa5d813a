//! The steps of an application: what it does with a Gatehouse of its own, in a home folder of its own. It runs with few
//! variables, and reaches nothing but this computer.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::applications::{AddServer, Application, ApplicationStep, MODEL, PROGRAM, SECRET};
use crate::approvals;
use crate::child_process::ChildProcess;
use crate::eventually::eventually;
use crate::fixture_server::{FixtureServer, ServerTransport, add, logged_calls};
use crate::gatehouse::Gatehouse;
use crate::paths;
use crate::window::Desktop;

/// The entry of Gatehouse in settings of applications.
const ENTRY: &str = "gatehouse";
/// What stands in settings that have the entry or a rule for it, and in no path of a test.
const OF_GATEHOUSE: [&str; 4] = ["gatehousectl", "mcp__gatehouse", "gatehouse_*", "--client="];
/// The tool that is called, what it is given, and what it answers.
const TOOL: &str = "write_note";
const NOTE: &str = "from a real application";
const RESULT: &str = "kept";
/// The value of a secret in the settings of an application.
const SECRET_VALUE: &str = "s3cret-of-the-application";
/// The server that is imported.
const IMPORTED: &str = "imported";

/// Leads to a port of this computer at which nobody listens.
const NO_NETWORK: [(&str, &str); 6] = [
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("http_proxy", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("https_proxy", "http://127.0.0.1:9"),
    ("NO_PROXY", "127.0.0.1,localhost"),
    ("no_proxy", "127.0.0.1,localhost"),
];

/// The bytes of the settings files, in their order; `None` where there is no file.
type SettingsFiles = Vec<Option<Vec<u8>>>;

/// All steps of one application.
#[derive(Debug)]
pub struct ApplicationRow {
    pub application: &'static str,
    /// The version that it says it has; `None` if it could not be started.
    pub version: Option<String>,
    /// What became of the steps that were tried. None comes after one that failed.
    pub outcomes: Vec<(ApplicationStep, Result<()>)>,
}

impl ApplicationRow {
    /// Takes the steps one after the other, with a Gatehouse of its own.
    #[must_use]
    pub fn run(application: &'static Application, desktop: &Desktop) -> Self {
        let mut row = Self { application: application.name, version: None, outcomes: Vec::new() };
        let mut trial = match ApplicationTrial::start(application, desktop) {
            Ok(trial) => trial,
            Err(error) => {
                let outcome = Err(error.context("it could not be started"));
                row.outcomes.push((ApplicationStep::Restore, outcome));
                return row;
            }
        };
        row.version = Some(trial.version.clone());
        let can_be_tried =
            |step: &ApplicationStep| !application.cannot_be_tried.iter().any(|(other, _)| other == step);
        for step in ApplicationStep::ALL.into_iter().filter(can_be_tried) {
            let outcome = trial.run(step);
            let has_failed = outcome.is_err();
            row.outcomes.push((step, outcome));
            if has_failed {
                break;
            }
        }
        row
    }

    /// The failures, as text.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.outcomes.iter().filter_map(move |(step, outcome)| {
            let error = outcome.as_ref().err()?;
            Some(format!("{} {step:?}: {error:#}", self.application))
        })
    }
}

/// An application in front of a Gatehouse with one server.
struct ApplicationTrial<'a> {
    application: &'static Application,
    /// What it says that it is.
    version: String,
    desktop: &'a Desktop,
    gatehouse: Gatehouse,
    _server: FixtureServer,
    home: PathBuf,
    /// The messages that the server received.
    log: PathBuf,
    model: ChildProcess,
    model_address: String,
    /// The client that it is connected as.
    client: Option<String>,
    /// The settings before it was connected, and right after that.
    before: SettingsFiles,
    written: SettingsFiles,
}

impl<'a> ApplicationTrial<'a> {
    /// Starts everything and runs the application once, so that its settings have what it writes into them by itself.
    fn start(application: &'static Application, desktop: &'a Desktop) -> Result<Self> {
        let (gatehouse, home) = Gatehouse::start_for_user(desktop.bus())?;
        let log = gatehouse.folder("log")?.join("messages");
        let words = ["--log", log.to_str().context("the path is no text")?];
        let server = add(&gatehouse, "fixture", ServerTransport::Stdio, &words)?;
        let (model, model_address) = start_model()?;
        let mut trial = Self {
            application,
            version: application.version()?,
            desktop,
            gatehouse,
            _server: server,
            home,
            log,
            model,
            model_address,
            client: None,
            before: Vec::new(),
            written: Vec::new(),
        };
        if let Some(settings) = application.settings {
            trial.write_settings(&settings.replace(MODEL, &trial.model_address))?;
        }
        if let Some(words) = application.set_up {
            trial.run_filled(words, &[(MODEL, trial.model_address.as_str())])?;
        }
        let said = trial.run_application(&["--version"])?;
        ensure!(said.contains(&trial.version), "{} was to be started, not {said}", trial.version);
        ensure!(trial.listed()?.is_none(), "it lists Gatehouse before it is connected");
        trial.before = trial.settings()?;
        Ok(trial)
    }

    fn run(&mut self, step: ApplicationStep) -> Result<()> {
        match step {
            ApplicationStep::Restore => self.restores(),
            ApplicationStep::List => self.lists(),
            ApplicationStep::Call => self.calls(),
            ApplicationStep::Disconnect => self.disconnects(),
            ApplicationStep::Import => self.imports(),
        }
    }

    fn restores(&mut self) -> Result<()> {
        self.connect()?;
        ensure!(self.written != self.before, "nothing was written");
        self.disconnect()?;
        let after = self.settings()?;
        let text = |files: &SettingsFiles| files.iter().map(shown).collect::<Vec<_>>();
        ensure!(after == self.before, "{:#?} became {:#?}", text(&self.before), text(&after));
        self.connect()
    }

    fn lists(&self) -> Result<()> {
        let command = self.application.list.as_ref().context("it has no command for that")?;
        let line = self.listed()?.context("it doesn't list Gatehouse")?;
        ensure!(line.contains(command.connected), "it isn't connected: {line}");
        Ok(())
    }

    fn calls(&mut self) -> Result<()> {
        let running = self.begin(self.application.ask)?;
        let pending = approvals::wait_for_pending(&self.gatehouse, 1);
        let question = pending.with_context(|| running.output())?.remove(0);
        let request = &question["request"];
        ensure!(request["client"]["name"].as_str() == self.client.as_deref(), "{request:#}");
        approvals::allow(&self.gatehouse, &question["id"], &request["hash"], &approvals::once_choice())?;
        let output = running.finish()?;
        let result = self.next_result().with_context(|| output.clone())?;
        ensure!(result.contains(RESULT), "its model read {result}; {output}");
        let runs = logged_calls(&self.log, NOTE);
        ensure!(runs == 1, "the tool ran {runs} times; {output}");
        let view = self.view()?;
        ensure!(view["state"] == "connected" && view["client"]["says"].is_string(), "{view:#}");
        Ok(())
    }

    fn disconnects(&mut self) -> Result<()> {
        let used = self.settings()?;
        self.disconnect()?;
        let after = self.settings()?;
        for (at, file) in after.iter().enumerate() {
            // It may have written its settings itself since; that stays.
            if used.get(at) == self.written.get(at) {
                ensure!(Some(file) == self.before.get(at), "{} is not as before", shown(file));
            }
            let left = OF_GATEHOUSE.iter().find(|part| contains(file.as_deref(), part));
            ensure!(left.is_none(), "{left:?} is left in {}", shown(file));
        }
        ensure!(self.listed()?.is_none(), "it still lists Gatehouse");
        Ok(())
    }

    fn imports(&mut self) -> Result<()> {
        let program = paths::program("fixture-server")?;
        let program = program.to_str().context("the path is no text")?;
        self.add_server(program)?;
        let settings = self.settings()?;
        ensure!(
            settings.first().is_some_and(|file| contains(file.as_deref(), program)),
            "it was added to another file than {:?}",
            self.application.files
        );
        let outcomes = self.gatehouse.ask(&["servers", "import", self.application.name])?;
        let imported = outcomes.as_array().map(Vec::as_slice).unwrap_or_default();
        ensure!(
            matches!(imported, [only] if only["name"] == IMPORTED && only["problem"].is_null()),
            "{outcomes:#}"
        );
        let view = self.gatehouse.await_status(IMPORTED, "connected")?;
        if settings.iter().any(|file| contains(file.as_deref(), SECRET_VALUE)) {
            ensure!(view["config"]["transport"]["env"]["API_KEY"] == "${secret:API_KEY}", "{view:#}");
            let kept = fs::read(self.gatehouse.data_dir().join("servers.json"))?;
            ensure!(!contains(Some(&kept), SECRET_VALUE), "the secret is in servers.json");
        }
        ensure!(self.settings()? == settings, "importing changed the application's settings");
        Ok(())
    }

    /// Adds a server to the application's settings, as its user would.
    fn add_server(&mut self, program: &str) -> Result<()> {
        match self.application.add {
            AddServer::Command(words) => {
                let secret = format!("API_KEY={SECRET_VALUE}");
                self.run_filled(words, &[(PROGRAM, program), (SECRET, secret.as_str())])?;
            }
            AddServer::ByHand(text) => {
                let help = self.run_application(&["--help"])?;
                let has_command = help.lines().any(|line| line.trim_start().starts_with("mcp"));
                ensure!(!has_command, "it has a command for servers now, which is to be used: {help}");
                let before = self.before.first().cloned().flatten().unwrap_or_default();
                let added = text.replace(PROGRAM, program).replace(SECRET, SECRET_VALUE);
                self.write_settings(&format!("{}{added}", String::from_utf8(before)?))?;
                let output = self.run_application(self.application.ask)?;
                let result = self.next_result().with_context(|| output.clone())?;
                ensure!(result.contains(RESULT), "its model read {result}; {output}");
            }
        }
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        let mut words = vec!["clients", "connect", self.application.name];
        words.extend(self.application.has_allow_rule.then_some("--allow-rule"));
        let connected = self.gatehouse.ask(&words)?;
        self.client = connected["client"]["name"].as_str().map(str::to_owned);
        self.written = self.settings()?;
        Ok(())
    }

    fn disconnect(&self) -> Result<()> {
        self.gatehouse.ask(&["clients", "disconnect", self.application.name])?;
        Ok(())
    }

    /// Gatehouse's view of the application.
    fn view(&self) -> Result<Value> {
        let views = self.gatehouse.ask(&["clients", "apps"])?;
        let mut views = views.as_array().into_iter().flatten();
        views.find(|view| view["app"] == self.application.name).cloned().context("no such application")
    }

    fn settings(&self) -> Result<SettingsFiles> {
        let read = |file: &&str| -> Result<Option<Vec<u8>>> {
            match fs::read(self.home.join(file)) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        self.application.files.iter().map(read).collect()
    }

    fn write_settings(&self, text: &str) -> Result<()> {
        let file = self.home.join(self.application.files.first().context("it has no settings")?);
        fs::create_dir_all(file.parent().context("the file is in no folder")?)?;
        Ok(fs::write(file, text)?)
    }

    /// The line in which the application lists Gatehouse.
    fn listed(&self) -> Result<Option<String>> {
        let Some(command) = &self.application.list else { return Ok(None) };
        let output = self.run_application(command.words)?;
        let names_it = |line: &&str| line.split_whitespace().any(|word| word.trim_end_matches(':') == ENTRY);
        Ok(output.lines().find(names_it).map(str::to_owned))
    }

    /// The next result of a tool that the model reads.
    fn next_result(&mut self) -> Result<String> {
        self.model.wait_for_line(|line| line.starts_with(r#"{"result""#))
    }

    /// Runs the application to its end, and returns what it printed.
    fn run_application(&self, words: &[&str]) -> Result<String> {
        self.begin(words)?.finish()
    }

    /// The same for words with places that are filled.
    fn run_filled(&self, words: &[&str], values: &[(&str, &str)]) -> Result<String> {
        let fill = |word: &&str| {
            values.iter().fold((*word).to_owned(), |filled, (place, value)| filled.replace(*place, value))
        };
        let filled: Vec<String> = words.iter().map(fill).collect();
        self.run_application(&filled.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn begin(&self, words: &[&str]) -> Result<RunningApplication> {
        let output = self.gatehouse.folder("output")?.join("application");
        let file = File::create(&output)?;
        let mut command = self.command(words)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        RunningApplication::start(&mut command, output)
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let node = paths::compat_node()?;
        let folders =
            [node.parent().context("Node.js is in no folder")?, Path::new("/usr/bin"), Path::new("/bin")];
        let mut command = Command::new(self.application.program()?);
        command
            .args(words)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::join_paths(folders)?)
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("TMPDIR", self.gatehouse.folder("tmp")?)
            // A session of a user, with its keychain.
            .env("DBUS_SESSION_BUS_ADDRESS", self.desktop.bus())
            .env("XDG_RUNTIME_DIR", self.desktop.home().join("run"))
            .env("DISPLAY", self.desktop.display())
            .envs(NO_NETWORK)
            .current_dir(self.gatehouse.folder("project")?);
        for (name, value) in self.application.variables {
            command.env(name, value.replace(MODEL, &self.model_address));
        }
        Ok(command)
    }
}

/// Starts the stand-in for a model, and returns its address.
fn start_model() -> Result<(ChildProcess, String)> {
    let script = paths::tests_dir().join("compat/applications/model.mjs");
    let arguments = json!({ "text": NOTE }).to_string();
    let mut command = Command::new(paths::compat_node()?);
    let mut model = ChildProcess::start("model.mjs", command.arg(script).args([TOOL, arguments.as_str()]))?;
    let port = model.next_line()?;
    Ok((model, format!("http://127.0.0.1:{}", port.trim())))
}

/// A settings file as text.
fn shown(file: &Option<Vec<u8>>) -> String {
    file.as_ref().map_or_else(|| "no file".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn contains(bytes: Option<&[u8]>, text: &str) -> bool {
    bytes.is_some_and(|bytes| String::from_utf8_lossy(bytes).contains(text))
}

/// An application that runs. With all that it started it is killed when it is dropped.
struct RunningApplication {
    child: Child,
    output: PathBuf,
    line: String,
}

impl RunningApplication {
    fn start(command: &mut Command, output: PathBuf) -> Result<Self> {
        let line = format!("{command:?}");
        let child = command.process_group(0).spawn().with_context(|| format!("{line} can't be started"))?;
        Ok(Self { child, output, line })
    }

    /// What it has printed so far.
    fn output(&self) -> String {
        let text = fs::read_to_string(&self.output).unwrap_or_default();
        format!("{} printed: {text}", self.line)
    }

    /// Waits for its end, which has to be a success, and returns what it printed.
    fn finish(mut self) -> Result<String> {
        let ended: ExitStatus = {
            let child = &mut self.child;
            let end = eventually("the end of the application", || Ok(child.try_wait()?.ok_or("it runs")));
            end.with_context(|| self.output())?
        };
        if ended.success() {
            Ok(fs::read_to_string(&self.output)?)
        } else {
            bail!("{ended}; {}", self.output())
        }
    }
}

impl Drop for RunningApplication {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = format!("-{}", self.child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().ok();
            self.child.wait().ok();
        }
    }
}
