//! Translates one entry of another application to the shape of `servers.json`. What has no place there is named as left out,
//! with the reason.

mod sign_in;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_common::secret_names::is_secret_setting;
use gatehouse_model::import::{ImportInput, ImportedApprovals, LeftOutSetting};
use gatehouse_model::{App, Message, message};
use serde_json::{Map, Value, json};

use super::ForeignServer;
use super::find::FoundEntry;
use super::references::{ValuePart, parts};
use crate::base_folders::BaseFolders;

/// Longest name of a setting that is shown, in characters.
const LONGEST_NAME: usize = 80;

/// The members of `servers.json` that no other application has. They are carried over only from documents of no particular
/// application, which may be Gatehouse's own.
const OWN_MEMBERS: [&str; 11] = [
    "description",
    "icon",
    "group",
    "autostart",
    "recordBodies",
    "limits",
    "headersFrom",
    "signIn",
    "streams",
    "protocolVersion",
    "builtin",
];

/// Members that only programs have, and only remote servers.
const OF_PROGRAMS: [&str; 4] = ["args", "env", "cwd", "streams"];
const OF_REMOTES: [&str; 4] = ["type", "headers", "headersFrom", "signIn"];

/// Translates an entry.
pub(super) fn server(
    found: FoundEntry,
    app: Option<App>,
    declared: &[ImportInput],
    folders: &BaseFolders,
) -> ForeignServer {
    let FoundEntry { name, project, raw } = found;
    let home = folders.home().to_str().map(str::to_owned);
    let mut translator = Translator { app, declared, home, ..Translator::default() };
    match raw {
        Value::Object(members) => translator.members(&name, members),
        _ => translator.problem = Some(message!("import.problem.noObject")),
    }
    translator.keep_what_fits();
    let Translator { entry, inputs, auto_approve, left_out, problem, .. } = translator;
    ForeignServer { name, project, entry, inputs, auto_approve, left_out, problem }
}

/// One entry on its way.
#[derive(Default)]
struct Translator<'a> {
    app: Option<App>,
    declared: &'a [ImportInput],
    /// The user's home folder.
    home: Option<String>,
    entry: Map<String, Value>,
    inputs: Vec<ImportInput>,
    auto_approve: Option<ImportedApprovals>,
    left_out: Vec<LeftOutSetting>,
    problem: Option<Message>,
}

/// Whether Gatehouse resolves variables in a value itself, each time that it connects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resolution {
    OnConnect,
    Never,
}

impl Translator<'_> {
    fn members(&mut self, name: &str, mut members: Map<String, Value>) {
        flatten(&mut members);
        if members.get("name").and_then(Value::as_str) == Some(name) {
            members.shift_remove("name");
        }
        if members.contains_key("httpUrl") && members.contains_key("url") {
            members.shift_remove("url");
            self.leave_out("url", message!("import.leftOut.otherUrl"));
        }
        for (name, value) in members {
            if !value.is_null() {
                self.member(&name, value);
            }
        }
    }

    fn member(&mut self, name: &str, value: Value) {
        match name {
            "command" | "cmd" => self.command(name, &value),
            "args" | "arguments" => self.arguments(name, &value),
            "env" | "environment" | "envs" => self.texts("env", name, &value),
            "headers" | "http_headers" | "httpHeaders" => self.texts("headers", name, &value),
            "cwd" | "workingDirectory" | "directory" => self.plain_text("cwd", name, &value),
            "url" | "serverUrl" | "httpUrl" | "baseUrl" | "endpoint" => self.address(name, &value),
            "type" | "transport" => self.kind(name, &value),
            "env_vars" => self.forwarded_variables(name, &value),
            "env_http_headers" => self.headers_from_variables(name, &value),
            "bearer_token_env_var" => self.bearer_token(name, &value),
            "enabled" | "disabled" => self.switch(name, &value),
            "autoApprove" | "alwaysAllow" | "auto_approve" | "trust" => self.approvals(name, &value),
            "default_tools_approval_mode" if value == "approve" => {
                self.auto_approve = Some(ImportedApprovals::All);
            }
            "oauth" | "auth" => sign_in::settings(self, name, &value),
            "scopes" => sign_in::scopes(self, name, &value),
            "headersHelper" => self.header_program(name, &value),
            "timeout"
            | "startup_timeout_sec"
            | "startup_timeout_ms"
            | "tool_timeout_sec"
            | "connectionTimeout" => {
                self.time_limit(name, &value);
            }
            "source" if self.app == Some(App::Zed) => self.source(&value),
            "gatehouse" if self.app.is_none() => {}
            own if self.app.is_none() && OWN_MEMBERS.contains(&own) => {
                self.entry.insert(own.to_owned(), value);
            }
            "description" if value.is_string() => {
                self.entry.insert(name.to_owned(), value);
            }
            other => self.leave_out(other, reason(other)),
        }
    }

    fn leave_out(&mut self, name: &str, reason: Message) {
        let name = one_line(name, LONGEST_NAME);
        self.left_out.push(LeftOutSetting { name, reason });
    }

    /// A value that isn't what the application's documentation says.
    fn leave_out_invalid(&mut self, name: &str) {
        self.leave_out(name, message!("import.leftOut.invalid"));
    }

    fn set_text(&mut self, own: &str, text: &str) {
        let text = self.resolve(text, Resolution::Never);
        self.entry.insert(own.to_owned(), Value::String(text));
    }

    fn plain_text(&mut self, own: &str, name: &str, value: &Value) {
        match value {
            Value::String(text) => self.set_text(own, text),
            _ => self.leave_out_invalid(name),
        }
    }

    /// A program, or a program with its first arguments.
    fn command(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => self.set_text("command", text),
            Value::Array(words) => {
                let Some((program, arguments)) = words.split_first() else { return };
                self.plain_text("command", name, program);
                let later = self.entry.shift_remove("args");
                self.arguments(name, &Value::Array(arguments.to_vec()));
                if let (Some(Value::Array(later)), Some(Value::Array(args))) =
                    (later, self.entry.get_mut("args"))
                {
                    args.extend(later);
                }
            }
            _ => self.leave_out_invalid(name),
        }
    }

    fn arguments(&mut self, name: &str, value: &Value) {
        let words: Option<Vec<String>> =
            value.as_array().and_then(|words| words.iter().map(text_of).collect());
        let Some(words) = words else { return self.leave_out_invalid(name) };
        let words: Vec<Value> =
            words.iter().map(|word| Value::String(self.resolve(word, Resolution::Never))).collect();
        match self.entry.get_mut("args") {
            Some(Value::Array(args)) => args.extend(words),
            _ => {
                self.entry.insert("args".to_owned(), Value::Array(words));
            }
        }
    }

    /// Variables or headers.
    fn texts(&mut self, own: &str, name: &str, value: &Value) {
        let Value::Object(members) = value else { return self.leave_out_invalid(name) };
        for (member, value) in members {
            match text_of(value) {
                Some(text) => {
                    let text = self.resolve(&text, Resolution::OnConnect);
                    self.set_member(own, member, text);
                }
                None => self.leave_out_invalid(&format!("{name}.{member}")),
            }
        }
    }

    /// Sets one variable or header.
    fn set_member(&mut self, own: &str, member: &str, text: String) {
        let members = self.entry.entry(own).or_insert_with(|| json!({}));
        if let Value::Object(members) = members {
            members.insert(member.to_owned(), Value::String(text));
        }
    }

    fn address(&mut self, name: &str, value: &Value) {
        let Value::String(text) = value else { return self.leave_out_invalid(name) };
        let lower = text.to_ascii_lowercase();
        let kind = match name {
            _ if lower.starts_with("ws:") || lower.starts_with("wss:") => Some("ws"),
            "httpUrl" => Some("http"),
            // Gemini CLI speaks only HTTP+SSE with it, unless it says something else.
            "url" if self.app == Some(App::Gemini) => Some("sse"),
            _ => None,
        };
        if let Some(kind) = kind
            && !self.entry.contains_key("type")
        {
            self.entry.insert("type".to_owned(), json!(kind));
        }
        self.set_text("url", text);
    }

    fn kind(&mut self, name: &str, value: &Value) {
        let word = value.as_str().unwrap_or_default().to_ascii_lowercase().replace(['-', '_', ' '], "");
        let own = match word.as_str() {
            "http" | "streamablehttp" => "http",
            "sse" => "sse",
            "ws" | "websocket" => "ws",
            "builtin" if self.app.is_none() => "builtin",
            // Shown by the command or the address.
            "stdio" | "local" | "remote" | "auto" => return,
            _ => return self.leave_out_invalid(name),
        };
        self.entry.insert("type".to_owned(), json!(own));
    }

    /// Names of variables that are handed on to the program.
    fn forwarded_variables(&mut self, name: &str, value: &Value) {
        let Value::Array(variables) = value else { return self.leave_out_invalid(name) };
        for variable in variables {
            match variable.as_str().or_else(|| variable.get("name").and_then(Value::as_str)) {
                Some(variable) => self.set_member("env", variable, format!("${{env:{variable}}}")),
                None => self.leave_out_invalid(name),
            }
        }
    }

    /// Headers, each with the name of a variable that has its value.
    fn headers_from_variables(&mut self, name: &str, value: &Value) {
        let Value::Object(members) = value else { return self.leave_out_invalid(name) };
        for (header, variable) in members {
            match variable.as_str() {
                Some(variable) => self.set_member("headers", header, format!("${{env:{variable}}}")),
                None => self.leave_out_invalid(&format!("{name}.{header}")),
            }
        }
    }

    fn bearer_token(&mut self, name: &str, value: &Value) {
        match value.as_str() {
            Some(variable) => {
                self.set_member("headers", "Authorization", format!("Bearer ${{env:{variable}}}"))
            }
            None => self.leave_out_invalid(name),
        }
    }

    fn switch(&mut self, name: &str, value: &Value) {
        match value.as_bool() {
            Some(on) => {
                self.entry.insert("enabled".to_owned(), json!(on != (name == "disabled")));
            }
            None => self.leave_out_invalid(name),
        }
    }

    fn approvals(&mut self, name: &str, value: &Value) {
        let tools: Option<Vec<String>> = match value {
            Value::Bool(false) => return,
            Value::Bool(true) => {
                self.auto_approve = Some(ImportedApprovals::All);
                return;
            }
            Value::Array(tools) => tools.iter().map(|tool| tool.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let Some(tools) = tools else { return self.leave_out_invalid(name) };
        if tools.iter().any(|tool| tool == "*") {
            self.auto_approve = Some(ImportedApprovals::All);
            return;
        }
        match &mut self.auto_approve {
            Some(ImportedApprovals::All) => {}
            Some(ImportedApprovals::Tools(before)) => {
                before.extend(tools);
                before.sort();
                before.dedup();
            }
            None if tools.is_empty() => {}
            None => self.auto_approve = Some(ImportedApprovals::Tools(tools)),
        }
    }

    /// A program that prints headers. It is a line for a shell there, so only a bare program is carried over.
    fn header_program(&mut self, name: &str, value: &Value) {
        match value.as_str() {
            Some(program) if !program.is_empty() && !program.contains(NOT_OF_A_BARE_PROGRAM) => {
                self.entry.insert("headersFrom".to_owned(), json!({ "command": program }));
            }
            _ => self.leave_out(name, message!("import.leftOut.shellLine")),
        }
    }

    fn time_limit(&mut self, name: &str, value: &Value) {
        let (limit, per_second) = match (self.app, name) {
            (Some(App::Cline), "timeout") | (Some(App::Codex), "tool_timeout_sec") => ("callSecs", 1.0),
            (Some(App::ClaudeCode | App::Gemini), "timeout") => ("callSecs", 1000.0),
            (Some(App::Codex), "startup_timeout_sec") => ("connectSecs", 1.0),
            (Some(App::Codex), "startup_timeout_ms")
            | (Some(App::OpenCode), "timeout")
            | (Some(App::Continue), "connectionTimeout") => ("connectSecs", 1000.0),
            _ => return self.leave_out(name, message!("import.leftOut.timeLimit")),
        };
        let secs = value.as_f64().map(|given| (given / per_second).ceil());
        match secs.filter(|secs| (0.0..=f64::from(u32::MAX)).contains(secs)) {
            Some(secs) => {
                // A whole number within the type's bounds.
                let secs = (secs as u32).max(1);
                let limits = self.entry.entry("limits").or_insert_with(|| json!({}));
                if let Value::Object(limits) = limits {
                    limits.insert(limit.to_owned(), json!(secs));
                }
            }
            None => self.leave_out_invalid(name),
        }
    }

    /// Where Zed has an entry from: its own settings, or an extension, which then knows the command.
    fn source(&mut self, value: &Value) {
        if value.as_str() == Some("extension") {
            self.problem = Some(message!("import.problem.extension"));
        }
    }

    /// Leaves out what servers of this type don't have.
    fn keep_what_fits(&mut self) {
        let has = |name: &str| self.entry.contains_key(name);
        let (has_command, has_url) = (has("command"), has("url"));
        if has_command || has_url {
            self.problem = None;
        }
        let foreign: &[&str] = match (has_command, has_url) {
            (true, false) => &OF_REMOTES,
            (false, true) => &OF_PROGRAMS,
            (true, true) | (false, false) => return,
        };
        for name in foreign {
            if self.entry.shift_remove(*name).is_some() {
                self.leave_out(name, message!("import.leftOut.otherType"));
            }
        }
    }

    /// A value in Gatehouse's notation. What Gatehouse can't resolve there becomes an input.
    fn resolve(&mut self, text: &str, resolution: Resolution) -> String {
        let mut resolved = String::with_capacity(text.len());
        for part in parts(text, self.app) {
            match part {
                ValuePart::Text(text) => resolved.push_str(text),
                ValuePart::Variable { name, default: None } if resolution == Resolution::OnConnect => {
                    resolved.push_str(&format!("${{env:{name}}}"));
                }
                ValuePart::Variable { name, default } => {
                    let is_secret = is_secret_setting(name);
                    self.ask(&mut resolved, &format!("env:{name}"), default.map(str::to_owned), is_secret);
                }
                ValuePart::Input(id) => self.ask(&mut resolved, id, None, is_secret_setting(id)),
                ValuePart::Secret(name) => self.ask(&mut resolved, &format!("secret:{name}"), None, true),
                ValuePart::Own("pathSeparator" | "/") => resolved.push(std::path::MAIN_SEPARATOR),
                ValuePart::Own("userHome") => {
                    let home = self.home.clone();
                    self.ask(&mut resolved, "userHome", home, false);
                }
                // A file is where other applications keep tokens.
                ValuePart::Own(name) => self.ask(&mut resolved, name, None, name.starts_with("file:")),
            }
        }
        resolved
    }

    /// Writes the place of an input, which is as its application declared it, or else as given here.
    fn ask(&mut self, resolved: &mut String, id: &str, default: Option<String>, is_secret: bool) {
        resolved.push_str(&input_place(id));
        if self.inputs.iter().any(|input| input.id == id) {
            return;
        }
        let declared = self.declared.iter().find(|input| input.id == id).cloned();
        self.inputs.push(declared.unwrap_or_else(|| ImportInput {
            id: id.to_owned(),
            description: None,
            is_secret,
            has_default: default.is_some(),
            default,
            options: Vec::new(),
        }));
    }
}

/// What stands for the value of an input in a text.
pub(super) fn input_place(id: &str) -> String {
    format!("${{input:{id}}}")
}

/// Characters that a shell would not take as a part of a program's path.
const NOT_OF_A_BARE_PROGRAM: [char; 17] =
    [' ', '\t', '\n', '"', '\'', '$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?', '~'];

/// Takes members apart that some applications nest: the program, the transport, and options of requests.
fn flatten(members: &mut Map<String, Value>) {
    for nested in ["command", "transport"] {
        if let Some(Value::Object(inner)) = members.get(nested) {
            let inner = inner.clone();
            members.shift_remove(nested);
            for (name, value) in inner {
                let name = if name == "path" { "command".to_owned() } else { name };
                members.entry(name).or_insert(value);
            }
        }
    }
    if let Some(Value::Object(options)) = members.shift_remove("requestOptions") {
        for (name, value) in options {
            let name = if name == "headers" { name } else { format!("requestOptions.{name}") };
            members.entry(name).or_insert(value);
        }
    }
}

/// A text, or a value that is written as one.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The reason for settings that are about the application's own window.
pub(super) const OF_APPLICATION: &str = "import.leftOut.ofApplication";

/// Why a setting is left out.
fn reason(name: &str) -> Message {
    match name {
        "envFile" => message!("import.leftOut.envFile"),
        "tools" | "includeTools" | "excludeTools" | "enabled_tools" | "disabled_tools" | "enabledTools"
        | "disabledTools" | "allowedTools" => message!("import.leftOut.tools"),
        "default_tools_approval_mode" => message!("import.leftOut.approvals"),
        name if name.to_ascii_lowercase().starts_with("sandbox") => message!("import.leftOut.sandbox"),
        "dev" | "gallery" | "version" | "required" | "source" | "settings" | "remote" | "icon" | "icons"
        | "name" | "title" | "displayName" | "alwaysLoad" => message!("import.leftOut.ofApplication"),
        _ => message!("import.leftOut.unknown"),
    }
}
