//! The settings of a server as text for an editor outside Gatehouse, which may leave copies on the disk: secrets that
//! are written in plain text are replaced by placeholders. A placeholder stands for a value only in the field that it
//! was written for, and only for the same program or address, so that no edit sends a secret elsewhere.

use gatehouse_mcp_wire::json::push_segment;
use gatehouse_model::server::HeaderProgram;
use gatehouse_model::{ServerConfig, Transport};
use serde_json::{Map, Value};

use super::changes::{is_only_references, mask_secrets};
use super::entry;
use super::problem::{ConfigProblem, ProblemKind};

/// What a placeholder begins with; it ends with `}`.
const PLACEHOLDER: &str = "${kept:";

/// The field of the arguments of a program that prints headers.
const HEADER_ARGS: &str = "headersFrom/args";

/// A secret in a server's settings with its placeholder.
struct KeptValue {
    /// The field: `env/NAME`, `headers/NAME`, `args`, `url` or `headersFrom/args`.
    field: String,
    placeholder: String,
    secret: String,
}

/// The settings as `EntryText` reads them, with placeholders in place of secrets.
///
/// # Errors
/// If they cannot be written as JSON.
pub fn settings_text(server: &ServerConfig) -> serde_json::Result<String> {
    let (entry, _) = masked_entry(server)?;
    serde_json::to_string_pretty(&Value::Object(Map::from_iter([(
        server.name.clone(),
        Value::Object(entry),
    )])))
}

/// Replaces the placeholders in edited settings by the values that are stored for the server.
///
/// # Errors
/// A problem for each field with a placeholder that stands for nothing there, or whose value would go to another program
/// or address.
pub fn fill_kept_values(
    transport: &mut Transport,
    before: Option<&ServerConfig>,
) -> Result<(), Vec<ConfigProblem>> {
    let kept = match before.map(masked_entry) {
        Some(Ok((_, kept))) => kept,
        Some(Err(_)) | None => Vec::new(),
    };
    let mut problems = Vec::new();
    let mut filled_in = Vec::new();
    let mut fill = |field: &str, segments: &[&str], text: &mut String| {
        if !text.contains(PLACEHOLDER) {
            return;
        }
        let mut pointer = String::new();
        segments.iter().for_each(|segment| push_segment(&mut pointer, segment));
        match filled(text, field, &kept) {
            Some(whole) => {
                *text = whole;
                filled_in.push(pointer);
            }
            None => problems.push(ConfigProblem::at(pointer, ProblemKind::NothingKept)),
        }
    };
    match transport {
        Transport::Stdio { args, env, .. } => {
            for (name, text) in env {
                fill(&format!("env/{name}"), &["env", name], text);
            }
            for (at, text) in args.iter_mut().enumerate() {
                fill("args", &["args", &at.to_string()], text);
            }
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            for (name, text) in &mut remote.headers {
                fill(&format!("headers/{name}"), &["headers", name], text);
            }
            fill("url", &["url"], &mut remote.url);
            let args = remote.headers_from.iter_mut().flat_map(|program| &mut program.args);
            for (at, text) in args.enumerate() {
                fill(HEADER_ARGS, &["headersFrom", "args", &at.to_string()], text);
            }
        }
        Transport::Builtin { .. } => {}
    }
    // What could not be filled in differs from before anyway.
    if problems.is_empty() {
        let has_same_recipient = before.is_some_and(|before| before.transport.has_same_recipient(transport));
        let has_same_program =
            before.is_some_and(|before| header_program(&before.transport) == header_program(transport));
        let is_moved = |pointer: &String| {
            !has_same_recipient || (pointer.starts_with("/headersFrom/") && !has_same_program)
        };
        let moved = |pointer| ConfigProblem::at(pointer, ProblemKind::KeptMoved);
        problems.extend(filled_in.into_iter().filter(is_moved).map(moved));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The program that prints headers, which a secret in its arguments goes to.
fn header_program(transport: &Transport) -> Option<&HeaderProgram> {
    transport.remote()?.headers_from.as_ref()
}

/// A text with its placeholders replaced; `None` if one of them stands for nothing in this field.
fn filled(text: &str, field: &str, kept: &[KeptValue]) -> Option<String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PLACEHOLDER) {
        let value =
            kept.iter().find(|value| value.field == field && rest[at..].starts_with(&value.placeholder))?;
        whole.push_str(&rest[..at]);
        whole.push_str(&value.secret);
        rest = &rest[at + value.placeholder.len()..];
    }
    whole.push_str(rest);
    Some(whole)
}

/// The entry without Gatehouse's own member, and the secrets that its placeholders stand for.
fn masked_entry(server: &ServerConfig) -> serde_json::Result<(Map<String, Value>, Vec<KeptValue>)> {
    let mut kept = Vec::new();
    let Value::Object(mut entry) = entry::write(server)? else { return Ok((Map::new(), kept)) };
    entry.remove("gatehouse");
    for place in ["env", "headers"] {
        let Some(Value::Object(values)) = entry.get_mut(place) else { continue };
        for (name, value) in values {
            let field = format!("{place}/{name}");
            let placeholder = format!("{PLACEHOLDER}{field}}}");
            let mut keep = |secret: &str| keep(&mut kept, &field, placeholder.clone(), secret);
            *value = mask_secrets(&format!("/{field}"), value, &mut keep);
        }
    }
    for (field, pointer, mask_as) in
        [("args", "args", "/args"), ("url", "url", "/url"), (HEADER_ARGS, "headersFrom", "/args")]
    {
        let Some(mut value) = entry.get_mut(pointer) else { continue };
        if field == HEADER_ARGS {
            let Some(args) = value.get_mut("args") else { continue };
            value = args;
        }
        let mut keep = |secret: &str| {
            // Without characters that end the password in an address.
            let placeholder = format!("{PLACEHOLDER}{field}.{}}}", kept.len() + 1);
            keep(&mut kept, field, placeholder, secret)
        };
        *value = mask_secrets(mask_as, value, &mut keep);
    }
    Ok((entry, kept))
}

/// Keeps a secret and returns what the text has in its place. What only refers to a secret stays readable.
fn keep(kept: &mut Vec<KeptValue>, field: &str, placeholder: String, secret: &str) -> String {
    if is_only_references(secret) {
        return secret.to_owned();
    }
    kept.push(KeptValue {
        field: field.to_owned(),
        placeholder: placeholder.clone(),
        secret: secret.to_owned(),
    });
    placeholder
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::server::{Remote, StdioStreams};

    use super::*;
    use crate::servers_file::EntryText;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn program() -> ServerConfig {
        let transport = Transport::Stdio {
            command: "x".into(),
            args: ["--token", "first", "--api-key=second", "https://me:third@a.example/"]
                .map(str::to_owned)
                .into(),
            env: pairs(&[("API_KEY", "fourth"), ("STORED_KEY", "${secret:K}"), ("MODE", "fast")]),
            cwd: None,
            streams: StdioStreams::default(),
        };
        ServerConfig::new("srv-1", "one", transport)
    }

    fn remote() -> ServerConfig {
        let headers = pairs(&[
            ("Authorization", "Bearer ${secret:T}"),
            ("X-Api-Key", "fifth"),
            ("X-Half-Key", "half${secret:K}"),
        ]);
        let remote = Remote { headers, ..Remote::at("https://me:sixth@a.example/mcp") };
        ServerConfig::new("srv-2", "two", Transport::Http(remote))
    }

    /// The transport that an edited text comes to, or the pointers of its problems.
    fn read(text: &str, before: Option<&ServerConfig>) -> Result<Transport, Vec<String>> {
        let (_, draft) = EntryText::read(text);
        let mut transport = draft.unwrap_or_else(|problems| panic!("{problems:?}")).transport;
        match fill_kept_values(&mut transport, before) {
            Ok(()) => Ok(transport),
            Err(problems) => Err(problems.iter().map(|problem| problem.place.pointer().to_owned()).collect()),
        }
    }

    #[test]
    fn text_has_placeholders_that_are_read_back() {
        for server in [program(), remote()] {
            let text = settings_text(&server).unwrap();
            for secret in ["first", "second", "third", "fourth", "fifth", "sixth", "half$"] {
                assert!(!text.contains(secret), "{text}");
            }
            assert!(!text.contains("gatehouse"), "{text}");
            assert_eq!(read(&text, Some(&server)), Ok(server.transport.clone()), "{text}");
        }
        let text = settings_text(&remote()).unwrap();
        assert!(text.contains("Bearer ${secret:T}"), "a reference is no secret: {text}");
    }

    #[test]
    fn secrets_of_a_program_that_prints_headers_stay_with_it() {
        let program = HeaderProgram { command: "print".into(), args: vec!["--password=first".into()] };
        let remote = Remote { headers_from: Some(program), ..Remote::at("https://a.example/mcp") };
        let server = ServerConfig::new("srv-3", "three", Transport::Http(remote));
        let text = settings_text(&server).unwrap();
        assert!(!text.contains("first"), "{text}");
        assert_eq!(read(&text, Some(&server)), Ok(server.transport.clone()), "{text}");
        let edited = text.replacen("\"print\"", "\"other\"", 1);
        assert_ne!(edited, text);
        assert_eq!(read(&edited, Some(&server)), Err(vec!["/headersFrom/args/0".to_owned()]), "{edited}");
    }

    #[test]
    fn placeholders_count_only_where_they_were_written() {
        let text = settings_text(&program()).unwrap();
        let moved = |from: &str, to: &str| text.replacen(from, to, 1);
        for (text, before, pointers) in [
            (moved("\"fast\"", "\"${kept:env/API_KEY}\""), Some(program()), &["/env/MODE"][..]),
            (moved("\"--token\"", "\"${kept:env/API_KEY}\""), Some(program()), &["/args/0"]),
            (moved("\"API_KEY\"", "\"OTHER\""), Some(program()), &["/env/OTHER"]),
            (moved("${kept:env/API_KEY}", "${kept:env/API_KEY"), Some(program()), &["/env/API_KEY"]),
            (text.clone(), Some(remote()), &["/env/API_KEY", "/args/1", "/args/2", "/args/3"]),
            (text.clone(), None, &["/env/API_KEY", "/args/1", "/args/2", "/args/3"]),
        ] {
            let pointers = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
            assert_eq!(read(&text, before.as_ref()), Err(pointers), "{text}");
        }
        // Another variable may change.
        assert!(matches!(
            read(&moved("\"fast\"", "\"slow\""), Some(&program())),
            Ok(Transport::Stdio { env, .. }) if env["API_KEY"] == "fourth" && env["MODE"] == "slow"
        ));
    }

    #[test]
    fn placeholders_count_only_for_the_same_program_and_address() {
        let all_of_program = &["/env/API_KEY", "/args/1", "/args/2", "/args/3"][..];
        let all_of_remote = &["/headers/X-Api-Key", "/headers/X-Half-Key", "/url"][..];
        for (server, from, to, pointers) in [
            (program(), "\"x\"", "\"other\"", all_of_program),
            (program(), "@a.example", "@b.example", all_of_program),
            (program(), "\"command\"", "\"cwd\": \"/tmp\", \"command\"", all_of_program),
            (remote(), "@a.example", "@b.example", all_of_remote),
            (remote(), "a.example/mcp", "a.example/other", all_of_remote),
        ] {
            let text = settings_text(&server).unwrap();
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let pointers = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
            assert_eq!(read(&edited, Some(&server)), Err(pointers), "{edited}");
        }
        // Without the placeholders the edit is one like any other.
        let text = settings_text(&remote()).unwrap().replacen("@a.example", "@b.example", 1);
        let text = text.replacen("${kept:headers/X-Api-Key}", "new", 1).replacen("${kept:url.3}", "other", 1);
        let text = text.replacen("${kept:headers/X-Half-Key}", "new", 1);
        assert!(matches!(
            read(&text, Some(&remote())),
            Ok(Transport::Http(remote)) if remote.url == "https://me:other@b.example/mcp"
        ));
    }
}
