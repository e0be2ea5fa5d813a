//! How settings are made of an option of an entry: the command or the address with places for what is entered.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_model::Transport;
use gatehouse_model::composed_secret::{ComposedSecret, SecretPart};
use gatehouse_model::registry::{RegistryInput, RegistryInputFormat, RegistryOptionKind};
use gatehouse_model::server::{Remote, StdioStreams};
use url::Url;

use super::error::RegistryError;
use super::inputs::{Template, TemplatePart, refers};

/// Longest value that is entered, in bytes.
const MAX_ENTERED_BYTES: usize = 64 * 1024;

/// What an option becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    Program {
        command: String,
        args: Vec<ArgumentRecipe>,
        env: Vec<(String, Template)>,
        /// The package in its version, as an argument of the command.
        package: PackageArgument,
    },
    Remote {
        kind: RegistryOptionKind,
        url: Template,
        headers: Vec<(String, Template)>,
    },
}

/// The argument of a command that names the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackageArgument {
    /// With the version.
    pub(super) text: String,
    /// Without it.
    pub(super) name: String,
    /// What stands between the name and the version.
    pub(super) separators: &'static [&'static str],
}

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArgumentRecipe {
    Fixed(String),
    /// The value alone, or after the name of the argument.
    Value {
        name: Option<String>,
        value: Template,
        repeated: bool,
    },
    /// The name alone, if the input at this index is `true`.
    Flag {
        name: String,
        input: usize,
    },
}

/// What was entered for the inputs of an option.
pub(super) struct Entered<'a> {
    inputs: &'a [RegistryInput],
    /// Values of all inputs that have one, except for secrets.
    values: BTreeMap<usize, &'a str>,
    /// The secrets that there is a value for.
    secrets: BTreeSet<usize>,
}

impl<'a> Entered<'a> {
    /// Checks what was entered. An input that is not named has its default value, and none if it is empty.
    ///
    /// # Errors
    /// If something is missing, unknown or not allowed.
    pub(super) fn new(
        inputs: &'a [RegistryInput],
        values: &'a BTreeMap<String, String>,
        secrets: &[String],
    ) -> Result<Self, RegistryError> {
        let known: BTreeSet<&str> = inputs.iter().map(|input| input.id.as_str()).collect();
        let named = values.keys().chain(secrets);
        if let Some(unknown) = named.map(String::as_str).find(|id| !known.contains(id)) {
            return Err(RegistryError::BadInput { input: unknown.chars().take(100).collect() });
        }
        let mut entered = Self { inputs, values: BTreeMap::new(), secrets: BTreeSet::new() };
        for (index, input) in inputs.iter().enumerate() {
            let bad = || RegistryError::BadInput { input: input.id.clone() };
            let is_given = if input.secret {
                // The value of a secret stays with whoever asked for it.
                if values.contains_key(&input.id) {
                    return Err(bad());
                }
                secrets.contains(&input.id) && entered.secrets.insert(index)
            } else {
                let value = values.get(&input.id).map(String::as_str).or(input.default.as_deref());
                match value.filter(|value| !value.is_empty()) {
                    Some(value) if is_allowed(input, value) => {
                        entered.values.insert(index, value);
                        true
                    }
                    Some(_) => return Err(bad()),
                    None => false,
                }
            };
            if input.required && !is_given {
                return Err(RegistryError::MissingInput { input: input.id.clone() });
            }
        }
        Ok(entered)
    }

    /// The text of a template without secrets; `None` if something in it was not entered.
    fn text(&self, template: &Template) -> Option<String> {
        let parts = template.0.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(text.as_str()),
            TemplatePart::Input(index) => self.values.get(index).copied(),
        });
        parts.collect()
    }

    fn is_secret(&self, template: &Template) -> bool {
        template.inputs().any(|index| self.inputs.get(index).is_some_and(|input| input.secret))
    }

    /// The parts of a template with a secret; `None` if something in it was not entered.
    fn secret(&self, template: &Template) -> Option<Vec<SecretPart>> {
        let parts = template.0.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(SecretPart::Text(text.clone())),
            TemplatePart::Input(index) if self.secrets.contains(index) => {
                self.inputs.get(*index).map(|input| SecretPart::Input(input.id.clone()))
            }
            TemplatePart::Input(index) => {
                self.values.get(index).map(|value| SecretPart::Text((*value).to_owned()))
            }
        });
        parts.collect()
    }

    /// Variables or headers, with references in the places of secrets.
    fn named(
        &self,
        place: &str,
        templates: &[(String, Template)],
        secrets: &mut Vec<ComposedSecret>,
    ) -> Result<BTreeMap<String, String>, RegistryError> {
        let mut values = BTreeMap::new();
        for (name, template) in templates {
            if self.is_secret(template) {
                if let Some(parts) = self.secret(template) {
                    values.insert(name.clone(), format!("${{secret:{name}}}"));
                    secrets.push(ComposedSecret { field: format!("{place}/{name}"), parts });
                }
            } else if let Some(text) = self.text(template) {
                // Put together of several parts, a value could refer to something that no part of it does.
                if refers(&text) {
                    return Err(RegistryError::BadInput { input: name.clone() });
                }
                values.insert(name.clone(), text);
            }
        }
        Ok(values)
    }

    fn arguments(&self, recipes: &[ArgumentRecipe]) -> Vec<String> {
        let mut args = Vec::new();
        for recipe in recipes {
            match recipe {
                ArgumentRecipe::Fixed(text) => args.push(text.clone()),
                ArgumentRecipe::Flag { name, input } => {
                    if self.values.get(input) == Some(&"true") {
                        args.push(name.clone());
                    }
                }
                ArgumentRecipe::Value { name, value, repeated } => {
                    let Some(text) = self.text(value) else { continue };
                    let values: Vec<&str> = if *repeated {
                        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
                    } else {
                        vec![&text]
                    };
                    for value in values {
                        match name {
                            None => args.push(value.to_owned()),
                            Some(name) if name.ends_with('=') => args.push(format!("{name}{value}")),
                            Some(name) => args.extend([name.clone(), value.to_owned()]),
                        }
                    }
                }
            }
        }
        args
    }
}

/// Whether an input takes a value.
fn is_allowed(input: &RegistryInput, value: &str) -> bool {
    let is_readable = |line: &str| !line.chars().any(is_invisible);
    let fits = |value: &str| {
        let is_choice = input.choices.is_empty() || input.choices.iter().any(|choice| choice == value);
        let has_format = match input.format {
            RegistryInputFormat::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
            RegistryInputFormat::Boolean => matches!(value, "true" | "false"),
            RegistryInputFormat::String | RegistryInputFormat::Filepath => true,
        };
        is_choice && has_format && is_readable(value)
    };
    value.len() <= MAX_ENTERED_BYTES
        && if input.repeated {
            value.lines().map(str::trim).filter(|line| !line.is_empty()).all(fits)
        } else {
            fits(value)
        }
}

impl Recipe {
    /// The transport that the recipe makes of what was entered, and the secrets in it.
    pub(super) fn transport(
        &self,
        entered: &Entered<'_>,
    ) -> Result<(Transport, Vec<ComposedSecret>), RegistryError> {
        let mut secrets = Vec::new();
        let transport = match self {
            Self::Program { command, args, env, package: _ } => Transport::Stdio {
                command: command.clone(),
                args: entered.arguments(args),
                env: entered.named("env", env, &mut secrets)?,
                cwd: None,
                streams: StdioStreams::default(),
            },
            Self::Remote { kind, url, headers } => {
                let url = entered.text(url).filter(|url| is_web_address(url)).ok_or(RegistryError::BadUrl)?;
                let headers = entered.named("headers", headers, &mut secrets)?;
                let remote = Remote { headers, ..Remote::at(url) };
                match kind {
                    RegistryOptionKind::Sse => Transport::Sse(remote),
                    _ => Transport::Http(remote),
                }
            }
        };
        Ok((transport, secrets))
    }
}

fn is_web_address(url: &str) -> bool {
    let is_web = |url: Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    !url.contains(char::is_whitespace) && Url::parse(url).is_ok_and(is_web)
}
