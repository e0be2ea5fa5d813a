//! A request that the user makes in Gatehouse's own window, and what becomes known of it besides its result: the call, the
//! verdict, and the messages on the wire. It decides nothing.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_model::server_catalog::{TruncatedText, WireMessage};
use gatehouse_model::{CallId, ClientEntry, Verdict};
use gatehouse_servers::{Redactor, WireTap};
use parking_lot::Mutex;

/// Messages of one request that are kept.
const MAX_MESSAGES: usize = 32;
/// Bytes of a message that are kept.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A request of the user's.
#[derive(Default)]
pub struct UserRun {
    name: Option<Box<str>>,
    client: Option<Arc<ClientEntry>>,
    /// The program that the client's permissions are bound to, as which the client counts.
    program: OnceLock<Box<str>>,
    seen: Mutex<ObservedRun>,
}

#[derive(Default)]
struct ObservedRun {
    call: Option<(CallId, Redactor)>,
    verdict: Option<Verdict>,
    waited: Duration,
    messages: Vec<WireMessage>,
}

/// Prints only the call: messages must not get into logs.
impl fmt::Debug for UserRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserRun").field("call", &self.call()).finish_non_exhaustive()
    }
}

impl UserRun {
    /// A request with the name that the user's window knows it by, as this client, or as the user.
    #[must_use]
    pub fn new(name: Option<&str>, client: Option<Arc<ClientEntry>>) -> Self {
        Self { name: name.map(Into::into), client, ..Self::default() }
    }

    /// The name that the user's window knows it by.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The client in whose name it is made.
    pub(crate) fn client(&self) -> Option<&Arc<ClientEntry>> {
        self.client.as_ref()
    }

    /// The program that the client counts as.
    pub(crate) fn program(&self) -> Option<&str> {
        self.program.get().map(|program| &**program)
    }

    /// Sets the program that the client counts as. Only the first one counts.
    pub(crate) fn set_program(&self, program: &str) {
        self.program.get_or_init(|| program.into());
    }

    /// Sets the call that the run is recorded as.
    pub(crate) fn set_call(&self, call: &CallId, redactor: Redactor) {
        self.seen.lock().call = Some((call.clone(), redactor));
    }

    /// Sets how the call was judged, once it has ended or become a task.
    pub(crate) fn set_verdict(&self, verdict: &Verdict, waited: Duration) {
        let mut seen = self.seen.lock();
        seen.verdict = Some(verdict.clone());
        seen.waited = waited;
    }

    /// The call that it came to.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.seen.lock().call.as_ref().map(|(call, _)| call.clone())
    }

    /// What decided.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.seen.lock().verdict.clone()
    }

    /// How long it waited for a person.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.seen.lock().waited
    }

    /// Its messages without the server's secrets, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<WireMessage> {
        let seen = self.seen.lock();
        let clean = |text: String| match &seen.call {
            Some((_, redactor)) => redactor.text(text),
            None => text,
        };
        let shown = |message: &WireMessage| WireMessage {
            sent: message.sent,
            text: TruncatedText {
                text: clean(message.text.text.clone()),
                whole_bytes: message.text.whole_bytes,
            },
        };
        seen.messages.iter().map(shown).collect()
    }

    fn keep(&self, sent: bool, message: &[u8]) {
        let mut seen = self.seen.lock();
        if seen.messages.len() == MAX_MESSAGES {
            return;
        }
        let kept = message.get(..MAX_MESSAGE_BYTES).unwrap_or(message);
        let mut text = String::from_utf8_lossy(kept).into_owned();
        let is_cut = kept.len() < message.len();
        if is_cut {
            // The cut may have gone through a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        let whole_bytes = is_cut.then_some(message.len() as u64);
        seen.messages.push(WireMessage { sent, text: TruncatedText { text, whole_bytes } });
    }
}

impl WireTap for UserRun {
    fn sent(&self, message: &[u8]) {
        self.keep(true, message);
    }

    fn received(&self, message: &[u8]) {
        self.keep(false, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_messages_without_secrets_and_within_limits() {
        let run = UserRun::default();
        let redactor = Redactor::default();
        redactor.add("correct-horse-battery");
        run.set_call(&"call-1".into(), redactor);
        run.sent(br#"{"id":"g1"}"#);
        run.received(br#"{"text":"correct-horse-battery"}"#);
        run.received("ä".repeat(MAX_MESSAGE_BYTES).as_bytes());
        let messages = run.messages();
        assert_eq!((messages[0].sent, messages[0].text.text.as_str()), (true, r#"{"id":"g1"}"#));
        assert!(!messages[1].sent && !messages[1].text.text.contains("horse"), "{:?}", messages[1]);
        assert_eq!(messages[2].text.whole_bytes, Some(2 * MAX_MESSAGE_BYTES as u64));
        assert_eq!(messages[2].text.text.len(), MAX_MESSAGE_BYTES);
        for _ in 0..MAX_MESSAGES {
            run.sent(b"{}");
        }
        assert_eq!(run.messages().len(), MAX_MESSAGES);
    }
}
