//! `subscriptions/listen` of the revision without sessions: a stream that lasts until the client cancels it. It is
//! opened again after a restart of Gatehouse, without the client noticing more than that lists and
//! resources may have changed.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_mcp_wire::raw::Members;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::core::{Bridge, RESOURCE_UPDATED};
use super::events::{SseEventReader, is_stream};
use super::link::{END_NOTICE, RETRY_PAUSE};
use super::message::{Answer, CONNECTION_CLOSED, StdioMessage, StdioRequest, error, parse};
use super::stateless;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Members of the acknowledged filter, each with its notification.
const LISTS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
];

/// How one stream ended.
enum ListenStreamEnd {
    /// With the answer, as the gateway ends a stream.
    Answered(Bytes),
    Broken,
}

/// Keeps the stream of a request. Returns its answer, if it ends. The first stream has to begin before `deadline`;
/// later ones are waited for as long as Gatehouse takes to come back.
pub(super) async fn serve(bridge: &Arc<Bridge>, request: &StdioRequest, deadline: Instant) -> Option<Bytes> {
    let mut is_acknowledged = false;
    let mut is_renewed = false;
    loop {
        let access = bridge.link.access();
        let access = if is_acknowledged {
            access.await
        } else {
            match tokio::time::timeout_at(deadline, access).await {
                Ok(access) => access,
                Err(_) => return Some(bridge.not_running(&request.id)),
            }
        };
        let access = match access {
            Ok(access) => access,
            Err(why) => return Some(error(&request.id, CONNECTION_CLOSED, &why)),
        };
        let head = stateless::head(request, &bridge.tools);
        // A stream that broke had no effect, so it may be opened again.
        let Ok(response) = bridge.http.send(&access, head, request.line.clone()).await else {
            if !is_acknowledged && Instant::now() >= deadline {
                return Some(bridge.not_running(&request.id));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
            continue;
        };
        if !is_stream(&response) {
            let is_unauthorized = response.status == hyper::StatusCode::UNAUTHORIZED;
            let body = response.body.whole().await.unwrap_or_default();
            if is_unauthorized && !is_renewed {
                is_renewed = true;
                bridge.link.renew(&access).await;
                continue;
            }
            let answer = Answer::read(&request.id, &body).map(|answer| answer.message);
            return Some(answer.unwrap_or_else(|| bridge.not_running(&request.id)));
        }
        is_renewed = false;
        let reader = SseEventReader::new(response.body, None);
        let end = follow(bridge, request, reader, &mut is_acknowledged).await;
        // Gatehouse ends its streams when it stops, shortly after the link.
        let is_lost = tokio::time::timeout(END_NOTICE, bridge.link.lost(&access)).await.is_ok();
        match end {
            ListenStreamEnd::Answered(answer) if !is_lost => return Some(answer),
            ListenStreamEnd::Answered(_) | ListenStreamEnd::Broken => {
                bridge.log.line("a subscription stream is reopened")
            }
        }
    }
}

async fn follow(
    bridge: &Arc<Bridge>,
    request: &StdioRequest,
    mut reader: SseEventReader,
    is_acknowledged: &mut bool,
) -> ListenStreamEnd {
    while let Ok(Some(data)) = reader.next().await {
        match parse(data.as_bytes()) {
            Ok(StdioMessage::Response { id, .. }) if id == &*request.id => {
                return ListenStreamEnd::Answered(data.into());
            }
            Ok(StdioMessage::Notification { method, params }) if method == ACKNOWLEDGED => {
                if std::mem::replace(is_acknowledged, true) {
                    announce(bridge, request, params).await;
                } else {
                    bridge.out.send(data.into()).await;
                }
            }
            Ok(_) => bridge.out.send(data.into()).await,
            Err(_) => bridge.log.line("the gateway sent something that is no message"),
        }
    }
    ListenStreamEnd::Broken
}

/// Says of each list and each resource that the stream is for that it may have changed while there was no stream.
async fn announce(bridge: &Arc<Bridge>, request: &StdioRequest, acknowledged: Option<&RawValue>) {
    let filter = acknowledged.and_then(|params| Members::of(params).ok());
    let filter = filter.and_then(|params| params.get("notifications"));
    let Some(filter) = filter.and_then(|filter| Members::of(filter).ok()) else { return };
    let lists = LISTS.into_iter().filter(|(member, _)| filter.flag(member) == Some(true));
    let uris = filter.get("resourceSubscriptions").and_then(|uris| serde_json::from_str(uris.get()).ok());
    let uris: Vec<&RawValue> = uris.unwrap_or_default();
    let lists = lists.map(|(_, method)| (method, String::new()));
    let resources = uris.into_iter().map(|uri| (RESOURCE_UPDATED, format!(r#","uri":{uri}"#)));
    for (method, more_params) in lists.chain(resources) {
        let id = &request.id;
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more_params}}}}}"#
        );
        bridge.out.send(text.into()).await;
    }
}
