//! The errors that providers report, in the body of an error status or in the middle of a stream:
//!
//! - OpenAI: `{"error": {"message", "type", "code"}}`; in a stream of responses `{"type": "error", "message", "code"}`
//! - Anthropic: `{"type": "error", "error": {"type", "message"}}`
//! - Gemini: `{"error": {"code", "message", "status", "details": [{"retryDelay": "30s"}]}}`, also in an array
//! - compatible servers: `{"error": "text"}`, `{"message": "text"}`, `{"detail": "text"}`, or plain text

use std::time::Duration;

use gatehouse_model::Secret;
use serde_json::Value;

use super::error::presentable;

/// Codes of limits that a wait doesn't lift.
const PERMANENT: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"];
/// Types and codes of errors that a wait may lift.
const BUSY: [&str; 8] = [
    "rate_limit_error",
    "rate_limit_exceeded",
    "overloaded_error",
    "server_overloaded",
    "too_many_requests",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "slow_down",
];

/// An error as its provider reports it.
#[derive(Debug, Default)]
pub(super) struct ReportedError {
    /// Its message, without the key.
    pub(super) said: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// Whether it is a JSON document in which a provider reports errors.
    pub(super) is_structured: bool,
    /// Whether a wait may help.
    pub(super) is_busy: bool,
    /// Whether no wait helps.
    pub(super) is_permanent: bool,
}

/// Reads the body of an error status.
pub(super) fn read_error(body: &[u8], key: Option<&Secret>) -> ReportedError {
    let text = String::from_utf8_lossy(body);
    match serde_json::from_str(&text) {
        Ok(document) => read_error_document(&document, key),
        // A page of a proxy helps nobody.
        Err(_) if text.trim_start().starts_with('<') => ReportedError::default(),
        Err(_) => ReportedError { said: presentable(&text, key), ..ReportedError::default() },
    }
}

/// Reads an error document.
pub(super) fn read_error_document(document: &Value, key: Option<&Secret>) -> ReportedError {
    let document = document.get(0).unwrap_or(document);
    let error = match document.get("error") {
        None | Some(Value::Null) => document,
        Some(error) => error,
    };
    let said = ["message", "detail", "error", "msg"]
        .iter()
        .find_map(|name| error.get(name)?.as_str())
        .or_else(|| error.as_str())
        .and_then(|text| presentable(text, key));
    let names = || ["code", "type", "status"].iter().filter_map(|name| error.get(name)?.as_str());
    ReportedError {
        is_structured: said.is_some(),
        said,
        retry_after: retry_delay(error),
        is_busy: names().any(|name| BUSY.contains(&name)),
        is_permanent: names().any(|name| PERMANENT.contains(&name)),
    }
}

/// Gemini's wait: seconds with an `s` behind them.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_errors_of_each_provider() {
        for (body, said) in [
            (
                r#"{"error":{"message":"Bad model","type":"invalid_request_error","code":null}}"#,
                Some("Bad model"),
            ),
            (r#"{"type":"error","code":"x","message":"Odd","param":null}"#, Some("Odd")),
            (r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#, Some("model: x")),
            (
                r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#,
                Some("API key not valid."),
            ),
            (r#"{"error":"model 'x' not found"}"#, Some("model 'x' not found")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (r#"{"object":"error","message":"no such model"}"#, Some("no such model")),
            ("upstream\n is   gone", Some("upstream is gone")),
            ("<html><body>502</body></html>", None),
            ("", None),
            ("{}", None),
            ("[]", None),
            ("{\"error\":{\"message\":\"a\u{202e}b\\nc\"}}", Some("ab c")),
        ] {
            assert_eq!(read_error(body.as_bytes(), None).said.as_deref(), said, "{body}");
        }
        assert!(read_error(&[0xff, 0xfe], None).said.is_some());
    }

    #[test]
    fn removes_key_before_cutting() {
        let key = Secret::new("sk-0123456789");
        let body = format!(r#"{{"error":{{"message":"{} {} used"}}}}"#, "x".repeat(395), key.reveal());
        let said = read_error(body.as_bytes(), Some(&key)).said.unwrap();
        assert!(!said.contains("sk-"), "{said}");
        let escaped = r#"{"error":"wrong key \u0073k-0123456789"}"#;
        assert_eq!(read_error(escaped.as_bytes(), Some(&key)).said.as_deref(), Some("wrong key ••••••"));
    }

    #[test]
    fn tells_waits_from_limits() {
        let quota = read_error(br#"{"error":{"message":"Pay","code":"insufficient_quota"}}"#, None);
        assert!(quota.is_permanent && !quota.is_busy);
        let busy = read_error(
            br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            None,
        );
        assert!(busy.is_busy && !busy.is_permanent);
        let details = r#"{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"a"},{"retryDelay":"2.5s"}]}}"#;
        assert_eq!(read_error(details.as_bytes(), None).retry_after, Some(Duration::from_millis(2500)));
    }
}
