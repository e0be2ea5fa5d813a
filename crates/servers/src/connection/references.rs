//! `${env:NAME}` and `${secret:NAME}` in the values of an entry, resolved only when the connection
//! is made. A secret serves only the server, generation and field that it was bound to, whatever
//! name the reference uses; and what was resolved is never logged.

use std::sync::Arc;

use gatehouse_model::secret::REDACTED;
use gatehouse_model::{Secret, ServerConfig};
use gatehouse_store::{SecretKey, SecretStore};

use super::error::ConnectError;

/// Shortest secret that is looked for in logs: shorter ones would redact half of every line.
const SHORTEST_REDACTED: usize = 6;

/// The values of one group of fields (`env`, `headers`), resolved.
pub(super) struct Resolved {
    /// Name and value of each field.
    pub(super) values: Vec<(String, Secret)>,
    /// The secrets that were put in.
    pub(super) redactor: Redactor,
}

/// Takes secrets out of what a server prints.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    secrets: Arc<[Secret]>,
}

impl Redactor {
    /// The line without the secrets.
    pub(crate) fn redact(&self, line: String) -> String {
        let mut line = line;
        for secret in &*self.secrets {
            if line.contains(secret.reveal()) {
                line = line.replace(secret.reveal(), REDACTED);
            }
        }
        line
    }
}

/// Resolves a group of fields. The store of secrets may be slow, so this runs beside the executor.
pub(super) async fn resolve(
    config: &Arc<ServerConfig>,
    group: &'static str,
    fields: Vec<(String, String)>,
    secrets: &Arc<dyn SecretStore>,
) -> Result<Resolved, ConnectError> {
    if !fields.iter().any(|(_, value)| value.contains("${")) {
        let values = fields.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        return Ok(Resolved { values, redactor: Redactor::default() });
    }
    let config = Arc::clone(config);
    let secrets = Arc::clone(secrets);
    tokio::task::spawn_blocking(move || {
        let mut used = Vec::new();
        let mut values = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let field = format!("{group}/{name}");
            let value = fill(&value, |reference| match reference {
                Reference::Env(variable) => std::env::var(variable).map_err(|_| ConnectError::BadConfig {
                    what: format!(
                        "The field {field} refers to the environment variable {variable}, which is not set."
                    ),
                }),
                Reference::Secret => {
                    let key = SecretKey::bound(&config.id, config.generation, &field);
                    let secret = secrets
                        .get(&key)
                        .map_err(|error| ConnectError::Secrets { why: error.to_string() })?
                        .ok_or_else(|| ConnectError::BadConfig {
                            what: format!("The secret for the field {field} is not stored."),
                        })?;
                    let text = secret.reveal().to_owned();
                    used.push(secret);
                    Ok(text)
                }
            })?;
            values.push((name, Secret::new(value)));
        }
        used.retain(|secret| secret.reveal().len() >= SHORTEST_REDACTED);
        Ok(Resolved { values, redactor: Redactor { secrets: used.into() } })
    })
    .await
    .unwrap_or_else(|error| Err(ConnectError::Secrets { why: error.to_string() }))
}

enum Reference<'a> {
    Env(&'a str),
    Secret,
}

/// Replaces each reference; what only looks like one stays.
fn fill(
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
    fn references_are_filled_and_the_rest_is_left_alone() {
        let table = [
            ("plain", "plain"),
            ("Bearer ${secret:token}", "Bearer S"),
            ("${env:HOME}/x/${env:HOME}", "E(HOME)/x/E(HOME)"),
            ("${unknown:x} ${} $ {env:X}", "${unknown:x} ${} $ {env:X}"),
            ("open ${env:X", "open ${env:X"),
            ("${secret:}", "${secret:}"),
        ];
        for (text, expected) in table {
            let filled = fill(text, |reference| {
                Ok(match reference {
                    Reference::Env(name) => format!("E({name})"),
                    Reference::Secret => "S".to_owned(),
                })
            });
            assert_eq!(filled.unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn secrets_are_taken_out_of_lines() {
        let redactor = Redactor { secrets: vec![Secret::new("hunter2-hunter2")].into() };
        assert_eq!(redactor.redact("key=hunter2-hunter2!".to_owned()), format!("key={REDACTED}!"));
    }
}
