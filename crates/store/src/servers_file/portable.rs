//! The settings of a server for another computer: the entry of `servers.json` without what only this Gatehouse knows, and
//! without secrets. A secret that is written in a variable or a header becomes a reference to a stored one; in arguments
//! and addresses, where no stored secret can be, it becomes an input that is asked for.

use gatehouse_model::ServerConfig;
use serde_json::{Map, Value};

use super::changes::{is_only_references, mask_secrets};
use super::entry;

/// The entry of a server without its secrets.
#[derive(Debug)]
pub struct PortableEntry {
    pub entry: Map<String, Value>,
    /// Ids of the inputs that stand in it as `${input:ID}`. Each is a secret.
    pub inputs: Vec<String>,
}

/// Formats a server as an entry without secrets. The ids of its inputs begin with `prefix`.
///
/// # Errors
/// If it can't be written as JSON.
pub fn portable_entry(server: &ServerConfig, prefix: &str) -> serde_json::Result<PortableEntry> {
    let mut inputs = Vec::new();
    let Value::Object(mut entry) = entry::write(server)? else {
        return Ok(PortableEntry { entry: Map::new(), inputs });
    };
    entry.shift_remove("gatehouse");
    for place in ["env", "headers"] {
        let Some(Value::Object(values)) = entry.get_mut(place) else { continue };
        for (name, value) in values {
            let pointer = format!("/{place}/{name}");
            *value = mask_secrets(&pointer, value, &mut |secret| {
                if is_only_references(secret) { secret.to_owned() } else { secret_reference(name) }
            });
        }
    }
    for (pointer, mask_as) in [("/args", "/args"), ("/url", "/url"), ("/headersFrom/args", "/args")] {
        let Some(value) = value_at(&mut entry, pointer) else { continue };
        *value = mask_secrets(mask_as, value, &mut |_| {
            let id = format!("{prefix}-{}", inputs.len() + 1);
            let reference = format!("${{input:{id}}}");
            inputs.push(id);
            reference
        });
    }
    for (pointer, name) in
        [("/signIn/client/secret", "client"), ("/signIn/with/secret", "company"), ("/signIn/with/key", "key")]
    {
        let Some(value) = value_at(&mut entry, pointer) else { continue };
        if value.as_str().is_some_and(|text| !is_only_references(text)) {
            *value = Value::String(secret_reference(name));
        }
    }
    Ok(PortableEntry { entry, inputs })
}

/// The value at a pointer into an entry.
fn value_at<'a>(entry: &'a mut Map<String, Value>, pointer: &str) -> Option<&'a mut Value> {
    let (first, rest) =
        pointer.strip_prefix('/')?.split_once('/').unwrap_or((pointer.strip_prefix('/')?, ""));
    let value = entry.get_mut(first)?;
    if rest.is_empty() { Some(value) } else { value.pointer_mut(&format!("/{rest}")) }
}

/// What stands for a secret in a field. It is stored for the field, whatever its name says.
#[must_use]
pub fn secret_reference(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    format!("${{secret:{}}}", if is_plain { name } else { "value" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::Transport;
    use gatehouse_model::server::{HeaderProgram, Remote, StdioStreams};
    use serde_json::json;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn programs_keep_no_secret() {
        let transport = Transport::Stdio {
            command: "x".into(),
            args: ["--token", "first", "--api-key=second", "https://me:third@a.example/?api_key=fourth&x=1"]
                .map(str::to_owned)
                .into(),
            env: pairs(&[
                ("API_KEY", "fifth"),
                ("FROM_ENV_TOKEN", "${env:TOKEN}"),
                ("MODE", "fast"),
                ("STORED_KEY", "${secret:K}"),
            ]),
            cwd: None,
            streams: StdioStreams::default(),
        };
        let PortableEntry { entry, inputs } =
            portable_entry(&ServerConfig::new("srv-1", "one", transport), "one").unwrap();
        assert_eq!(
            Value::Object(entry),
            json!({
                "command": "x",
                "args": [
                    "--token",
                    "${input:one-1}",
                    "--api-key=${input:one-2}",
                    "https://me:${input:one-3}@a.example/?api_key=${input:one-4}&x=1",
                ],
                "env": {
                    "API_KEY": "${secret:API_KEY}",
                    "FROM_ENV_TOKEN": "${env:TOKEN}",
                    "MODE": "fast",
                    "STORED_KEY": "${secret:K}",
                },
            })
        );
        assert_eq!(inputs, ["one-1", "one-2", "one-3", "one-4"]);
    }

    /// Tried: passwords that begin like a path, or have spaces like a command line.
    #[test]
    fn passwords_of_any_form_are_left_out() {
        for password in ["correct horse battery", "$wordfish", "-swordfish", ".swordfish", "~swordfish"] {
            let transport = Transport::Stdio {
                command: "x".into(),
                args: Vec::new(),
                env: pairs(&[("DB_PASSWORD", password)]),
                cwd: None,
                streams: StdioStreams::default(),
            };
            let PortableEntry { entry, .. } =
                portable_entry(&ServerConfig::new("srv-1", "one", transport), "one").unwrap();
            assert_eq!(entry["env"], json!({ "DB_PASSWORD": "${secret:DB_PASSWORD}" }), "{password}");
        }
    }

    #[test]
    fn secrets_of_headers_and_variables_in_arguments_are_asked_for() {
        let transport = Transport::Stdio {
            command: "npx".into(),
            args: [
                "mcp-remote",
                "https://a.example/mcp",
                "--header",
                "Authorization: Bearer first",
                "-e",
                "API_KEY=second",
            ]
            .map(str::to_owned)
            .into(),
            env: BTreeMap::new(),
            cwd: None,
            streams: StdioStreams::default(),
        };
        let PortableEntry { entry, .. } =
            portable_entry(&ServerConfig::new("srv-1", "one", transport), "one").unwrap();
        assert_eq!(
            entry["args"],
            json!([
                "mcp-remote",
                "https://a.example/mcp",
                "--header",
                "Authorization: Bearer ${input:one-1}",
                "-e",
                "API_KEY=${input:one-2}",
            ])
        );
    }

    #[test]
    fn remote_servers_keep_no_secret() {
        let remote = Remote {
            headers: pairs(&[
                ("Authorization", "Bearer ${env:TOKEN}"),
                ("X-Api-Key", "first"),
                ("X-Mixed-Key", "second${env:TOKEN}"),
                ("X-Half-Key", "half${secret:K}"),
                ("X-Stored-Key", "Bearer ${secret:K}"),
            ]),
            headers_from: Some(HeaderProgram {
                command: "print-headers".into(),
                args: vec!["--password=third".into()],
            }),
            ..Remote::at("https://a.example/mcp?apiKey=fourth")
        };
        let server = ServerConfig::new("srv-2", "two", Transport::Http(remote));
        let PortableEntry { entry, inputs } = portable_entry(&server, "two").unwrap();
        let text = Value::Object(entry.clone()).to_string();
        for secret in ["first", "second", "third", "fourth", "half", "srv-2"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(entry["headers"]["Authorization"], "Bearer ${env:TOKEN}");
        assert_eq!(entry["headers"]["X-Api-Key"], "${secret:X-Api-Key}");
        assert_eq!(entry["headers"]["X-Half-Key"], "${secret:X-Half-Key}");
        assert_eq!(entry["headers"]["X-Stored-Key"], "Bearer ${secret:K}");
        assert_eq!(inputs.len(), 2);
    }
}
