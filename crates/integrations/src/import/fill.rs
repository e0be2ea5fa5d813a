//! Fills the values of inputs into an entry and takes its secrets out of it, so that they can go to the keychain.

use std::collections::BTreeMap;

use gatehouse_model::import::{ImportInput, ImportedSetting};
use gatehouse_model::{Message, Secret, message};
use gatehouse_store::{holds_secret, secret_reference, shown_value};
use serde_json::{Map, Value, json};

use super::ForeignServer;
use super::translate::input_place;

/// How a value begins that Gatehouse resolves itself.
const REFERENCE: &str = "${";

/// An entry that is complete.
#[derive(Debug)]
pub struct FilledServer {
    pub entry: Map<String, Value>,
    /// The secrets that it refers to.
    pub secrets: Vec<FoundSecret>,
}

/// A secret with the field that it is for: `env/NAME`, `headers/NAME` or `signIn/secret`.
#[derive(Debug)]
pub struct FoundSecret {
    pub field: String,
    pub value: Secret,
}

impl ForeignServer {
    /// The entry with the values of its inputs, by their ids. Secret inputs are taken out of it, and so is what looks like a
    /// secret, unless that is to stay in plain text.
    ///
    /// # Errors
    /// When a value is missing, or a field would need more than one secret.
    pub fn fill(
        &self,
        values: &BTreeMap<String, Secret>,
        keeps_plain: bool,
    ) -> Result<FilledServer, Message> {
        let mut known = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let given = values.get(&input.id).map(Secret::reveal).filter(|value| !value.is_empty());
            let value = given.or(input.default.as_deref()).ok_or_else(|| {
                let name = input.description.as_deref().unwrap_or(&input.id);
                message!("import.problem.inputMissing", input = name)
            })?;
            known.push(KnownInput { input, place: input_place(&input.id), value });
        }
        self.fill_with(&known, keeps_plain)
    }

    /// The entry as far as it is known: inputs without a value stay references.
    ///
    /// # Errors
    /// When a field would need more than one secret.
    pub fn fill_known(&self) -> Result<FilledServer, Message> {
        let places: Vec<String> = self.inputs.iter().map(|input| input_place(&input.id)).collect();
        let known: Vec<KnownInput<'_>> = self
            .inputs
            .iter()
            .zip(&places)
            .map(|(input, place)| KnownInput {
                input,
                place: place.clone(),
                value: input.default.as_deref().unwrap_or(place),
            })
            .collect();
        self.fill_with(&known, false)
    }

    /// Whether an input has no value by default.
    #[must_use]
    pub fn needs_input(&self) -> bool {
        self.inputs.iter().any(|input| input.default.is_none())
    }

    fn fill_with(&self, known: &[KnownInput<'_>], keeps_plain: bool) -> Result<FilledServer, Message> {
        let mut filled = FilledServer { entry: Map::new(), secrets: Vec::new() };
        for (name, value) in &self.entry {
            let value = match (name.as_str(), value) {
                ("env" | "headers", Value::Object(members)) => {
                    let mut texts = Map::new();
                    for (member, text) in members {
                        let text = text.as_str().unwrap_or_default();
                        let place = FieldPlace { group: name, name: member, known, keeps_plain };
                        texts.insert(member.clone(), Value::String(filled.field(&place, text)?));
                    }
                    Value::Object(texts)
                }
                ("signIn", Value::Object(settings)) => filled.sign_in(settings, known),
                (_, value) => replaced(value, known),
            };
            filled.entry.insert(name.clone(), value);
        }
        Ok(filled)
    }
}

/// An input with its value.
struct KnownInput<'a> {
    input: &'a ImportInput,
    /// What stands for it in texts.
    place: String,
    value: &'a str,
}

/// A variable or a header that is filled.
struct FieldPlace<'a> {
    /// `env` or `headers`.
    group: &'a str,
    name: &'a str,
    known: &'a [KnownInput<'a>],
    keeps_plain: bool,
}

impl FilledServer {
    /// The text of a variable or a header; its secret is taken out.
    fn field(&mut self, place: &FieldPlace<'_>, text: &str) -> Result<String, Message> {
        let FieldPlace { group, name, known, keeps_plain } = *place;
        let mut secrets = known.iter().filter(|known| known.input.is_secret && text.contains(&known.place));
        let (secret, another) = (secrets.next(), secrets.next());
        let field = format!("{group}/{name}");
        let reference = secret_reference(name);
        if let Some(secret) = secret {
            if another.is_some() || text.matches(&secret.place).count() > 1 {
                return Err(message!("import.problem.severalSecrets", field = name));
            }
            let rest = text.replacen(&secret.place, &reference, 1);
            self.secrets.push(FoundSecret { field, value: Secret::new(secret.value) });
            return Ok(replaced_text(&rest, known));
        }
        let text = replaced_text(text, known);
        let pointer = format!("/{field}");
        let is_secret = !text.is_empty()
            && !text.contains(REFERENCE)
            && holds_secret(&pointer, &Value::String(text.clone()));
        if !is_secret || keeps_plain {
            return Ok(text);
        }
        self.secrets.push(FoundSecret { field, value: Secret::new(text) });
        Ok(reference)
    }

    /// The settings of a sign-in, in which secrets are always references.
    fn sign_in(&mut self, settings: &Map<String, Value>, known: &[KnownInput<'_>]) -> Value {
        let mut settings = replaced(&Value::Object(settings.clone()), known);
        if let Some(secret) = settings.pointer_mut("/client/secret")
            && let Some(text) = secret.as_str()
            && !text.is_empty()
            && !text.contains("${env:")
            && !text.contains("${secret:")
        {
            self.secrets.push(FoundSecret { field: "signIn/secret".to_owned(), value: Secret::new(text) });
            *secret = json!(secret_reference("client"));
        }
        settings
    }
}

/// A value with the inputs in its texts replaced.
fn replaced(value: &Value, known: &[KnownInput<'_>]) -> Value {
    match value {
        Value::String(text) => Value::String(replaced_text(text, known)),
        Value::Array(items) => items.iter().map(|item| replaced(item, known)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), replaced(value, known))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A text with its inputs replaced, in one pass: the value of an input is never searched for others.
fn replaced_text(text: &str, known: &[KnownInput<'_>]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${input:") {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match known.iter().find(|known| rest.starts_with(&known.place)) {
            Some(known) => {
                filled.push_str(known.value);
                rest = &rest[known.place.len()..];
            }
            None => {
                filled.push('$');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// What people see of a server before it is imported: nothing of its secrets, but all that it could run.
impl FilledServer {
    /// The command line or the address.
    #[must_use]
    pub fn summary(&self) -> String {
        let entry = &self.entry;
        let shown = |name: &str| entry.get(name).map(|value| shown_value(&format!("/{name}"), value));
        if let Some(Value::String(command)) = entry.get("command") {
            let args = shown("args");
            let args =
                args.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            return std::iter::once(command.as_str()).chain(args).map(quoted).collect::<Vec<_>>().join(" ");
        }
        let builtin = || entry.get("builtin")?.get("kind")?.as_str().map(str::to_owned);
        shown("url").and_then(|url| url.as_str().map(str::to_owned)).or_else(builtin).unwrap_or_default()
    }

    /// Everything else that says how it is started or reached: variables, headers, folders.
    #[must_use]
    pub fn settings(&self) -> Vec<ImportedSetting> {
        let mut settings = Vec::new();
        let mut add = |name: String, pointer: &str, value: &Value| {
            let shown = shown_value(pointer, value);
            let value = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
            settings.push(ImportedSetting { name, value });
        };
        for (name, value) in &self.entry {
            match (name.as_str(), value) {
                ("command" | "args" | "url" | "enabled" | "description", _) => {}
                ("builtin" | "env" | "headers" | "signIn" | "limits", Value::Object(members)) => {
                    for (member, value) in members {
                        let value = match (name.as_str(), member.as_str()) {
                            ("builtin", "kind") => continue,
                            ("signIn", "client") => &without_secret(value),
                            ("env", _) => &self.executable_secret(member).unwrap_or_else(|| value.clone()),
                            _ => value,
                        };
                        add(format!("{name}.{member}"), &format!("/{name}/{member}"), value);
                    }
                }
                (_, value) => add(name.clone(), &format!("/{name}"), value),
            }
        }
        settings
    }

    /// The value of a variable whose secret was taken out, if people see that secret because it could be code.
    fn executable_secret(&self, variable: &str) -> Option<Value> {
        let field = format!("env/{variable}");
        let secret = self.secrets.iter().find(|secret| secret.field == field)?.value.reveal();
        let text = self.entry.get("env")?.get(variable)?.as_str()?;
        let whole = Value::String(text.replacen(&secret_reference(variable), secret, 1));
        let is_seen = |shown: &Value| shown.as_str().is_some_and(|shown| shown.contains(secret));
        let is_input = secret.starts_with(REFERENCE) && secret.find('}') == Some(secret.len() - 1);
        (!is_input && is_seen(&shown_value(&format!("/{field}"), &whole))).then_some(whole)
    }
}

/// The client of a sign-in with a mask for its secret, which is still there where an entry can't be filled.
fn without_secret(client: &Value) -> Value {
    let mut shown = client.clone();
    if let Some(secret) = shown.get_mut("secret") {
        let is_reference = |text: &str| text.starts_with(REFERENCE) && text.find('}') == Some(text.len() - 1);
        if !secret.as_str().is_some_and(is_reference) {
            *secret = json!("•••");
        }
    }
    shown
}

/// A word of a command line, in quotes if it would otherwise be more than one.
fn quoted(word: &str) -> String {
    let is_one = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"');
    if is_one { word.to_owned() } else { json!(word).to_string() }
}

/// Whether the arguments or the address have what looks like a secret, which can't go to the keychain.
#[must_use]
pub fn has_plain_secret(entry: &Map<String, Value>) -> bool {
    ["args", "url"]
        .iter()
        .any(|name| entry.get(*name).is_some_and(|value| holds_secret(&format!("/{name}"), value)))
}
