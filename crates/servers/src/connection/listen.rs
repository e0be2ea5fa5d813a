//! On the stateless revision a server speaks by itself only on a stream that was asked for. This
//! keeps such a stream open; what comes over it reaches the router like any other notification.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::close::Closing;
use super::error::RequestError;
use super::limit::CallLimit;
use super::{Era, Handshake, Outgoing};
use crate::outgoing::{OutgoingParams, Reply};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What to listen for: the changes that the server says it tells of. `None` where there is none.
pub(super) fn wanted(handshake: &Handshake) -> Option<OutgoingParams> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Capability {
        list_changed: bool,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Capabilities {
        tools: Option<Capability>,
        prompts: Option<Capability>,
        resources: Option<Capability>,
    }
    if handshake.era != Era::Stateless {
        return None;
    }
    let found: Capabilities = serde_json::from_str(handshake.capabilities.get()).unwrap_or_default();
    let names: Vec<&str> = [
        ("toolsListChanged", found.tools),
        ("promptsListChanged", found.prompts),
        ("resourcesListChanged", found.resources),
    ]
    .into_iter()
    .filter(|(_, capability)| capability.as_ref().is_some_and(|capability| capability.list_changed))
    .map(|(name, _)| name)
    .collect();
    if names.is_empty() {
        return None;
    }
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":true")).collect();
    let filter = RawValue::from_string(format!("{{{}}}", members.join(","))).ok()?;
    Some(OutgoingParams::none().with("notifications", filter))
}

/// Listens until the connection ends or the server does not know how.
pub(super) async fn keep<F, R>(filter: OutgoingParams, closing: Arc<Closing>, request: F)
where
    F: Fn(Outgoing<'static>) -> R,
    R: Future<Output = Result<Reply, RequestError>>,
{
    tokio::select! {
        biased;
        _ = closing.reason() => {}
        () = closing.asked() => {}
        () = listen(filter, request) => {}
    }
}

async fn listen<F, R>(filter: OutgoingParams, request: F)
where
    F: Fn(Outgoing<'static>) -> R,
    R: Future<Output = Result<Reply, RequestError>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = tokio::time::Instant::now();
        match request(Outgoing::plain("subscriptions/listen", filter.clone(), CallLimit::none())).await {
            Ok(Reply::Error(_)) => {
                tracing::debug!("the server does not offer a stream of changes");
                return;
            }
            Ok(Reply::Result(_)) => tracing::debug!("the server ended its stream of changes"),
            Err(RequestError::Closed(_) | RequestError::Cancelled) => return,
            Err(error) => tracing::debug!(%error, "the stream of changes broke"),
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::status::ServerInfo;

    use super::*;
    use crate::connection::LifecycleHint;

    fn handshake(era: Era, capabilities: &str) -> Handshake {
        Handshake {
            protocol: String::new(),
            era,
            info: ServerInfo::default(),
            capabilities: RawValue::from_string(capabilities.to_owned()).unwrap(),
            lifecycle: LifecycleHint::Auto,
        }
    }

    #[test]
    fn only_what_the_server_tells_of_is_listened_for() {
        let both = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true,"x":1}}"#;
        let filter = wanted(&handshake(Era::Stateless, both)).unwrap();
        assert_eq!(
            filter.get("notifications").unwrap().get(),
            r#"{"toolsListChanged":true,"resourcesListChanged":true}"#
        );
        assert!(wanted(&handshake(Era::Stateful, both)).is_none());
        assert!(wanted(&handshake(Era::Stateless, r#"{"tools":{}}"#)).is_none());
        assert!(wanted(&handshake(Era::Stateless, "null")).is_none());
    }
}
