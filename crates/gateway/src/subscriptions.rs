//! `subscriptions/listen` of the stateless revision: long-lived streams that announce changed lists and
//! resources.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::ClientId;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::changed::Changed;
use crate::event_log::EventLog;
use crate::fault::Fault;
use crate::gateway::Core;
use crate::introduction;
use crate::reply::{Answer, Parts};
use crate::watches::{self, Watched, Watches};

/// Maximum number of streams per client.
const MOST_PER_CLIENT: usize = 64;

/// Maximum number of resources per stream.
const MOST_RESOURCES: usize = 256;

/// Parses the subscription filter, as far as the gateway supports it: lists, and URIs of resources.
pub(crate) fn wanted(params: &Members<'_>) -> Result<(Changed, Vec<String>), Fault> {
    let invalid = |what: &'static str| Fault::new(hyper::StatusCode::OK, -32602, what);
    let wrong = || invalid("The member `notifications` must be an object.");
    let filter = params.get("notifications").and_then(|raw| Members::of(raw).ok()).ok_or_else(wrong)?;
    let wants = |member: &str| filter.get(member).map(RawValue::get) == Some("true");
    let uris: Vec<String> = match filter.get("resourceSubscriptions") {
        None => Vec::new(),
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|_| invalid("The member `resourceSubscriptions` must be a list of URIs."))?,
    };
    if uris.len() > MOST_RESOURCES {
        return Err(invalid("One stream can be for 256 resources at most."));
    }
    let lists = Changed {
        tools: wants("toolsListChanged"),
        resources: wants("resourcesListChanged"),
        prompts: wants("promptsListChanged"),
    };
    Ok((lists, uris))
}

/// The open streams.
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
    watches: Watches,
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
    /// Opens a stream. `None` if the client has too many.
    pub(crate) fn listen(
        &self,
        client: &ClientId,
        id: &str,
        wanted: Changed,
    ) -> Option<(u64, Arc<EventLog>)> {
        let log = EventLog::passing();
        let listener = Listener {
            client: client.clone(),
            id: id.to_owned(),
            wanted,
            watches: Watches::default(),
            log: Arc::clone(&log),
        };
        let mut state = self.state.lock();
        if state.open.values().filter(|other| other.client == *client).count() >= MOST_PER_CLIENT {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.open.insert(number, listener);
        Some((number, log))
    }

    /// Writes the acknowledgement, which is the first message on a stream.
    pub(crate) fn acknowledge(&self, number: u64) {
        let state = self.state.lock();
        let Some(listener) = state.open.get(&number) else { return };
        let accepted = listener.wanted.as_filter(&listener.watches.uris());
        listener.say("notifications/subscriptions/acknowledged", &format!(r#","notifications":{accepted}"#));
    }

    /// Adds a resource subscription to a stream, or releases it at the server if the stream has ended.
    pub(crate) fn watch(&self, number: u64, (watched, uri): (Watched, String), core: &Core) {
        let state = self.state.lock();
        let kept =
            state.open.get(&number).is_some_and(|listener| listener.watches.enter(watched.clone(), uri));
        drop(state);
        if !kept {
            watches::give_back(&core.door, &core.calls, watched);
        }
    }

    /// Notifies the streams that subscribed to a resource.
    pub(crate) fn updated(&self, watched: &Watched) {
        let state = self.state.lock();
        for listener in state.open.values() {
            if let Some(uri) = listener.watches.uri(watched) {
                let uri = serde_json::Value::from(uri);
                listener.say("notifications/resources/updated", &format!(r#","uri":{uri}"#));
            }
        }
    }

    /// Removes a stream whose client disconnected.
    pub(crate) fn forget(&self, number: u64, core: &Core) {
        let gone = self.state.lock().open.remove(&number);
        if let Some(listener) = gone {
            listener.watches.end(&core.door, &core.calls);
        }
    }

    /// Notifies the streams that subscribed to changed lists.
    pub(crate) fn lists_changed(&self, changed: Changed) {
        let state = self.state.lock();
        for listener in state.open.values() {
            for method in changed.and(listener.wanted).methods() {
                listener.say(method, "");
            }
        }
    }

    /// Ends the streams of one client.
    pub(crate) fn end_of(&self, client: &ClientId, core: &Core) {
        self.end_where(core, |listener| listener.client == *client);
    }

    /// Ends all streams.
    pub(crate) fn end_all(&self, core: &Core) {
        self.end_where(core, |_| true);
    }

    fn end_where(&self, core: &Core, which: impl Fn(&Listener) -> bool) {
        let ended: Vec<_> = self.state.lock().open.extract_if(|_, listener| which(listener)).collect();
        for (_, listener) in ended {
            listener.end();
            listener.watches.end(&core.door, &core.calls);
        }
    }
}
