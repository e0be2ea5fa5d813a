//! Reading the response to a POSTed request: one body, or a stream of events that is resumed when it
//! breaks. What else the server sends on the way goes to the router.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use gatehouse_model::message;

use super::HttpTransport;
use super::endpoint::PostResponseBody;
use super::events::Events;
use crate::connection::envelope::{self, Incoming};
use crate::connection::pending_requests::{MessageOrigin, RequestTicket};
use crate::connection::router::IncomingRequest;
use crate::error::RequestError;
use crate::request::RpcOutcome;

/// How long the end of a stream is awaited after its response has come.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the stream of one response is resumed without a new event. A server may close a stream after each event with
/// an id, so that it is asked again later (2025-11-25, "Resumability and Redelivery"); only the call's time limits end that.
const MAX_RESUMES: u32 = 5;
/// The pause before resuming if the server sets none, and the shortest and the longest pause that it may set.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
const MIN_RESUME_PAUSE: Duration = Duration::from_millis(10);
const MAX_RESUME_PAUSE: Duration = Duration::from_secs(30);

/// Where the event stream of one response is resumed, and when.
struct ResumePoint {
    /// Id of the last event. Without one the stream cannot be resumed.
    last_event: Option<String>,
    pause: Duration,
    /// Attempts since the last event.
    attempts: u32,
}

/// How reading an event stream ended.
enum StreamEnd {
    /// The response has come, or will never come because the connection has ended.
    Answered(Result<RpcOutcome, RequestError>),
    /// The stream ended too early, with its error if it has one.
    Broken(Option<String>),
}

impl HttpTransport {
    /// Reads the response to a request.
    pub(super) async fn read_response(
        &self,
        body: PostResponseBody,
        ticket: &mut RequestTicket,
    ) -> Result<RpcOutcome, RequestError> {
        match body {
            PostResponseBody::Json(bytes) => self.parse_body(&bytes, ticket),
            PostResponseBody::Events(events) => self.read_events(events, ticket).await,
            PostResponseBody::Accepted => {
                Err(RequestError::protocol(message!("error.servers.protocol.onlyAccepted")))
            }
        }
    }

    /// Reads a response that is the whole body.
    fn parse_body(&self, bytes: &[u8], ticket: &mut RequestTicket) -> Result<RpcOutcome, RequestError> {
        let wrong = || RequestError::protocol(message!("error.servers.protocol.noMessage"));
        for part in envelope::split(bytes).map_err(|_| wrong())? {
            match envelope::read(part) {
                // An error without an id can only belong to the one request that was POSTed.
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Ok(RpcOutcome::Error(error.to_owned()));
                }
                Ok(message) => self.handle_message(&message, part, ticket.number),
                Err(envelope::InvalidMessage) => return Err(wrong()),
            }
        }
        ticket
            .answer
            .try_recv()
            .map_err(|_| RequestError::protocol(message!("error.servers.protocol.otherRequest")))
    }

    /// Reads a response from an event stream, which is resumed if it breaks.
    async fn read_events(
        &self,
        mut events: Events,
        ticket: &mut RequestTicket,
    ) -> Result<RpcOutcome, RequestError> {
        let mut point = ResumePoint { last_event: None, pause: RESUME_PAUSE, attempts: 0 };
        loop {
            let cause = match self.read_until_end(events, &mut point, ticket).await {
                StreamEnd::Answered(answer) => return answer,
                StreamEnd::Broken(cause) => cause,
            };
            if let Ok(answer) = ticket.answer.try_recv() {
                return Ok(answer);
            }
            events = self.resume(&mut point, cause).await?;
        }
    }

    /// Reads events until the response has come, which may also come over another stream.
    async fn read_until_end(
        &self,
        mut events: Events,
        point: &mut ResumePoint,
        ticket: &mut RequestTicket,
    ) -> StreamEnd {
        loop {
            let event = tokio::select! {
                biased;
                answer = &mut ticket.answer => {
                    self.drain(events);
                    return StreamEnd::Answered(answer.map_err(|_| self.ended()));
                }
                event = events.next() => event,
            };
            let event = match event {
                Some(Ok(event)) => event,
                Some(Err(error)) => return StreamEnd::Broken(Some(error.to_string())),
                None => return StreamEnd::Broken(None),
            };
            if let Some(retry) = event.retry {
                point.pause = Duration::from_millis(retry).clamp(MIN_RESUME_PAUSE, MAX_RESUME_PAUSE);
            }
            if event.id.is_some() {
                point.last_event = event.id;
                point.attempts = 0;
            }
            if let Some(data) = event.data.filter(|data| !data.trim().is_empty()) {
                if let Some(error) = self.handle_event(&data, ticket.number) {
                    return StreamEnd::Answered(Ok(error));
                }
                point.attempts = 0;
            }
        }
    }

    /// Opens the stream again, behind the last event that has come.
    ///
    /// # Errors
    /// If the stream cannot be resumed, so that the response is lost.
    async fn resume(&self, point: &mut ResumePoint, cause: Option<String>) -> Result<Events, RequestError> {
        let lost = || {
            RequestError::protocol(match cause {
                Some(why) => message!("error.servers.protocol.answerBroke", reason = why),
                None => message!("error.servers.protocol.answerEnded"),
            })
        };
        let Some(last_event) = point.last_event.as_deref().filter(|_| point.attempts < MAX_RESUMES) else {
            return Err(lost());
        };
        point.attempts += 1;
        tokio::time::sleep(point.pause).await;
        match self.endpoint.get(Some(last_event), self.endpoint.session_headers()).await {
            Ok(Some(events)) => Ok(events),
            Ok(None) => Err(lost()),
            // An empty stream, so that the next attempt follows.
            Err(RequestError::Network(_)) => Ok(futures::stream::empty().boxed()),
            Err(error) => Err(error),
        }
    }

    /// Processes one event of a response stream. Returns an error without an id, which ends the
    /// stream.
    fn handle_event(&self, data: &str, call: u64) -> Option<RpcOutcome> {
        let Ok(parts) = envelope::split(data.as_bytes()) else {
            tracing::debug!("an event is no message and is passed over");
            return None;
        };
        for part in parts {
            match envelope::read(part) {
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Some(RpcOutcome::Error(error.to_owned()));
                }
                Ok(message) => self.handle_message(&message, part, call),
                Err(envelope::InvalidMessage) => tracing::debug!("an event is no message and is passed over"),
            }
        }
        None
    }

    fn handle_message(&self, message: &Incoming<'_>, bytes: &[u8], call: u64) {
        match message {
            Incoming::Response { id: Some(id), outcome } => {
                if let Some(number) = envelope::parse_own_id(id) {
                    self.router.pending_requests.answer(number, *outcome, bytes);
                }
            }
            Incoming::Response { id: None, .. } => {}
            Incoming::Notification { method, params } => {
                self.router.notification(method, *params, MessageOrigin::Call(call))
            }
            Incoming::Request { id, method, params } => {
                self.router.handle_request(
                    IncomingRequest { id, method, params: *params },
                    MessageOrigin::Call(call),
                );
            }
        }
    }

    /// Reads a stream to its end, so that its HTTP connection can be reused.
    fn drain(&self, mut events: Events) {
        if let Some(None) = events.next().now_or_never() {
            return;
        }
        let rest = async move {
            let all = async { while events.next().await.is_some() {} };
            if tokio::time::timeout(DRAIN_TIMEOUT, all).await.is_err() {
                tracing::trace!("a stream stays open after its answer and is dropped");
            }
        };
        self.tasks.spawn_on(rest, &self.runtime);
    }
}
