//! Classification of errors that other programs and libraries express only as text. This is the
//! only place that matches on such text, and no permission depends on it: the worst outcome of a
//! misclassification is a missing or needless retry.

use std::error::Error;

use gatehouse_model::{Message, UserText, message};

use super::NetworkError;

/// Whether the body of an HTTP 400 says that the session is unknown (SRV-6).
pub(crate) fn is_invalid_session(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    body.contains("session")
        && ["invalid", "not found", "unknown", "expired", "no valid", "not exist", "-32001"]
            .iter()
            .any(|word| body.contains(word))
}

/// Classifies an error of the HTTP client.
#[must_use]
pub fn classify_network_error(error: &reqwest::Error) -> NetworkError {
    let mut chain = Vec::new();
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    while let Some(current) = source {
        if let Some(io) = current.downcast_ref::<std::io::Error>()
            && let Some(text) = describe_io_error(io.kind())
        {
            return NetworkError { text: text.into(), is_permanent: false };
        }
        chain.push(current.to_string());
        source = current.source();
    }
    let words = chain.join(" ").to_ascii_lowercase();
    let says = |any: &[&str]| any.iter().any(|word| words.contains(word));
    let last: UserText =
        chain.pop().map_or_else(|| message!("error.servers.network.notMade").into(), UserText::Plain);
    let (text, is_permanent): (UserText, bool) = if error.is_timeout() {
        (message!("error.servers.network.timedOut").into(), false)
    } else if says(&["certificate"]) {
        (message!("error.servers.network.untrusted", reason = last).into(), true)
    } else if says(&["temporary failure in name resolution", "try again"]) {
        (message!("error.servers.network.notLookedUp").into(), false)
    } else if says(&["dns error", "failed to lookup", "name or service not known", "nodename nor servname"]) {
        (message!("error.servers.network.unknownName").into(), true)
    } else {
        (last, false)
    };
    NetworkError { text, is_permanent }
}

fn describe_io_error(kind: std::io::ErrorKind) -> Option<Message> {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::ConnectionRefused => Some(message!("error.servers.network.refused")),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(message!("error.servers.network.brokenOff")),
        ErrorKind::TimedOut => Some(message!("error.servers.network.timedOut")),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            Some(message!("error.servers.network.noRoute"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_lost_session_from_other_bad_requests() {
        let table = [
            (r#"{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#, true),
            (r#"{"error":{"code":-32001,"message":"Session not found"}}"#, true),
            ("Invalid session id", true),
            ("Invalid arguments", false),
            ("the session's tool failed", false),
            ("", false),
        ];
        for (body, expected) in table {
            assert_eq!(is_invalid_session(body), expected, "{body}");
        }
    }
}
