//! Resolves `${env:NAME}` and `${secret:NAME}` in the values of a server's settings, only when a
//! connection is made. A secret is available only to the server, generation and field that it is
//! bound to, whatever name the reference uses. Resolved values are never logged.

use std::sync::Arc;

use gatehouse_common::secret_names::is_secret_setting;
use gatehouse_common::user_environment;
use gatehouse_mcp_client::{ConnectError, Redactor};
use gatehouse_model::{Secret, ServerConfig, message};
use gatehouse_store::{SecretKey, SecretStore};

/// A group of fields of a server's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldGroup {
    /// Environment variables.
    Env,
    /// HTTP headers.
    Headers,
}

impl FieldGroup {
    /// Its name in the keys of stored secrets.
    fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Headers => "headers",
        }
    }
}

/// What references are resolved with.
pub(super) struct ReferenceSources<'a> {
    pub(super) config: &'a Arc<ServerConfig>,
    pub(super) secrets: &'a Arc<dyn SecretStore>,
    /// Learns the secrets among the values.
    pub(super) redactor: &'a Redactor,
}

/// Resolves one group of fields of a server: name and value of each. Adds to the redactor all secrets among them and what is likely one: header values taken from the
/// environment, and variables and headers with a name that indicates a secret. Runs on a blocking
/// thread, because the secret store may be slow.
pub(super) async fn resolve(
    sources: ReferenceSources<'_>,
    group: FieldGroup,
    fields: Vec<(String, String)>,
) -> Result<Vec<(String, Secret)>, ConnectError> {
    if !fields.iter().any(|(_, value)| value.contains("${")) {
        let known = |(name, value): (String, String)| {
            register_header_secret(sources.redactor, group, &name, &value);
            (name, Secret::new(value))
        };
        return Ok(fields.into_iter().map(known).collect());
    }
    let config = Arc::clone(sources.config);
    let secrets = Arc::clone(sources.secrets);
    let redactor = sources.redactor.clone();
    tokio::task::spawn_blocking(move || {
        let stored = |field: &str| -> Result<String, ConnectError> {
            let key = SecretKey::for_server_field(&config.binding(), field);
            let secret =
                secrets.get(&key).map_err(|error| ConnectError::Secrets { why: error.to_string() })?;
            let missing =
                || ConnectError::bad_config(message!("error.servers.config.secretMissing", field = field));
            let text = secret.ok_or_else(missing)?.reveal().to_owned();
            redactor.add(&text);
            Ok(text)
        };
        let mut values = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let field = format!("{}/{name}", group.as_str());
            let value = substitute(&value, |reference| match reference {
                Reference::Env(variable) => {
                    let text = from_environment(&field, variable)?;
                    if group == FieldGroup::Headers || is_secret_setting(&name) || is_secret_setting(variable)
                    {
                        redactor.add(&text);
                    }
                    Ok(text)
                }
                Reference::Secret => stored(&field),
            })?;
            register_header_secret(&redactor, group, &name, &value);
            values.push((name, Secret::new(value)));
        }
        Ok(values)
    })
    .await
    .unwrap_or_else(|error| Err(ConnectError::Secrets { why: error.to_string() }))
}

fn from_environment(field: &str, variable: &str) -> Result<String, ConnectError> {
    let unset = || {
        ConnectError::bad_config(message!(
            "error.servers.config.variableUnset",
            field = field,
            variable = variable
        ))
    };
    user_environment::variable(variable).and_then(|value| value.into_string().ok()).ok_or_else(unset)
}

/// Adds the value of a secret header to the redactor, including values entered as plain text.
fn register_header_secret(redactor: &Redactor, group: FieldGroup, name: &str, value: &str) {
    if group != FieldGroup::Headers || !is_secret_setting(name) {
        return;
    }
    redactor.add_header(value);
    if name.eq_ignore_ascii_case("cookie") {
        for (_, content) in value.split(';').filter_map(|cookie| cookie.split_once('=')) {
            redactor.add(content.trim());
        }
    }
}

enum Reference<'a> {
    Env(&'a str),
    Secret,
}

/// Replaces each reference; text that only resembles one stays.
fn substitute(
    text: &str,
    mut look_up: impl FnMut(Reference<'_>) -> Result<String, ConnectError>,
) -> Result<String, ConnectError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match inside.split_once(':') {
            Some(("env", name)) if !name.is_empty() => out.push_str(&look_up(Reference::Env(name))?),
            Some(("secret", name)) if !name.is_empty() => out.push_str(&look_up(Reference::Secret)?),
            _ => {
                out.push_str("${");
                out.push_str(inside);
                out.push('}');
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutes_references() {
        let table = [
            ("plain", "plain"),
            ("Bearer ${secret:token}", "Bearer S"),
            ("${env:HOME}/x/${env:HOME}", "E(HOME)/x/E(HOME)"),
            ("${unknown:x} ${} $ {env:X}", "${unknown:x} ${} $ {env:X}"),
            ("open ${env:X", "open ${env:X"),
            ("${secret:}", "${secret:}"),
        ];
        for (text, expected) in table {
            let filled = substitute(text, |reference| {
                Ok(match reference {
                    Reference::Env(name) => format!("E({name})"),
                    Reference::Secret => "S".to_owned(),
                })
            });
            assert_eq!(filled.unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn registers_secret_headers_from_settings() {
        for (name, value, text, clean) in [
            ("Authorization", "Bearer tok-123456", "got tok-123456", "got ••••••"),
            ("authorization", "Basic dXNlcjpwYXNz", "got dXNlcjpwYXNz", "got ••••••"),
            ("Proxy-Authorization", "Basic dXNlcjpwYXNz", "got dXNlcjpwYXNz", "got ••••••"),
            ("X-Api-Key", "key-123456", "got key-123456", "got ••••••"),
            ("Acme-Key", "key-123456", "got key-123456", "got ••••••"),
            ("X-Acme-Token", "tok-123456", "got tok-123456", "got ••••••"),
            ("Cookie", "theme=dark; sid=abc-123456", "got abc-123456", "got ••••••"),
            ("X-Team", "platform", "got platform", "got platform"),
        ] {
            let redactor = Redactor::default();
            register_header_secret(&redactor, FieldGroup::Headers, name, value);
            assert_eq!(redactor.text(text.to_owned()), clean, "{name}");
            let redactor = Redactor::default();
            register_header_secret(&redactor, FieldGroup::Env, name, value);
            assert_eq!(redactor.text(text.to_owned()), text, "{name}");
        }
    }
}
