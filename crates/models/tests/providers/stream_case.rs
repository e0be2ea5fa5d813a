//! A recorded stream with the events that have to come of it, and how both are compared.

use gatehouse_model::Secret;
use gatehouse_model::provider::ProviderApi;
use gatehouse_models::exchange::ModelEvent;
use gatehouse_models::providers::{AnswerDecoder, ModelError, ModelLimits, ProviderEndpoint};
use url::Url;

/// The key of all endpoints.
pub(crate) const KEY: &str = "sk-test-0123456789";

/// A stream, and its events in the words of [`line`].
pub(crate) struct StreamCase {
    pub(crate) name: &'static str,
    pub(crate) api: ProviderApi,
    pub(crate) stream: &'static str,
    pub(crate) events: &'static [&'static str],
}

pub(crate) fn endpoint(api: ProviderApi) -> ProviderEndpoint {
    ProviderEndpoint {
        api,
        base_url: Url::parse("https://models.example/v1").unwrap(),
        key: Some(Secret::new(KEY)),
        name: "Example".to_owned(),
    }
}

/// Decodes a stream that comes in chunks.
pub(crate) fn decode<'a>(
    api: ProviderApi,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<ModelEvent, ModelError>> {
    let mut decoder = AnswerDecoder::new(&endpoint(api), ModelLimits::default());
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        events.extend(std::iter::from_fn(|| decoder.next_event()));
    }
    decoder.finish();
    events.extend(std::iter::from_fn(|| decoder.next_event()));
    assert!(decoder.is_over());
    events
}

/// The events of a stream, each in a line.
pub(crate) fn lines(api: ProviderApi, stream: &str) -> Vec<String> {
    decode(api, [stream.as_bytes()]).iter().map(line).collect()
}

/// An event in words. Ids that were made up are `*`.
pub(crate) fn line(event: &Result<ModelEvent, ModelError>) -> String {
    let id = |id: &str| if id.starts_with("gatehouse-") { "*".to_owned() } else { id.to_owned() };
    match event {
        Err(error) => format!("error {error}"),
        Ok(ModelEvent::Text { block, text }) => format!("{block} text {text}"),
        Ok(ModelEvent::Reasoning { block, text }) => format!("{block} reasoning {text}"),
        Ok(ModelEvent::ToolCallBegan { block, id: call, name }) => {
            format!("{block} began {} {name}", id(call))
        }
        Ok(ModelEvent::ToolCallArguments { block, text }) => format!("{block} arguments {text}"),
        Ok(ModelEvent::ToolCallEnded { block, call: Ok(call) }) => {
            let item = call.provider_item.as_ref().map(|item| format!(" with {}", item.json.get()));
            let repaired = call.repaired_from.as_ref().map(|_| " repaired");
            format!(
                "{block} call {} {} {}{}{}",
                id(&call.id),
                call.name,
                call.arguments.get(),
                repaired.unwrap_or_default(),
                item.unwrap_or_default(),
            )
        }
        Ok(ModelEvent::ToolCallEnded { block, call: Err(unusable) }) => {
            format!("{block} unusable {} {} {}", id(&unusable.id), unusable.name, unusable.written)
        }
        Ok(ModelEvent::ReasoningEnded { block, item }) => format!("{block} item {}", item.json.get()),
        Ok(ModelEvent::Usage { input, output }) => format!("usage {input} {output}"),
        Ok(ModelEvent::Ended(reason)) => format!("ended {reason:?}"),
    }
}
