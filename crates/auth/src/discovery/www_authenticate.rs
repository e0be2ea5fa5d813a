//! Parses `WWW-Authenticate`: resource metadata URL, required scopes, and a hint about the issuer.
//!
//! The content is only a hint from the server: discovery uses it with checks of its own.

use gatehouse_common::ip_address::is_https_or_loopback;
use url::Url;

/// Maximum number of scopes taken from a challenge.
const MAX_SCOPES: usize = 64;

/// The content of a challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The `resource_metadata` URL.
    pub(crate) metadata: Option<Url>,
    pub(crate) scopes: Vec<String>,
    /// Whether the error is `insufficient_scope`.
    pub(crate) is_scope_insufficient: bool,
}

impl Challenge {
    /// Parses all values of the header. The first usable `resource_metadata` and `scope` count.
    pub(crate) fn read(values: &[String]) -> Self {
        let mut challenge = Self::default();
        for (name, value) in values.iter().flat_map(|value| bearer_parameters(value)) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" if challenge.metadata.is_none() => {
                    challenge.metadata = parse_trusted_url(&value)
                }
                "scope" if challenge.scopes.is_empty() => challenge.scopes = scopes(&value),
                "error" if value == "insufficient_scope" => challenge.is_scope_insufficient = true,
                _ => {}
            }
        }
        challenge
    }
}

/// Splits a scope list and removes duplicates. Invalid scopes (RFC 6749 section 3.3) are skipped.
pub(crate) fn scopes(text: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace() {
        let legal = scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if legal && scopes.len() < MAX_SCOPES && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// The issuer that a 401 challenge hints at: the issuer that it names, else the origin of its
/// protected-resource metadata. Only `https` addresses, or `http` on this machine, are returned.
#[must_use]
pub fn issuer_hint(www_authenticate: &str) -> Option<String> {
    let parameters = bearer_parameters(www_authenticate);
    let value = |name: &str| {
        parameters
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| parse_trusted_url(value))
    };
    if let Some(issuer) = ["issuer", "as_uri", "authorization_uri"].iter().find_map(|name| value(name)) {
        return Some(issuer.to_string().trim_end_matches('/').to_owned());
    }
    value("resource_metadata").map(|url| url.origin().ascii_serialization())
}

fn parse_trusted_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (is_https_or_loopback(&url) && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Name and value of each parameter of the Bearer challenges. Parameters of other schemes are skipped.
fn bearer_parameters(header: &str) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut is_bearer = false;
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return parameters;
        }
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            is_bearer = word.eq_ignore_ascii_case("bearer");
            rest = after;
            continue;
        };
        let (text, after) = parameter_value(value.trim_start());
        if is_bearer && !word.is_empty() {
            parameters.push((word.to_owned(), text));
        }
        rest = after;
    }
}

/// Parses a token or a quoted string, and returns it with the rest.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_bearer_challenges() {
        let read = |values: &[&str]| {
            Challenge::read(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
        };
        let address = "https://mcp.example/.well-known/oauth-protected-resource";
        let whole =
            format!(r#"Bearer error="insufficient_scope", scope="a b a", resource_metadata="{address}""#);
        let read_whole = read(&[r#"Basic realm="x""#, &whole, r#"Bearer scope="c""#]);
        assert_eq!(read_whole.scopes, ["a", "b"]);
        assert_eq!(read_whole.metadata.unwrap().as_str(), address);
        assert!(read_whole.is_scope_insufficient);
        assert_eq!(read(&[]), Challenge::default());
        assert_eq!(read(&[r#"Basic scope="a", error="insufficient_scope""#]), Challenge::default());
        assert_eq!(scopes("a \u{7f}b c\"d \u{202e}e f"), ["a", "f"]);
    }

    #[test]
    fn extracts_issuer_hint() {
        for (header, hint) in [
            (
                r#"Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp""#,
                Some("https://mcp.example"),
            ),
            (
                r#"Bearer realm="a, b=\"c\"", issuer="https://id.example/tenant", error="invalid_token""#,
                Some("https://id.example/tenant"),
            ),
            ("bearer authorization_uri=https://id.example/authorize", Some("https://id.example/authorize")),
            (
                r#"Basic realm="x", Bearer resource_metadata = "https://a.example:8443/m""#,
                Some("https://a.example:8443"),
            ),
            (r#"Basic realm="x", issuer="https://id.example""#, None),
            (r#"Bearer resource_metadata="http://127.0.0.1:9/m""#, Some("http://127.0.0.1:9")),
            (r#"Bearer resource_metadata="http://id.localhost:9/m""#, Some("http://id.localhost:9")),
            (r#"Bearer resource_metadata="http://mcp.example/m""#, None),
            (r#"Bearer resource_metadata="http://localhost.evil.example/m""#, None),
            (r#"Bearer issuer="javascript:alert(1)""#, None),
            (r#"Bearer issuer="https://user:pass@id.example""#, None),
            (r#"Bearer issuer="https://id.example"#, Some("https://id.example")),
            ("Bearer", None),
            ("", None),
            ("=,==,\"", None),
        ] {
            assert_eq!(issuer_hint(header).as_deref(), hint, "{header}");
        }
    }
}
