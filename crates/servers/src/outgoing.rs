//! What goes to a server and what comes back, as raw JSON.
//!
//! Only the envelope of a message is Gatehouse's; params and results are kept as the bytes that
//! somebody wrote and are never rendered again. `_meta` alone is opened, because both revisions of
//! the protocol want members of the sender's in it.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The params of a request, member by member in their order, each as raw JSON.
#[derive(Clone, Debug, Default)]
pub struct OutgoingParams {
    /// All members but `_meta`.
    pub members: Vec<(Box<str>, Box<RawValue>)>,
    /// `_meta`, an object. Gatehouse's own members replace those of the same name.
    pub meta: Option<Box<RawValue>>,
}

impl OutgoingParams {
    /// No params at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a member whose value is JSON text already.
    #[must_use]
    pub fn with(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.members.push((name.into(), value));
        self
    }

    /// Adds a member whose value is a text.
    #[must_use]
    pub fn with_text(self, name: &str, text: &str) -> Self {
        match serde_json::value::to_raw_value(text) {
            Ok(value) => self.with(name, value),
            // A text can always be written as JSON.
            Err(_) => self,
        }
    }

    /// The raw value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(member, _)| &**member == name).map(|(_, value)| &**value)
    }

    /// The value of a member that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

/// One progress notification of a call.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Its `progress`.
    pub progress: f64,
    /// The notification's whole params.
    pub raw: Box<RawValue>,
}

impl Progress {
    /// Reads it from a notification's params; `None` when there is no number in it.
    pub(crate) fn read(params: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params {
            progress: f64,
        }
        let Params { progress } = serde_json::from_str(params.get()).ok()?;
        Some(Self { progress, raw: params.to_owned() })
    }
}

/// Takes the progress of one call: in the server's order, and before the call's result is given
/// out. It is called where messages are read, so it must be quick and must not wait.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What a server answered, byte for byte.
pub enum Reply {
    /// The `result`.
    Result(Box<RawValue>),
    /// The whole `error` object.
    Error(Box<RawValue>),
}

impl Reply {
    /// The result, or `None` when the server answered an error.
    #[must_use]
    pub fn result(&self) -> Option<&RawValue> {
        match self {
            Self::Result(raw) => Some(raw),
            Self::Error(_) => None,
        }
    }
}

/// Says which and how long: results are not for logs.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(raw) => write!(f, "Reply::Result({} bytes)", raw.get().len()),
            Self::Error(raw) => write!(f, "Reply::Error({} bytes)", raw.get().len()),
        }
    }
}
