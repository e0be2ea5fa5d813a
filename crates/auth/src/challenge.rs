//! Reading a 401's `WWW-Authenticate`, only to tell the user whom to sign in with.
//!
//! What a server says here is never followed: discovery does that, with its own checks.

use url::Url;

/// Whom a 401 challenge points to: an issuer if it names one, else the origin of its
/// protected-resource metadata. Only `https` addresses, or `http` on this machine, are answered.
#[must_use]
pub fn issuer_hint(www_authenticate: &str) -> Option<String> {
    let parameters = bearer_parameters(www_authenticate);
    let value = |name: &str| {
        parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| sound(value))
    };
    if let Some(issuer) = ["issuer", "as_uri", "authorization_uri"].iter().find_map(|name| value(name)) {
        return Some(issuer.to_string().trim_end_matches('/').to_owned());
    }
    value("resource_metadata").map(|url| url.origin().ascii_serialization())
}

fn sound(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let local = host == "localhost" || host == "127.0.0.1" || host == "[::1]";
    let sound = url.scheme() == "https" || (url.scheme() == "http" && local);
    (sound && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Name and value of each parameter of the Bearer challenges; parameters of other schemes are
/// left out.
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

/// A token or a quoted string, and what comes after it.
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
    use super::issuer_hint;

    #[test]
    fn hints() {
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
            (r#"Bearer resource_metadata="http://mcp.example/m""#, None),
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
