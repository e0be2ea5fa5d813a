//! All conversations: what the user does with them, and the turns that are under way. A conversation has at most one turn,
//! and nothing but the user begins one: no message, and no start of Gatehouse.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use gatehouse_common::random;
use gatehouse_model::chat::{
    ChatBlock, ChatImage, ChatMessage, ChatMessageState, ChatRole, Conversation, ConversationSettings,
    ConversationSummary, ConversationToolCost, TokenUsage,
};
use gatehouse_model::secret::REDACTED;
use gatehouse_model::{ConversationId, ErrorCode, Event, MessageId, UserError, message};
use gatehouse_store::{ConversationStore, SavedBlock, StoreError, StoredConversation, StoredMessage};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::conversations_deps::ConversationsDeps;
use super::history::PastMessage;
use super::markdown_export;
use super::tool_runner::ToolScope;
use super::turn::Turn;
use super::turn_driver::{TurnDriver, TurnTask};
use crate::adapters::{AdaptedTools, ToolFormat};
use crate::providers::ProviderEndpoint;

/// Longest message of the user, in bytes.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// Images of one message.
const MAX_IMAGES: usize = 10;
/// Largest image, in bytes of base64.
const MAX_IMAGE_BYTES: usize = 7 * 1024 * 1024;
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// Longest instructions of the user, in bytes.
const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// Costs of lists of tools that are remembered.
const MAX_COSTS: usize = 16;

/// What a turn goes on from.
struct TurnStart {
    /// The messages before.
    past: Vec<PastMessage>,
    /// The message of the model that goes on; a new one where absent.
    resumed: Option<PastMessage>,
}

/// All conversations. Clones share them.
#[derive(Clone)]
pub struct Conversations {
    state: Arc<ConversationsState>,
}

struct ConversationsState {
    deps: Arc<ConversationsDeps>,
    /// The conversations that something is done with that nothing else may be done beside.
    busy: Mutex<HashMap<ConversationId, Busy>>,
    /// Arguments of calls that are masked where they are saved, by conversation and provider's id of the call.
    unmasked: Mutex<HashMap<ConversationId, HashMap<String, Box<RawValue>>>>,
    costs: Mutex<HashMap<(ToolFormat, u64), ConversationToolCost>>,
    closing: CancellationToken,
    tracker: TaskTracker,
}

#[derive(Clone)]
enum Busy {
    /// A turn is about to begin, or messages are being changed.
    Changing,
    Turn(RunningTurn),
}

#[derive(Clone)]
struct RunningTurn {
    turn: Arc<Mutex<Turn>>,
    stop: CancellationToken,
    /// Cancelled when the turn is over and saved.
    over: CancellationToken,
}

/// A conversation is free again when this is dropped.
struct BusyGuard {
    state: Arc<ConversationsState>,
    conversation: ConversationId,
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.state.busy.lock().remove(&self.conversation);
    }
}

impl Conversations {
    #[must_use]
    pub fn new(deps: ConversationsDeps) -> Self {
        Self {
            state: Arc::new(ConversationsState {
                deps: Arc::new(deps),
                busy: Mutex::default(),
                unmasked: Mutex::default(),
                costs: Mutex::default(),
                closing: CancellationToken::new(),
                tracker: TaskTracker::new(),
            }),
        }
    }

    /// The conversations, the latest first; with a query, those that have its words.
    ///
    /// # Errors
    /// When they can't be read.
    pub async fn list(&self, query: Option<String>) -> Result<Vec<ConversationSummary>, UserError> {
        let mut list = self.on_disk(move |store| store.list(query.as_deref())).await?;
        let busy = self.state.busy.lock();
        for conversation in &mut list {
            conversation.is_running = matches!(busy.get(&conversation.id), Some(Busy::Turn(_)));
        }
        Ok(list)
    }

    /// A conversation as it is now.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`], or when it can't be read.
    pub async fn show(&self, id: &ConversationId) -> Result<Conversation, UserError> {
        // Looked up before the messages are read: a turn that ends meanwhile has saved its message.
        let running = match self.state.busy.lock().get(id) {
            Some(Busy::Turn(running)) => Some(running.clone()),
            Some(Busy::Changing) | None => None,
        };
        let stored = self.load(id).await?;
        let tools = self.tool_cost(&scope_of(&stored), &stored.settings).await;
        let StoredConversation { id, title, settings, created, updated, messages } = stored;
        let mut messages: Vec<ChatMessage> = messages.into_iter().map(|stored| stored.message).collect();
        let mut is_running = false;
        if let Some(running) = running {
            let live = running.turn.lock().message.clone();
            is_running = live.state == ChatMessageState::Running;
            if let Some(place) = messages.iter_mut().find(|message| message.id == live.id) {
                *place = live;
            }
        }
        let mut usage = TokenUsage::default();
        for reported in messages.iter().filter_map(|message| message.usage) {
            usage.input = usage.input.saturating_add(reported.input);
            usage.output = usage.output.saturating_add(reported.output);
        }
        Ok(Conversation { id, title, settings, created, updated, messages, is_running, tools, usage })
    }

    /// Adds a conversation.
    ///
    /// # Errors
    /// When the settings are invalid, or it can't be saved.
    pub async fn create(&self, settings: ConversationSettings) -> Result<Conversation, UserError> {
        check_settings(&settings)?;
        let id = ConversationId::from_random(random_number()?);
        let (own, at) = (id.clone(), self.state.deps.clock.now());
        self.on_disk(move |store| store.create(&own, &settings, at)).await?;
        self.announce(&id);
        self.show(&id).await
    }

    /// Changes the settings of a conversation, from the next turn on.
    ///
    /// # Errors
    /// When they are invalid, [`ErrorCode::NotFound`], or when they can't be saved.
    pub async fn set(&self, id: &ConversationId, settings: ConversationSettings) -> Result<(), UserError> {
        check_settings(&settings)?;
        let own = id.clone();
        if !self.on_disk(move |store| store.set_settings(&own, &settings)).await? {
            return Err(no_conversation());
        }
        self.announce(id);
        Ok(())
    }

    /// Removes a conversation. A turn is stopped first; what was allowed for the conversation ends.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`], or when it can't be removed.
    pub async fn remove(&self, id: &ConversationId) -> Result<(), UserError> {
        self.stop(id).await;
        let _guard = self.occupy(id)?;
        let own = id.clone();
        let removed = self.on_disk(move |store| store.remove(&own)).await?;
        self.state.unmasked.lock().remove(id);
        self.state.deps.tools.conversation_ended(id);
        if !removed {
            return Err(no_conversation());
        }
        self.announce(id);
        Ok(())
    }

    /// Sends a message and begins the model's turn. If it takes the place of an earlier message, that and all after it are
    /// deleted.
    ///
    /// # Errors
    /// When the message is empty or too large, a turn is under way, no model is chosen or it can't be used, or nothing can
    /// be saved. Nothing has changed then.
    pub async fn send(
        &self,
        id: &ConversationId,
        text: String,
        images: Vec<ChatImage>,
        replaces: Option<MessageId>,
    ) -> Result<(), UserError> {
        check_message(&text, &images)?;
        let guard = self.occupy(id)?;
        let mut stored = self.load(id).await?;
        let model = self.chosen_model(&stored.settings).await?;
        if let Some(replaced) = replaces {
            let is_replaced = |stored: &StoredMessage| {
                stored.message.id == replaced && stored.message.role == ChatRole::User
            };
            let place = stored.messages.iter().position(is_replaced).ok_or_else(no_message)?;
            self.truncate(id, &replaced).await?;
            stored.messages.truncate(place);
        }
        let mut blocks = Vec::new();
        if !text.trim().is_empty() {
            blocks.push(ChatBlock::Text { text });
        }
        blocks.extend(
            images.into_iter().map(|ChatImage { mime_type, data }| ChatBlock::Image { mime_type, data }),
        );
        let message = ChatMessage {
            id: MessageId::from_random(random_number()?),
            role: ChatRole::User,
            at: self.state.deps.clock.now(),
            blocks,
            state: ChatMessageState::Done,
            error: None,
            model: None,
            usage: None,
        };
        self.save(id, &message).await?;
        let mut past = self.past(&stored.id, stored.messages.drain(..));
        past.push(PastMessage { kept: Vec::new(), message });
        self.begin(guard, stored, model, TurnStart { past, resumed: None }).await
    }

    /// Lets the model write again: what it wrote last is deleted. A message that ended at the limit of rounds is continued
    /// instead.
    ///
    /// # Errors
    /// As [`Self::send`], and if there is nothing to answer.
    pub async fn retry(&self, id: &ConversationId) -> Result<(), UserError> {
        let guard = self.occupy(id)?;
        let mut stored = self.load(id).await?;
        let model = self.chosen_model(&stored.settings).await?;
        let mut past = self.past(&stored.id, stored.messages.drain(..));
        let mut resumed = None;
        if let Some(last) = past.pop_if(|last| last.message.role == ChatRole::Assistant) {
            if last.message.state == ChatMessageState::RoundLimit {
                resumed = Some(last);
            } else {
                self.truncate(id, &last.message.id).await?;
            }
        }
        if past.is_empty() {
            return Err(no_message());
        }
        self.begin(guard, stored, model, TurnStart { past, resumed }).await
    }

    /// Stops the turn of a conversation, if one is under way, and waits until it has stopped.
    pub async fn stop(&self, id: &ConversationId) {
        let running = match self.state.busy.lock().get(id) {
            Some(Busy::Turn(running)) => running.clone(),
            Some(Busy::Changing) | None => return,
        };
        running.stop.cancel();
        running.over.cancelled().await;
    }

    /// A conversation as Markdown, with its title.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub async fn export(&self, id: &ConversationId) -> Result<(String, String), UserError> {
        let conversation = self.show(id).await?;
        let text = markdown_export::markdown(&conversation);
        Ok((conversation.title, text))
    }

    /// Stops all turns and waits for them. No turn begins any more.
    pub async fn shutdown(&self) {
        self.state.closing.cancel();
        self.state.tracker.close();
        self.state.tracker.wait().await;
    }

    /// Runs a closure on the conversations on a blocking thread.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ConversationStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, UserError> {
        let store = Arc::clone(&self.state.deps.store);
        let done = tokio::task::spawn_blocking(move || work(store.conversations())).await;
        done.map_err(|error| {
            UserError::new(ErrorCode::Internal, message!("error.models.diskWorkEnded"))
                .with_cause(format!("{error}."))
        })?
        .map_err(UserError::from)
    }

    async fn load(&self, id: &ConversationId) -> Result<StoredConversation, UserError> {
        let id = id.clone();
        self.on_disk(move |store| store.load(&id)).await?.ok_or_else(no_conversation)
    }

    async fn save(&self, id: &ConversationId, message: &ChatMessage) -> Result<(), UserError> {
        let (id, message) = (id.clone(), message.clone());
        let blocks: Vec<SavedBlock> = (0_u32..)
            .zip(&message.blocks)
            .map(|(place, shown)| SavedBlock { place, shown: shown.clone(), kept: None })
            .collect();
        let at = message.at;
        self.on_disk(move |store| store.save(&id, &message, &blocks, at)).await
    }

    async fn truncate(&self, id: &ConversationId, from: &MessageId) -> Result<(), UserError> {
        let (id, from) = (id.clone(), from.clone());
        self.on_disk(move |store| store.truncate(&id, &from)).await.map(drop)
    }

    /// Stored messages with the arguments that were masked there, as far as they are known.
    fn past(&self, id: &ConversationId, stored: impl Iterator<Item = StoredMessage>) -> Vec<PastMessage> {
        let unmasked = self.state.unmasked.lock();
        let known = unmasked.get(id);
        let mut past: Vec<PastMessage> = stored.map(PastMessage::of).collect();
        for call in past.iter_mut().flat_map(|past| &mut past.kept).filter_map(|kept| kept.call.as_mut()) {
            call.arguments = known.and_then(|known| known.get(&call.id)).cloned();
        }
        past
    }

    /// Reserves a conversation for one change or turn.
    fn occupy(&self, id: &ConversationId) -> Result<BusyGuard, UserError> {
        let mut busy = self.state.busy.lock();
        if busy.contains_key(id) {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.models.turnRunning"))
                .with_hint(message!("error.models.hint.stopFirst")));
        }
        busy.insert(id.clone(), Busy::Changing);
        Ok(BusyGuard { state: Arc::clone(&self.state), conversation: id.clone() })
    }

    async fn chosen_model(&self, settings: &ConversationSettings) -> Result<ChosenModel, UserError> {
        let Some(choice) = &settings.model else {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.models.noModel"))
                .with_hint(message!("error.models.hint.chooseModel")));
        };
        let (endpoint, label) = self.state.deps.models.endpoint(choice).await?;
        Ok(ChosenModel { endpoint, label, id: choice.model.clone() })
    }

    /// Begins a turn.
    async fn begin(
        &self,
        guard: BusyGuard,
        stored: StoredConversation,
        model: ChosenModel,
        start: TurnStart,
    ) -> Result<(), UserError> {
        let TurnStart { past, resumed } = start;
        let state = &self.state;
        if state.closing.is_cancelled() {
            return Err(UserError::new(ErrorCode::NotRunning, ErrorCode::NotRunning.message()));
        }
        let turn = match resumed {
            Some(PastMessage { message, kept }) => Turn::resume(message, kept, model.label),
            None => {
                let id = MessageId::from_random(random_number()?);
                let turn = Turn::new(id, model.label, state.deps.clock.now());
                self.save(&stored.id, &turn.message).await?;
                turn
            }
        };
        let running = RunningTurn {
            turn: Arc::new(Mutex::new(turn)),
            stop: state.closing.child_token(),
            over: CancellationToken::new(),
        };
        state.busy.lock().insert(stored.id.clone(), Busy::Turn(running.clone()));
        self.announce(&stored.id);
        let driver = TurnDriver::new(TurnTask {
            deps: Arc::clone(&state.deps),
            scope: scope_of(&stored),
            endpoint: model.endpoint,
            model: model.id,
            instructions: stored.settings.instructions,
            past,
            turn: Arc::clone(&running.turn),
            stop: running.stop.clone(),
        });
        let (conversations, id) = (self.clone(), stored.id);
        state.tracker.spawn(async move {
            driver.run().await;
            conversations.remember_unmasked(&id, &running.turn.lock());
            drop(guard);
            running.over.cancel();
            conversations.announce(&id);
        });
        Ok(())
    }

    /// Keeps the arguments that are masked where they are saved, so that the model sees what it wrote.
    fn remember_unmasked(&self, id: &ConversationId, turn: &Turn) {
        for place in 0..turn.message.blocks.len() {
            let Some((shown, kept)) = turn.call(place) else { continue };
            if let Some(arguments) = kept.arguments.as_ref().filter(|_| shown.arguments.contains(REDACTED)) {
                let mut unmasked = self.state.unmasked.lock();
                unmasked.entry(id.clone()).or_default().insert(kept.id.clone(), arguments.clone());
            }
        }
    }

    fn announce(&self, id: &ConversationId) {
        self.state.deps.events.emit(Event::ConversationChanged { conversation: id.clone() });
    }

    /// What the list of tools costs a model in each request.
    async fn tool_cost(&self, scope: &ToolScope, settings: &ConversationSettings) -> ConversationToolCost {
        let deps = &self.state.deps;
        let api = match &settings.model {
            Some(model) => deps.models.api(model).await,
            None => None,
        };
        let format = api.map_or(ToolFormat::Mcp, ToolFormat::from);
        let tools = deps.tools.tools(scope).await.listed;
        let mut hasher = DefaultHasher::new();
        tools.iter().for_each(|tool| tool.definition.get().hash(&mut hasher));
        let key = (format, hasher.finish());
        if let Some(known) = self.state.costs.lock().get(&key) {
            return known.clone();
        }
        let adapted = AdaptedTools::new(format, tools.iter().map(|tool| &*tool.definition));
        let bytes: usize = adapted.definitions().iter().map(|definition| definition.get().len()).sum();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let cost = ConversationToolCost {
            tools: number(adapted.definitions().len()),
            tokens: number(bytes.div_ceil(4)),
            simplified: adapted.simplified().to_vec(),
        };
        let mut costs = self.state.costs.lock();
        if costs.len() >= MAX_COSTS {
            costs.clear();
        }
        costs.insert(key, cost.clone());
        cost
    }
}

/// The model that a turn uses.
struct ChosenModel {
    endpoint: ProviderEndpoint,
    /// Name of the provider and id of the model.
    label: String,
    id: String,
}

fn scope_of(stored: &StoredConversation) -> ToolScope {
    ToolScope {
        conversation: stored.id.clone(),
        servers: stored.settings.servers.clone(),
        tool_search: stored.settings.tool_search,
    }
}

fn random_number() -> Result<u64, UserError> {
    random::bytes().map(u64::from_le_bytes).map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.models.noRandom")).with_cause(format!("{error}."))
    })
}

fn check_settings(settings: &ConversationSettings) -> Result<(), UserError> {
    let ConversationSettings { title, model: _, servers: _, tool_search: _, instructions } = settings;
    let bad = |message| Err(UserError::new(ErrorCode::BadRequest, message));
    if title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
        return bad(message!("error.models.longTitle", characters = MAX_TITLE_CHARS.to_string()));
    }
    if instructions.as_ref().is_some_and(|text| text.len() > MAX_INSTRUCTIONS_BYTES) {
        return bad(message!(
            "error.models.longInstructions",
            kibibytes = (MAX_INSTRUCTIONS_BYTES / 1024).to_string()
        ));
    }
    Ok(())
}

fn check_message(text: &str, images: &[ChatImage]) -> Result<(), UserError> {
    let bad = |message| Err(UserError::new(ErrorCode::BadRequest, message));
    if text.trim().is_empty() && images.is_empty() {
        return bad(message!("error.models.emptyMessage"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return bad(message!("error.models.longMessage", kibibytes = (MAX_TEXT_BYTES / 1024).to_string()));
    }
    if images.len() > MAX_IMAGES {
        return bad(message!("error.models.manyImages", images = MAX_IMAGES.to_string()));
    }
    for ChatImage { mime_type, data } in images {
        if !IMAGE_TYPES.contains(&mime_type.as_str()) {
            return bad(message!("error.models.badImage"));
        }
        if data.len() > MAX_IMAGE_BYTES {
            return bad(message!(
                "error.models.largeImage",
                mebibytes = (MAX_IMAGE_BYTES / 4 * 3 / (1024 * 1024)).to_string()
            ));
        }
        let is_base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
        if data.is_empty() || !data.bytes().all(is_base64) {
            return bad(message!("error.models.badImage"));
        }
    }
    Ok(())
}

fn no_conversation() -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.models.noConversation"))
}

fn no_message() -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.models.noChatMessage"))
}
