//! The AI applications from npm that are connected to Gatehouse as their users would do it: where their settings are, and
//! the words of their own commands. Their model is a stand-in at loopback, so none needs an account.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::paths;

/// What stands for the address of the stand-in for a model.
pub(super) const MODEL: &str = "{model}";
/// What stands for the program of the server that is imported.
pub(super) const PROGRAM: &str = "{program}";
/// What stands for a secret of that server.
pub(super) const SECRET: &str = "{secret}";

/// What is tried, in this order. Each step goes on from where the one before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationStep {
    /// Connect and Disconnect leave its settings as they were, byte for byte. It is connected again after that.
    Restore,
    /// Its own command lists Gatehouse.
    List,
    /// Its model calls a tool. The application doesn't ask about it, a person allows it in Gatehouse, its result arrives.
    Call,
    /// Disconnected after it was used: nothing of Gatehouse is left in its settings, and its command doesn't list it.
    Disconnect,
    /// Gatehouse imports and runs a server that was added to its settings, and leaves these alone.
    Import,
}

impl ApplicationStep {
    pub const ALL: [Self; 5] = [Self::Restore, Self::List, Self::Call, Self::Disconnect, Self::Import];
}

/// How an application lists its servers.
#[derive(Debug)]
pub(super) struct ListCommand {
    pub(super) words: &'static [&'static str],
    /// What stands behind the name of a server that it is connected to, or that it would connect to.
    pub(super) connected: &'static str,
}

/// How a server gets into the settings of an application.
#[derive(Debug)]
pub(super) enum AddServer {
    /// By its own command.
    Command(&'static [&'static str]),
    /// Written to the end of its settings, as by their owner. It has to work in the application before it is imported.
    ByHand(&'static str),
}

/// An application.
#[derive(Debug)]
pub struct Application {
    /// As in `gatehousectl clients connect`.
    pub name: &'static str,
    /// The package that has its version.
    package: &'static str,
    /// Its program, in the folder of the packages.
    program: &'static str,
    /// Whether it has a rule for all of Gatehouse's tools.
    pub(super) has_allow_rule: bool,
    /// The files that Connect changes, in the home folder; the one with the servers is first.
    pub(super) files: &'static [&'static str],
    /// What is in the first one before the application runs.
    pub(super) settings: Option<&'static str>,
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The words by which it learns of its model, if settings and variables don't say that.
    pub(super) set_up: Option<&'static [&'static str]>,
    /// The words by which it gives its model a task.
    pub(super) ask: &'static [&'static str],
    pub(super) list: Option<ListCommand>,
    pub(super) add: AddServer,
    /// Steps that can't be tried, each with the reason. What is said of its commands is verified in its help.
    pub cannot_be_tried: &'static [(ApplicationStep, &'static str)],
}

impl Application {
    /// The application with this name.
    pub fn find(name: &str) -> Result<&'static Self> {
        APPLICATIONS.iter().find(|application| application.name == name).with_context(|| {
            let names: Vec<&str> = APPLICATIONS.iter().map(|application| application.name).collect();
            format!("there is no application `{name}`; there are {}", names.join(", "))
        })
    }

    pub(super) fn program(&self) -> Result<PathBuf> {
        let program = packages().join(self.program);
        if program.exists() {
            Ok(program)
        } else {
            bail!("{} is not installed; `cargo xtask compat applications` does it, on Linux x64", self.name)
        }
    }

    /// The version that is installed.
    pub(super) fn version(&self) -> Result<String> {
        let file = packages().join(self.package).join("package.json");
        let text = fs::read_to_string(&file).with_context(|| format!("{} is not installed", self.package))?;
        let package: Value = serde_json::from_str(&text)?;
        Ok(package["version"].as_str().context("the package has no version")?.to_owned())
    }
}

fn packages() -> PathBuf {
    paths::tests_dir().join("compat/applications/node_modules")
}

/// What each model is asked to do; the stand-in calls its tool whatever it reads.
const TASK: &str = "Keep a note.";

/// All of them. The version of each is in `tests/compat/applications/package.json`.
pub static APPLICATIONS: [Application; 6] = [
    Application {
        name: "claude-code",
        package: "@anthropic-ai/claude-code",
        program: ".bin/claude",
        has_allow_rule: true,
        files: &[".claude.json", ".claude/settings.json"],
        settings: None,
        variables: &[
            ("ANTHROPIC_BASE_URL", MODEL),
            ("ANTHROPIC_API_KEY", "none"),
            // The model would have to search for the tool first.
            ("ENABLE_TOOL_SEARCH", "false"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        set_up: None,
        ask: &["-p", TASK],
        list: Some(ListCommand { words: &["mcp", "list"], connected: " Connected" }),
        add: AddServer::Command(&[
            "mcp", "add", "--scope", "user", "imported", "--env", SECRET, "--", PROGRAM,
        ]),
        cannot_be_tried: &[],
    },
    Application {
        name: "cline",
        package: "@cline/cli-linux-x64",
        program: "@cline/cli-linux-x64/bin/cline",
        has_allow_rule: false,
        files: &[".cline/data/settings/cline_mcp_settings.json"],
        settings: None,
        // Without it, it leaves a process that other sessions share.
        variables: &[("CLINE_SESSION_BACKEND_MODE", "local")],
        set_up: Some(&[
            "auth",
            "--provider",
            "openai-compatible",
            "--apikey",
            "none",
            "--modelid",
            "stand-in",
            "--baseurl",
            "{model}/v1",
        ]),
        ask: &[TASK],
        list: Some(ListCommand { words: &["config", "mcp"], connected: "[stdio]" }),
        // It has no word for variables.
        add: AddServer::Command(&["mcp", "add", "imported", "--yes", "--", PROGRAM]),
        cannot_be_tried: &[],
    },
    Application {
        name: "codex",
        package: "@openai/codex",
        program: ".bin/codex",
        has_allow_rule: true,
        files: &[".codex/config.toml"],
        settings: Some(
            "# Mine\nmodel = \"stand-in\" # no account\nmodel_provider = \"local\"\n\n[model_providers.local]\n\
             name = \"Local\"\nbase_url = \"{model}/v1\"\nwire_api = \"responses\"\n",
        ),
        variables: &[],
        set_up: None,
        // It refuses settings that it doesn't know.
        ask: &["exec", "--strict-config", "--skip-git-repo-check", TASK],
        list: Some(ListCommand { words: &["mcp", "list"], connected: " enabled" }),
        add: AddServer::Command(&["mcp", "add", "--env", SECRET, "imported", "--", PROGRAM]),
        cannot_be_tried: &[],
    },
    Application {
        name: "gemini",
        package: "@google/gemini-cli",
        program: ".bin/gemini",
        has_allow_rule: true,
        files: &[".gemini/settings.json"],
        settings: Some(
            "{\n  // Mine\n  \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } }\n}\n",
        ),
        variables: &[
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", MODEL),
            // It uses servers only in folders that the user trusts.
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        set_up: None,
        // Without a name it first asks one model which one to use.
        ask: &["--model", "gemini-2.5-flash", "--prompt", TASK],
        list: Some(ListCommand { words: &["mcp", "list"], connected: " Connected" }),
        add: AddServer::Command(&["mcp", "add", "--scope", "user", "--env", SECRET, "imported", PROGRAM]),
        cannot_be_tried: &[],
    },
    Application {
        name: "opencode",
        // The package of one system and processor, since not every registry has those of all others.
        package: "opencode-linux-x64-baseline",
        program: "opencode-linux-x64-baseline/bin/opencode",
        has_allow_rule: true,
        files: &[".config/opencode/opencode.jsonc"],
        settings: Some(
            "{\n  // Mine\n  \"model\": \"local/stand-in\",\n  \"provider\": {\n    \"local\": {\n      \
             \"npm\": \"@ai-sdk/openai-compatible\",\n      \
             \"options\": { \"baseURL\": \"{model}/v1\", \"apiKey\": \"none\" },\n      \
             \"models\": { \"stand-in\": {} },\n    },\n  },\n}\n",
        ),
        variables: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        set_up: None,
        ask: &["run", TASK],
        list: Some(ListCommand { words: &["mcp", "list"], connected: "connected" }),
        add: AddServer::Command(&["mcp", "add", "imported", "--env", SECRET, "--", PROGRAM]),
        cannot_be_tried: &[],
    },
    Application {
        name: "continue",
        package: "@continuedev/cli",
        program: ".bin/cn",
        has_allow_rule: false,
        files: &[".continue/config.yaml"],
        settings: Some(
            "name: Mine\nversion: 1.0.0\nschema: v1\n# No account\nmodels:\n  - name: Stand-in\n    \
             provider: openai\n    model: stand-in\n    apiBase: {model}/v1\n    apiKey: none\n",
        ),
        variables: &[],
        set_up: None,
        ask: &["-p", TASK],
        list: None,
        add: AddServer::ByHand(
            "mcpServers:\n  - name: imported\n    command: {program}\n    env:\n      API_KEY: {secret}\n",
        ),
        cannot_be_tried: &[(
            ApplicationStep::List,
            "`cn` has no command that lists or adds servers; Call shows that it has connected",
        )],
    },
];
