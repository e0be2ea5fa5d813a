//! A request of the API as its handlers get it, and what they return.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_mcp_wire::raw::{quoted, raw};
use gatehouse_model::Event;
use gatehouse_tools::{ServerSelection, Viewer};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};

use crate::clients::client_state::ClientState;
use crate::protocol::catalog_lists::EndpointLists;
use crate::protocol::state::ProtocolState;

/// Longest name of a client in its User-Agent, in characters.
const MAX_AGENT_CHARS: usize = 120;

/// A request of a known client.
#[derive(Clone, Copy)]
pub(crate) struct RestRequest<'a> {
    pub(crate) state: &'a Arc<ProtocolState>,
    pub(crate) client: &'a Arc<ClientState>,
    /// The client as it sees the catalog with this request.
    pub(crate) viewer: &'a Viewer,
    /// Whether this is the client's first request since Gatehouse started.
    pub(crate) is_first_request: bool,
    pub(crate) headers: &'a HeaderMap,
    /// What follows the question mark of the address.
    pub(crate) query: Option<&'a str>,
}

impl RestRequest<'_> {
    /// The lists of all servers as the client sees them now.
    pub(crate) fn lists(&self) -> EndpointLists {
        self.state.lists.of(self.viewer, &ServerSelection::All)
    }

    /// Records how the client identifies itself, by its User-Agent, and returns it.
    pub(crate) fn identify(&self) -> Option<String> {
        let agent = self.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let client_info = match agent.map(|agent| one_line(agent, MAX_AGENT_CHARS)) {
            Some(agent) if !agent.is_empty() => {
                self.client.record_client_info(&raw(format!(r#"{{"name":{}}}"#, quoted(&agent))))
            }
            Some(_) | None => self.client.client_info(),
        };
        if self.is_first_request {
            let client = self.client.entry.id.clone();
            self.state.events.emit(Event::ClientConnected { client, says: client_info.clone() });
        }
        client_info
    }
}

/// What a handler returns.
#[derive(Debug)]
pub(crate) struct RestResponse {
    pub(crate) status: StatusCode,
    /// Type of the body, if there is one.
    pub(crate) media_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl RestResponse {
    /// A response with a body of JSON.
    pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, media_type: "application/json", headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}
