//! Requests of a control connection: commands, and the stream of events.

use gatehouse_model::command::{Authority, Command};
use gatehouse_model::{ErrorCode, EventEnvelope, UserError, message};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::authority::Credential;
use crate::command_service::CommandService;
use crate::control::wire::{EventsArgs, OutgoingResponse, RequestLine, ResponseBody};
use crate::events::StreamEvent;
use crate::redact::redact_envelope;

/// Runs a command and sends its reply.
pub(super) async fn execute_request(
    command_service: &CommandService,
    request: &RequestLine,
    authority: Authority,
    process: Option<u32>,
    outbox: &mpsc::Sender<Vec<u8>>,
) {
    let parsed = match &request.args {
        Some(args) => Command::parse(&request.command, args),
        None => RawValue::from_string("{}".to_owned())
            .map_err(|e| UserError::new(ErrorCode::Internal, e.to_string()))
            .and_then(|args| Command::parse(&request.command, &args)),
    };
    let outcome = match parsed {
        Ok(command) => command_service.execute(command, authority, process).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(reply) => send(outbox, Some(request.id), ResponseBody::Reply(&reply)).await,
        Err(error) => send(outbox, Some(request.id), ResponseBody::Problem(&error)).await,
    };
}

/// Sends events until the connection ends. The authority is looked up again for each event, since the key may
/// be replaced at any time.
pub(super) async fn stream_events(
    command_service: &CommandService,
    request: &RequestLine,
    credential: Credential,
    outbox: &mpsc::Sender<Vec<u8>>,
    closed: &CancellationToken,
) {
    let args = match request.args.as_ref().map(|args| serde_json::from_str::<EventsArgs>(args.get())) {
        None => EventsArgs::default(),
        Some(Ok(args)) => args,
        Some(Err(e)) => {
            let error = UserError::new(ErrorCode::BadRequest, message!("error.app.badEventArguments"))
                .with_cause(format!("{e}."));
            send(outbox, Some(request.id), ResponseBody::Problem(&error)).await;
            return;
        }
    };
    let mut stream = match args.after {
        Some(after) => command_service.bus().subscribe_after(after),
        None => command_service.bus().subscribe(),
    };
    while let Some(event) = stream.next().await {
        let is_open = match event {
            StreamEvent::Missed => send(outbox, Some(request.id), ResponseBody::Missed(true)).await,
            StreamEvent::Event(envelope) => match command_service.state().operator.authority(credential) {
                Some(Authority::Operator) => {
                    send(outbox, Some(request.id), ResponseBody::Event(&envelope)).await
                }
                Some(Authority::Anyone | Authority::Client) => {
                    let envelope: EventEnvelope = redact_envelope(&envelope);
                    send(outbox, Some(request.id), ResponseBody::Event(&envelope)).await
                }
                None => {
                    closed.cancel();
                    false
                }
            },
        };
        if !is_open {
            return;
        }
    }
}

/// Queues one line; `false` if the connection has to be closed.
pub(super) async fn send(outbox: &mpsc::Sender<Vec<u8>>, id: Option<u64>, body: ResponseBody<'_>) -> bool {
    match serde_json::to_vec(&OutgoingResponse { id, body }) {
        Ok(line) => outbox.send(line).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            false
        }
    }
}
