//! The lines of the control socket, in both directions.

use gatehouse_model::{EventEnvelope, UserError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// Longest request on a channel, in bytes before encryption.
pub(super) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;
/// Longest line, in bytes, that is read from a peer that is not authenticated.
pub(super) const MAX_PLAIN_LINE_BYTES: usize = 1024 * 1024;
/// Longest encrypted line that is read: [`MAX_LINE_BYTES`] in base64, with the authentication tag.
pub(super) const MAX_SEALED_LINE_BYTES: usize = MAX_LINE_BYTES / 3 * 4 + 64;
/// The command that is answered by a stream of events.
pub(super) const EVENTS: &str = "events";

/// An incoming request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RequestLine {
    pub(super) id: u64,
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutgoingRequest<'a> {
    pub(super) id: u64,
    pub(super) command: &'a str,
    pub(super) args: &'a RawValue,
}

/// An outgoing answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutgoingResponse<'a> {
    pub(super) id: Option<u64>,
    #[serde(flatten)]
    pub(super) body: ResponseBody<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ResponseBody<'a> {
    Reply(&'a RawValue),
    Problem(&'a UserError),
    Event(&'a EventEnvelope),
    Missed(bool),
}

/// An incoming answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseLine {
    #[serde(default)]
    pub(super) id: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    pub(super) reply: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) problem: Option<UserError>,
    #[serde(default)]
    pub(super) event: Option<EventEnvelope>,
    #[serde(default)]
    pub(super) missed: bool,
}

/// Keeps a reply of `null` apart from a missing one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Arguments of [`EVENTS`].
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventsArgs {
    #[serde(default)]
    pub(super) after: Option<u64>,
}

#[cfg(test)]
mod tests {
    use gatehouse_model::ErrorCode;

    use super::*;

    #[test]
    fn preserves_reply_bytes() {
        for text in [r#"{"b":1,"a":123456789012345678901234567890,"b2":1.0}"#, "null", "[]"] {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            let line =
                serde_json::to_string(&OutgoingResponse { id: Some(7), body: ResponseBody::Reply(&raw) })
                    .unwrap();
            assert_eq!(line, format!(r#"{{"id":7,"reply":{text}}}"#));
            let read: ResponseLine = serde_json::from_str(&line).unwrap();
            assert_eq!((read.id, read.reply.unwrap().get()), (Some(7), text));
        }
    }

    #[test]
    fn round_trips_problem() {
        let problem = UserError::new(ErrorCode::NotFound, "There is no such server.");
        let line =
            serde_json::to_string(&OutgoingResponse { id: None, body: ResponseBody::Problem(&problem) })
                .unwrap();
        let read: ResponseLine = serde_json::from_str(&line).unwrap();
        assert_eq!(read.problem, Some(problem));
        assert!(read.reply.is_none());
    }

    #[test]
    fn rejects_unknown_request_members() {
        assert!(
            serde_json::from_str::<RequestLine>(r#"{"id":1,"command":"status","args":{},"key":"x"}"#)
                .is_err()
        );
        assert!(serde_json::from_str::<RequestLine>(r#"{"id":1,"command":"status"}"#).is_ok());
    }
}
