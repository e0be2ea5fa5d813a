//! `gatehouse://add?…` links (UI-2): settings of a server, or an entry of the registry, that are filled into the form.
//!
//! A link comes from anywhere, mostly from a web page. It is read strictly: what is unknown, ambiguous or hidden makes all of
//! it invalid. It never brings a secret, and never refers to one or to a variable of the user. Nothing is added, started or
//! looked up by reading it.
//!
//! `name`, `command`, `url`, `config`, `registry` and `version` stand at most once; `args` once for each argument, in their
//! order; `env` and `headers` once for each `NAME=VALUE`. `config` is the base64 of a server's entry as in `servers.json`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use gatehouse_common::display_name::MAX_NAME_CHARS;
use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_common::secret_names::is_secret_setting;
use gatehouse_model::registry::{LinkContent, MAX_LINK_BYTES};
use gatehouse_model::server::{Remote, ServerDraft, StdioStreams};
use gatehouse_model::sign_in::SignInSettings;
use gatehouse_model::{ErrorCode, Transport, UserError, message};
use gatehouse_store::{EntryText, holds_secret};
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use crate::registry::{is_entry_name, is_entry_version};

/// Most arguments, variables and headers together.
const MAX_ITEMS: usize = 100;
/// Stands for a name while the settings of `config` are read.
const UNNAMED: &str = "server";

/// Why a link is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddLinkError {
    #[error("the link is longer than 8 KiB")]
    TooLong,
    /// It is no link to add a server.
    #[error("the link is no link to add a server")]
    NotALink,
    #[error("the parameter {0} is unknown")]
    UnknownParameter(String),
    #[error("the parameter {0} stands there twice")]
    Repeated(String),
    /// Parameters that don't belong together, or none that says what the server is.
    #[error("the link does not say what one server is")]
    NotOneServer,
    #[error("the value of {0} is invalid")]
    BadValue(String),
    /// Characters that can't be seen, or that change how others look.
    #[error("{0} has hidden characters")]
    Hidden(String),
    #[error("{0} refers to secrets or variables")]
    Reference(String),
    /// A secret at a place where it can't be left out.
    #[error("{0} has a secret in it")]
    Secret(String),
}

impl From<AddLinkError> for UserError {
    fn from(error: AddLinkError) -> Self {
        let cause = match error {
            AddLinkError::TooLong => message!("error.link.tooLong"),
            AddLinkError::NotALink => message!("error.link.notALink"),
            AddLinkError::UnknownParameter(name) => message!("error.link.unknown", name = name),
            AddLinkError::Repeated(name) => message!("error.link.repeated", name = name),
            AddLinkError::NotOneServer => message!("error.link.notOneServer"),
            AddLinkError::BadValue(name) => message!("error.link.badValue", name = name),
            AddLinkError::Hidden(name) => message!("error.link.hidden", name = name),
            AddLinkError::Reference(name) => message!("error.link.reference", name = name),
            AddLinkError::Secret(name) => message!("error.link.secret", name = name),
        };
        Self::new(ErrorCode::BadRequest, message!("error.link.unusable")).with_cause(cause)
    }
}

/// The parameters of a link.
#[derive(Default)]
struct LinkParameters {
    single: BTreeMap<&'static str, String>,
    args: Vec<String>,
    env: Vec<String>,
    headers: Vec<String>,
}

/// Parameters that stand at most once.
const SINGLE: [&str; 6] = ["name", "command", "url", "config", "registry", "version"];

/// Reads a link.
///
/// # Errors
/// If anything about it is not as it has to be.
pub fn read_link(link: &str) -> Result<LinkContent, AddLinkError> {
    let mut parameters = LinkParameters::read(link)?;
    if let Some(name) = parameters.take("registry") {
        let version = parameters.take("version");
        if !parameters.is_empty() {
            return Err(AddLinkError::NotOneServer);
        }
        if !is_entry_name(&name) {
            return Err(AddLinkError::BadValue("registry".to_owned()));
        }
        if version.as_deref().is_some_and(|version| !is_entry_version(version)) {
            return Err(AddLinkError::BadValue("version".to_owned()));
        }
        return Ok(LinkContent::Registry { name, version });
    }
    let name = parameters.take("name").unwrap_or_default();
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(AddLinkError::BadValue("name".to_owned()));
    }
    let transport = parameters.transport()?;
    let transport = checked(transport)?;
    Ok(without_secrets(name, transport))
}

impl LinkParameters {
    fn read(link: &str) -> Result<Self, AddLinkError> {
        if link.len() > MAX_LINK_BYTES {
            return Err(AddLinkError::TooLong);
        }
        // What a browser hands over is encoded; anything else could look like another link.
        if !link.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AddLinkError::NotALink);
        }
        let url = Url::parse(link).map_err(|_| AddLinkError::NotALink)?;
        let is_add = url.scheme() == "gatehouse"
            && url.host_str() == Some("add")
            && matches!(url.path(), "" | "/")
            && url.username().is_empty()
            && url.password().is_none()
            && url.port().is_none()
            && url.fragment().is_none();
        if !is_add {
            return Err(AddLinkError::NotALink);
        }
        let mut read = Self::default();
        let mut items = 0;
        for (name, value) in url.query_pairs() {
            check_text(&name, "?")?;
            check_text(&value, &name)?;
            let list = match &*name {
                "args" => &mut read.args,
                "env" => &mut read.env,
                "headers" => &mut read.headers,
                other => {
                    let known = SINGLE.iter().find(|known| **known == other);
                    let known = known.ok_or_else(|| AddLinkError::UnknownParameter(shown(other)))?;
                    if read.single.insert(*known, value.into_owned()).is_some() {
                        return Err(AddLinkError::Repeated(shown(other)));
                    }
                    continue;
                }
            };
            items += 1;
            if items > MAX_ITEMS {
                return Err(AddLinkError::BadValue(shown(&name)));
            }
            list.push(value.into_owned());
        }
        Ok(read)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.single.remove(name)
    }

    fn is_empty(&self) -> bool {
        self.single.is_empty() && self.args.is_empty() && self.env.is_empty() && self.headers.is_empty()
    }

    fn transport(mut self) -> Result<Transport, AddLinkError> {
        let (command, url, config) = (self.take("command"), self.take("url"), self.take("config"));
        if !self.single.is_empty() {
            return Err(AddLinkError::NotOneServer);
        }
        match (command, url, config) {
            (Some(command), None, None) if self.headers.is_empty() => {
                if command.trim().is_empty() {
                    return Err(AddLinkError::BadValue("command".to_owned()));
                }
                let env = pairs(self.env, "env")?;
                let args = self.args;
                Ok(Transport::Stdio { command, args, env, cwd: None, streams: StdioStreams::default() })
            }
            (None, Some(url), None) if self.args.is_empty() && self.env.is_empty() => {
                Ok(Transport::Auto(Remote { headers: pairs(self.headers, "headers")?, ..Remote::at(url) }))
            }
            (None, None, Some(config))
                if self.args.is_empty() && self.env.is_empty() && self.headers.is_empty() =>
            {
                config_transport(&config)
            }
            _ => Err(AddLinkError::NotOneServer),
        }
    }
}

/// The transport of an entry in base64. It may say what runs or where it is, and nothing else.
fn config_transport(config: &str) -> Result<Transport, AddLinkError> {
    let bad = || AddLinkError::BadValue("config".to_owned());
    let padding = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    // `+` in a query is a space.
    let config = config.replace(' ', "+");
    let alphabet = if config.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let bytes = GeneralPurpose::new(alphabet, padding).decode(config).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    let entry = RawValue::from_string(text).map_err(|_| bad())?;
    // Put together as text, so that what stands there twice is found.
    let whole = format!("{{\"{UNNAMED}\":{}}}", entry.get());
    let (_, read) = EntryText::read(&whole);
    let draft = read.map_err(|_| bad())?;
    let usual = |transport: &Transport| ServerDraft::new(UNNAMED, transport.clone());
    let is_plain = match &draft.transport {
        Transport::Stdio { cwd: None, streams: StdioStreams::Sockets, .. } => true,
        Transport::Stdio { .. } | Transport::Builtin { .. } => false,
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            remote.headers_from.is_none() && remote.sign_in == SignInSettings::default()
        }
    };
    if !is_plain || draft != usual(&draft.transport) {
        return Err(bad());
    }
    Ok(draft.transport)
}

/// `NAME=VALUE` pairs, each name once.
fn pairs(given: Vec<String>, parameter: &str) -> Result<BTreeMap<String, String>, AddLinkError> {
    let mut pairs = BTreeMap::new();
    for pair in given {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| AddLinkError::BadValue(parameter.to_owned()))?;
        if name.trim() != name || name.is_empty() {
            return Err(AddLinkError::BadValue(parameter.to_owned()));
        }
        if pairs.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(AddLinkError::Repeated(shown(name)));
        }
    }
    Ok(pairs)
}

/// Checks every text of a transport, also what came out of `config`.
fn checked(transport: Transport) -> Result<Transport, AddLinkError> {
    match &transport {
        Transport::Stdio { command, args, env, .. } => {
            check_text(command, "command")?;
            check_values(env)?;
            for arg in args {
                check_text(arg, "args")?;
            }
            if holds_secret("/args", &Value::from(args.clone())) {
                return Err(AddLinkError::Secret("args".to_owned()));
            }
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            check_values(&remote.headers)?;
            check_url(&remote.url)?;
        }
        Transport::Builtin { .. } => return Err(AddLinkError::NotOneServer),
    }
    Ok(transport)
}

fn check_url(text: &str) -> Result<(), AddLinkError> {
    check_text(text, "url")?;
    let url = Url::parse(text).map_err(|_| AddLinkError::BadValue("url".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") || !url.has_host() {
        return Err(AddLinkError::BadValue("url".to_owned()));
    }
    let mut query = url.query_pairs();
    let has_secret = !url.username().is_empty()
        || url.password().is_some()
        || query.any(|(name, value)| is_secret_setting(&name) && !value.is_empty());
    if has_secret { Err(AddLinkError::Secret("url".to_owned())) } else { Ok(()) }
}

fn check_values(values: &BTreeMap<String, String>) -> Result<(), AddLinkError> {
    for (name, value) in values {
        check_text(name, name)?;
        check_text(value, name)?;
    }
    Ok(())
}

/// Refuses hidden characters, bytes that are no text, and references.
fn check_text(text: &str, name: &str) -> Result<(), AddLinkError> {
    if text.chars().any(|c| is_invisible(c) || c == '\u{fffd}') {
        return Err(AddLinkError::Hidden(shown(name)));
    }
    if text.contains("${") {
        return Err(AddLinkError::Reference(shown(name)));
    }
    Ok(())
}

/// A name of the link for messages.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !is_invisible(*c)).take(40).collect()
}

/// The settings, with references in the places of what may be secrets.
fn without_secrets(name: String, transport: Transport) -> LinkContent {
    let (mut secrets, mut had_secrets) = (Vec::new(), false);
    let mut leave_out = |place: &str, values: &mut BTreeMap<String, String>| {
        for (name, value) in values.iter_mut().filter(|(name, _)| is_secret_setting(name)) {
            had_secrets |= !value.is_empty();
            *value = format!("${{secret:{name}}}");
            secrets.push(format!("{place}/{name}"));
        }
    };
    let mut transport = transport;
    match &mut transport {
        Transport::Stdio { env, .. } => leave_out("env", env),
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => leave_out("headers", &mut remote.headers),
        Transport::Builtin { .. } => {}
    }
    LinkContent::Server { draft: Box::new(ServerDraft::new(name, transport)), secrets, had_secrets }
}
