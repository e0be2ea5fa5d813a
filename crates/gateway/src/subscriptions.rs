//! `subscriptions/listen` of the stateless revision: streams that stay open and say when a list changed.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::ClientId;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::changed::Changed;
use crate::envelope::Members;
use crate::event_log::{EventLog, Keeping};
use crate::fault::Fault;
use crate::introduction;
use crate::reply::{Answer, Parts};

/// Most listening streams of one client.
const MOST_PER_CLIENT: usize = 64;

/// Reads what a client wants to hear of, as far as the gateway has it.
pub(crate) fn wanted(params: &Members<'_>) -> Result<Changed, Fault> {
    let wrong = || Fault::new(hyper::StatusCode::OK, -32602, "The member `notifications` must be an object.");
    let filter = params.get("notifications").and_then(|raw| Members::of(raw).ok()).ok_or_else(wrong)?;
    let wants = |member: &str| filter.get(member).map(RawValue::get) == Some("true");
    Ok(Changed {
        tools: wants("toolsListChanged"),
        resources: wants("resourcesListChanged"),
        prompts: wants("promptsListChanged"),
    })
}

/// The streams that listen.
#[derive(Default)]
pub(crate) struct Subscriptions {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Listener>,
}

struct Listener {
    client: ClientId,
    id: String,
    wanted: Changed,
    log: Arc<EventLog>,
}

impl Listener {
    fn say(&self, method: &str, more: &str) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}{more}}}}}"#,
            self.id
        );
        self.log.push(std::iter::once(text.as_bytes()));
    }

    fn end(&self) {
        self.log
            .finish(Parts::answer(&self.id, &Answer::result(introduction::listen_ended(&self.id))).pieces());
    }
}

impl Subscriptions {
    /// Begins to listen, and acknowledges it. `None` when the client has too many streams.
    pub(crate) fn listen(
        &self,
        client: &ClientId,
        id: &str,
        wanted: Changed,
    ) -> Option<(u64, Arc<EventLog>)> {
        let log = EventLog::new(Keeping::Passing);
        let listener = Listener { client: client.clone(), id: id.to_owned(), wanted, log: Arc::clone(&log) };
        let accepted = wanted.as_filter();
        listener.say("notifications/subscriptions/acknowledged", &format!(r#","notifications":{accepted}"#));
        let mut state = self.state.lock();
        if state.open.values().filter(|other| other.client == *client).count() >= MOST_PER_CLIENT {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.open.insert(number, listener);
        Some((number, log))
    }

    /// Forgets a stream whose client went away.
    pub(crate) fn forget(&self, number: u64) {
        self.state.lock().open.remove(&number);
    }

    /// Tells all that want to know which lists changed.
    pub(crate) fn lists_changed(&self, changed: Changed) {
        let state = self.state.lock();
        for listener in state.open.values() {
            for method in changed.and(listener.wanted).methods() {
                listener.say(method, "");
            }
        }
    }

    /// Ends the streams of one client.
    pub(crate) fn end_of(&self, client: &ClientId) {
        self.end_where(|listener| listener.client == *client);
    }

    /// Ends all.
    pub(crate) fn end_all(&self) {
        self.end_where(|_| true);
    }

    fn end_where(&self, which: impl Fn(&Listener) -> bool) {
        let ended: Vec<_> = self.state.lock().open.extract_if(|_, listener| which(listener)).collect();
        for (_, listener) in ended {
            listener.end();
        }
    }
}
