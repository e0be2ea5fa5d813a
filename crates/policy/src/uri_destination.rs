//! Whether a URI or URI template (RFC 6570) leads to a location of the server's own or to one that the client
//! chooses.

/// Network schemes. Any other scheme is taken to be the server's own.
const NETWORK: &[&str] = &[
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "sftp",
    "scp",
    "ssh",
    "telnet",
    "git",
    "svn",
    "rsync",
    "gopher",
    "ldap",
    "ldaps",
    "smb",
    "cifs",
    "afp",
    "nfs",
    "dav",
    "davs",
    "webdav",
    "webdavs",
    "rtsp",
    "mailto",
    "xmpp",
    "imap",
    "imaps",
    "pop",
    "smtp",
    "smtps",
    "irc",
    "mqtt",
    "mqtts",
    "amqp",
    "amqps",
    "redis",
    "rediss",
    "postgres",
    "postgresql",
    "mysql",
    "mongodb",
    "mssql",
    "jdbc",
    "odbc",
    "s3",
    "gs",
    "dns",
    "tcp",
    "udp",
    "data",
    "blob",
    "view-source",
    "jar",
    "javascript",
];

/// Whether a URI has a network scheme, or no recognisable scheme.
pub(crate) fn is_network_uri(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return true };
    if !is_scheme(scheme) {
        return true;
    }
    let scheme = scheme.to_ascii_lowercase();
    // Also compound schemes such as `git+ssh` and `svn+http`.
    let of_network = scheme.split('+').any(|part| NETWORK.contains(&part));
    of_network || (scheme == "file" && has_remote_host(rest))
}

/// Whether a `file` URI is on another machine: `file://host/share`, `file:////host/share`, `file:\\\\host`.
fn has_remote_host(rest: &str) -> bool {
    let rest = rest.replace('\\', "/");
    let slashes = rest.len() - rest.trim_start_matches('/').len();
    match slashes {
        2 => {
            let host = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
            !(host.is_empty() || host.eq_ignore_ascii_case("localhost"))
        }
        0 | 1 | 3 => false,
        _ => true,
    }
}

/// Whether a template lets the client choose the scheme or the host, or has a network scheme.
pub(crate) fn lets_client_choose_target(template: &str) -> bool {
    let (literal, expression) = template.split_once('{').unwrap_or((template, ""));
    if is_network_uri(literal) {
        return true;
    }
    // A query or fragment expression ends the part before it.
    let open = !expression.is_empty() && !expression.starts_with(['?', '#']);
    let rest = literal.split_once(':').map_or("", |(_, rest)| rest);
    match rest.strip_prefix("//") {
        // The host ends before the first expression, or there is no host.
        Some(authority) => open && !expression.starts_with('/') && !authority.contains(['/', '?', '#']),
        // The expansion may become `//host`.
        None => open && (rest.is_empty() || rest == "/"),
    }
}

/// Whether a text is a syntactically valid URI scheme.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_templates_with_client_chosen_targets() {
        for template in [
            "https://{+url}",
            "https://docs.example/{page}",
            "HTTPS://docs.example/{page}",
            "{scheme}://{host}/{+path}",
            "{+all}",
            "{scheme}:x",
            "web{+rest}",
            "ftp://files.example/{+path}",
            "ws://x/{y}",
            "git+ssh://x/{y}",
            "notes://{id}",
            "notes://{+id}",
            "notes://a.{b}/x",
            "notes://all{&id}",
            "notes://all{.id}",
            "notes:{+rest}",
            "notes:{rest}",
            "notes:/{+rest}",
            "notes:{/rest*}",
            "file://{+path}",
            "file://{host}/share/{+path}",
            "file://nas/share/{+path}",
            "file:////nas/{+path}",
            "data:text/plain,{text}",
            "://{x}",
            "no scheme {x}",
        ] {
            assert!(lets_client_choose_target(template), "{template}");
        }
        for template in [
            "file:///{+path}",
            "file:///home/{user}/{+path}",
            "file://localhost/{+path}",
            "notes:///{id}",
            "notes://all/{id}",
            "fixture://item/{id}",
            "notes://all{?id}",
            "notes://all{#id}",
            "notes://all{/id*}",
            "notes://all#{id}",
            "notes:{?id}",
            "urn:notes:{id}",
            "notes:/all/{id}",
            "notes://plain",
        ] {
            assert!(!lets_client_choose_target(template), "{template}");
        }
    }

    #[test]
    fn detects_network_uris() {
        for uri in [
            "https://a/b",
            "HTTP://a",
            "ftp://a",
            "git+https://a",
            "mailto:me",
            "file://nas/x",
            "file:////nas/x",
            "file:\\\\nas\\x",
            "file:/\\nas/x",
            "a b:c",
            "plain",
            "",
        ] {
            assert!(is_network_uri(uri), "{uri}");
        }
        for uri in
            ["file:///a", "file:/a", "file:a", "file://localhost/a", "notes://https/x", "notes:https://x"]
        {
            assert!(!is_network_uri(uri), "{uri}");
        }
    }
}
