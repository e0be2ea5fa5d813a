//! `servers add-bundle`: shows what a bundle would run, fills its options in and adds its server.

use std::collections::BTreeMap;

use gatehouse_model::bundle::{BundlePreview, BundleSignature};
use gatehouse_model::command::{BundlesConfigure, BundlesRead, ServersAdd, ServersEdit};
use gatehouse_model::server::ServerDraft;
use gatehouse_model::{Message, Secret, ServerConfig, Transport, message};
use serde_json::{Map, Value};

use super::{add_draft, field_secrets, find, read_secrets, summary};
use crate::cli::AddBundleArgs;
use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;
use crate::terminal_text;

pub(super) async fn add(
    wanted: AddBundleArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let file = std::path::absolute(&wanted.file)?.display().to_string();
    let preview = session.run(&BundlesRead { file, sha256: wanted.sha256.clone(), run: None }).await?;
    if wanted.preview {
        return output.show(&preview, describe);
    }
    // Before anything is asked for or added; the reply on standard output is the server.
    for line in describe(&preview) {
        output.note(&line);
    }
    let values = option_values(&preview, &wanted.set)?;
    let given: BTreeMap<String, Secret> =
        read_secrets(&wanted.secret, wanted.secret_fd)?.into_iter().collect();
    let configure = BundlesConfigure {
        bundle: preview.bundle,
        values: Value::Object(values).to_string(),
        secrets: given.keys().cloned().collect(),
    };
    let server = session.run(&configure).await?;
    let secrets = field_secrets(&server.secrets, &given);
    let mut draft = server.draft;
    if let Some(replaced) = &wanted.replace {
        let config = find(replaced, session).await?.config;
        let (server, draft) = (config.id.as_str().to_owned(), with_transport(config, draft.transport));
        let view = session.run(&ServersEdit { server, draft, secrets }).await?;
        return output.show(&view, |view| vec![summary(view)]);
    }
    if let Some(name) = wanted.name {
        draft.name = name;
    }
    draft.enabled = !wanted.disabled;
    draft.autostart = !wanted.no_autostart;
    add_draft(ServersAdd { draft, trust_labels: wanted.trust_labels, secrets, run: None }, session, output)
        .await
}

/// The settings of a server that is reached in another way.
fn with_transport(config: ServerConfig, transport: Transport) -> ServerDraft {
    ServerDraft { transport, registry: None, ..ServerDraft::from(config) }
}

/// Gives the value of an option.
const OPTION: &str = "--set";

/// The values that were given, each of the type that its option has; the core checks them.
fn option_values(preview: &BundlePreview, pairs: &[String]) -> Result<Map<String, Value>, CliError> {
    let schema: Value = serde_json::from_str(&preview.options).unwrap_or_default();
    let mut values = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(CliError::usage(message!("error.ctl.pairExpected", option = OPTION)));
        };
        let option = schema.get("properties").and_then(|properties| properties.get(key));
        if kind(option) == Some("array") {
            let value = typed(text, kind(option.and_then(|option| option.get("items"))));
            if let Value::Array(all) =
                values.entry(key.to_owned()).or_insert_with(|| Value::Array(Vec::new()))
            {
                all.push(value);
            }
        } else {
            values.insert(key.to_owned(), typed(text, kind(option)));
        }
    }
    Ok(values)
}

/// The type that a JSON schema names.
fn kind(schema: Option<&Value>) -> Option<&str> {
    schema?.get("type")?.as_str()
}

/// A text as a value of a type of JSON schema; as it is if it is none.
fn typed(text: &str, kind: Option<&str>) -> Value {
    let parsed = match kind {
        Some("number" | "boolean") => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// What a person should know before the server is added.
fn describe(preview: &BundlePreview) -> Vec<String> {
    let title = format!("{} {}", preview.name, preview.version);
    let mut lines = vec![terminal_text::line(&title)];
    lines.extend((!preview.description.is_empty()).then(|| terminal_text::line(&preview.description)));
    let command: Vec<String> = preview.command.iter().map(|word| terminal_text::line(word)).collect();
    let mut say = |message: Message| lines.push(terminal_text::message(&message));
    if let Some(author) = &preview.author {
        say(message!("ctl.bundle.author", author = author));
    }
    say(message!("ctl.bundle.command", command = command.join(" ")));
    say(match &preview.signature {
        BundleSignature::None => message!("ctl.bundle.unsigned"),
        BundleSignature::Valid { signer } => message!("ctl.bundle.signed", signer = signer),
        BundleSignature::Mismatch => message!("ctl.bundle.mismatch"),
        BundleSignature::Unreadable => message!("ctl.bundle.unreadable"),
    });
    for option in &preview.secrets {
        say(message!("ctl.bundle.secret", key = &option.key, title = &option.title));
    }
    for warning in preview.warnings.iter().chain(&preview.refused) {
        say(warning.clone());
    }
    lines
}
