//! What conversations get from outside: storage, the client for providers, tools, events and the clock.

use std::sync::Arc;

use gatehouse_model::{Clock, EventSink};
use gatehouse_store::Store;

use super::tool_runner::{ModelSource, ToolRunner};
use crate::providers::ModelClient;

/// What conversations are made of.
pub struct ConversationsDeps {
    pub store: Arc<Store>,
    pub client: ModelClient,
    pub models: Arc<dyn ModelSource>,
    pub tools: Arc<dyn ToolRunner>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}
