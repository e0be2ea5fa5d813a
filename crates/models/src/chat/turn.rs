//! The state machine of a turn: what a model wrote and what its calls came to, and what is to be done next. Without I/O.
//!
//! ```text
//! Streaming ──answer with calls──▶ Calling ──all ended──▶ Streaming (next round)
//!     │ answer without, failure, stop   │ stop                 │ too many rounds
//!     ▼                                 ▼                      ▼
//!    Over ◀──────── all ended ──────── Stopping               Over
//! ```

use std::collections::{BTreeSet, HashMap};

use gatehouse_model::chat::{
    ChatBlock, ChatMessage, ChatMessageState, ChatRole, TokenUsage, ToolCallBlock, ToolCallState,
};
use gatehouse_model::{ErrorCode, MessageId, Timestamp, UserError, message};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::MAX_ROUNDS;
use super::delta_batch::TextDelta;
use super::model_results::error_result;
use super::tool_runner::{CallStage, CallTarget, ToolCallEnd, ToolLabel};
use crate::exchange::{ModelToolCall, ProviderItem, StopReason, UnusableToolCall};

/// What the next request needs of a block besides what is shown. Saved with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KeptBlock {
    /// The request that it is the answer to, from 1 within its message.
    pub(super) round: u32,
    /// Reasoning that the provider wants back.
    pub(super) item: Option<ProviderItem>,
    pub(super) call: Option<KeptCall>,
}

/// What the next request needs of a tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptCall {
    /// The provider's id of the call.
    pub(super) id: String,
    /// The name that the model used.
    pub(super) name: String,
    /// The name that clients use; absent for an unknown tool.
    pub(super) exposed_name: Option<String>,
    /// What the provider wants back with the call.
    pub(super) item: Option<ProviderItem>,
    /// What the model gets as the result.
    pub(super) result: Option<Box<RawValue>>,
    /// The arguments as the model wrote them. Not saved, since they may have secrets: after a restart the masked ones
    /// stand for them.
    #[serde(skip)]
    pub(super) arguments: Option<Box<RawValue>>,
}

/// Something that happened. Blocks of an answer are numbered as in [`crate::exchange::ModelEvent`].
#[derive(Clone, Debug)]
pub(super) enum TurnInput {
    Text {
        block: usize,
        text: String,
    },
    Reasoning {
        block: usize,
        text: String,
    },
    ReasoningItem {
        block: usize,
        item: ProviderItem,
    },
    CallBegan {
        block: usize,
        id: String,
        name: String,
        tool: Option<KnownTool>,
    },
    CallFragment {
        block: usize,
        text: String,
    },
    /// A call is complete, and may be run or not, with what the model has to be told.
    CallWritten {
        block: usize,
        call: ModelToolCall,
        tool: Option<KnownTool>,
        target: CallTarget,
        check: Result<(), String>,
    },
    CallUnusable {
        block: usize,
        call: UnusableToolCall,
    },
    Usage(TokenUsage),
    /// The answer is complete.
    Answered(StopReason),
    /// The provider failed.
    Failed(UserError),
    CallStage {
        place: usize,
        stage: CallStage,
    },
    CallEnded {
        place: usize,
        end: ToolCallEnd,
    },
    /// The user stops the turn, or Gatehouse is closed.
    Stop,
}

/// A tool of the list that the model got.
#[derive(Clone, Debug)]
pub(super) struct KnownTool {
    pub(super) exposed_name: String,
    pub(super) facts: ToolLabel,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TurnEffect {
    /// The message changed in more than what deltas say.
    Changed,
    Delta(TextDelta),
    /// Send the next request.
    Request,
    /// Run the call at this place.
    Run {
        place: usize,
    },
    /// Cancel the calls that run.
    Cancel,
    /// The turn has ended.
    Over,
}

/// A call as the model names it.
struct NamedCall {
    /// The provider's id of the call.
    id: String,
    name: String,
    /// The tool that is meant, if there is one.
    tool: Option<KnownTool>,
}

#[derive(Debug)]
enum TurnPhase {
    /// An answer is awaited or comes in: the places of its blocks.
    Streaming(HashMap<usize, usize>),
    /// Calls run: their places.
    Calling(BTreeSet<usize>),
    /// The turn was stopped, and these calls have not ended yet.
    Stopping(BTreeSet<usize>),
    Over,
}

/// A turn, with the message that the model writes in it.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) message: ChatMessage,
    /// For each block.
    pub(super) kept: Vec<KeptBlock>,
    phase: TurnPhase,
    /// Requests of this message so far.
    round: u32,
    /// The number of the last request that is allowed.
    last_round: u32,
    /// What was reported for the earlier requests.
    usage_before: TokenUsage,
    /// Places of blocks that changed since they were last taken for saving.
    unsaved: BTreeSet<usize>,
}

impl Turn {
    /// A turn whose first request is to be sent.
    pub(super) fn new(id: MessageId, model: String, at: Timestamp) -> Self {
        Self {
            message: ChatMessage {
                id,
                role: ChatRole::Assistant,
                at,
                blocks: Vec::new(),
                state: ChatMessageState::Running,
                error: None,
                model: Some(model),
                usage: None,
            },
            kept: Vec::new(),
            phase: TurnPhase::Streaming(HashMap::new()),
            round: 1,
            last_round: MAX_ROUNDS,
            usage_before: TokenUsage::default(),
            unsaved: BTreeSet::new(),
        }
    }

    /// Goes on with a message that ended at the limit of rounds.
    pub(super) fn resume(mut message: ChatMessage, kept: Vec<KeptBlock>, model: String) -> Self {
        let round = kept.iter().map(|kept| kept.round).max().unwrap_or(0) + 1;
        message.state = ChatMessageState::Running;
        message.error = None;
        message.model = Some(model);
        let usage_before = message.usage.unwrap_or_default();
        Self {
            message,
            kept,
            phase: TurnPhase::Streaming(HashMap::new()),
            round,
            last_round: round + MAX_ROUNDS - 1,
            usage_before,
            unsaved: BTreeSet::new(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, TurnPhase::Over)
    }

    /// The places of the blocks that changed since this was last asked.
    pub(super) fn take_unsaved(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.unsaved)
    }

    /// The call at a place.
    pub(super) fn call(&self, place: usize) -> Option<(&ToolCallBlock, &KeptCall)> {
        let Some(ChatBlock::ToolCall(block)) = self.message.blocks.get(place) else { return None };
        Some((block, self.kept.get(place)?.call.as_ref()?))
    }

    /// Takes in what happened. After the end nothing changes any more.
    pub(super) fn apply(&mut self, input: TurnInput, at: Timestamp) -> Vec<TurnEffect> {
        match (&self.phase, input) {
            (TurnPhase::Over, _) => Vec::new(),
            (_, TurnInput::CallStage { place, stage }) => self.call_stage(place, stage),
            (_, TurnInput::CallEnded { place, end }) => self.call_ended(place, end),
            (TurnPhase::Streaming(_), TurnInput::Stop) => self.finish(ChatMessageState::Stopped, None),
            (TurnPhase::Calling(open), TurnInput::Stop) => {
                self.phase = TurnPhase::Stopping(open.clone());
                vec![TurnEffect::Cancel]
            }
            (TurnPhase::Streaming(_), input) => self.stream(input, at),
            // What came before the stream was dropped.
            (TurnPhase::Calling(_) | TurnPhase::Stopping(_), _) => Vec::new(),
        }
    }

    fn stream(&mut self, input: TurnInput, at: Timestamp) -> Vec<TurnEffect> {
        match input {
            TurnInput::Text { block, text } => {
                self.append(block, text, || ChatBlock::Text { text: String::new() })
            }
            TurnInput::Reasoning { block, text } => {
                self.append(block, text, || ChatBlock::Reasoning { text: String::new() })
            }
            TurnInput::ReasoningItem { block, item } => {
                let (place, _) = self.place(block, || ChatBlock::Reasoning { text: String::new() });
                if let Some(kept) = self.kept.get_mut(place) {
                    kept.item = Some(item);
                }
                self.unsaved.insert(place);
                vec![TurnEffect::Changed]
            }
            TurnInput::CallBegan { block, id, name, tool } => {
                self.begin_call(block, NamedCall { id, name, tool }, at);
                vec![TurnEffect::Changed]
            }
            TurnInput::CallFragment { block, text } => self.append_to_call(block, text),
            TurnInput::CallWritten { block, call, tool, target, check } => {
                let ModelToolCall { id, name, arguments, repaired_from, provider_item } = call;
                let place = self.begin_call(block, NamedCall { id, name, tool }, at);
                if let Some(kept) = self.kept.get_mut(place).and_then(|kept| kept.call.as_mut()) {
                    kept.item = provider_item;
                    kept.arguments = Some(arguments);
                }
                self.call_written(place, target, repaired_from, check)
            }
            TurnInput::CallUnusable { block, call } => {
                let UnusableToolCall { id, name, written, reason } = call;
                let place = self.begin_call(block, NamedCall { id, name, tool: None }, at);
                if let Some(ChatBlock::ToolCall(shown)) = self.message.blocks.get_mut(place) {
                    shown.arguments = shown_text(written);
                }
                self.reject(place, &reason);
                vec![TurnEffect::Changed]
            }
            TurnInput::Usage(usage) => {
                self.message.usage = Some(sum(self.usage_before, usage));
                Vec::new()
            }
            TurnInput::Answered(stop) => self.answered(stop),
            TurnInput::Failed(error) => self.finish(ChatMessageState::Failed, Some(error)),
            TurnInput::CallStage { .. } | TurnInput::CallEnded { .. } | TurnInput::Stop => Vec::new(),
        }
    }

    /// The place of a block of the answer, and whether it is new.
    fn place(&mut self, block: usize, new: impl FnOnce() -> ChatBlock) -> (usize, bool) {
        let next = self.message.blocks.len();
        let TurnPhase::Streaming(places) = &mut self.phase else { return (next, false) };
        let place = *places.entry(block).or_insert(next);
        let is_new = place == next;
        if is_new {
            self.message.blocks.push(new());
            self.kept.push(KeptBlock { round: self.round, ..KeptBlock::default() });
            self.unsaved.insert(place);
        }
        (place, is_new)
    }

    fn append(&mut self, block: usize, added: String, new: impl FnOnce() -> ChatBlock) -> Vec<TurnEffect> {
        if added.is_empty() {
            return Vec::new();
        }
        let (place, is_new) = self.place(block, new);
        let mut effects: Vec<TurnEffect> = is_new.then_some(TurnEffect::Changed).into_iter().collect();
        let Some(ChatBlock::Text { text } | ChatBlock::Reasoning { text }) =
            self.message.blocks.get_mut(place)
        else {
            return effects;
        };
        let offset = text.len();
        text.push_str(&added);
        self.unsaved.insert(place);
        effects.push(TurnEffect::Delta(TextDelta { place, offset, text: added }));
        effects
    }

    fn append_to_call(&mut self, block: usize, added: String) -> Vec<TurnEffect> {
        let TurnPhase::Streaming(places) = &self.phase else { return Vec::new() };
        let Some(place) = places.get(&block).copied() else { return Vec::new() };
        let Some(ChatBlock::ToolCall(call)) = self.message.blocks.get_mut(place) else { return Vec::new() };
        if call.state != ToolCallState::Writing || added.is_empty() {
            return Vec::new();
        }
        let offset = call.arguments.len();
        call.arguments.push_str(&added);
        vec![TurnEffect::Delta(TextDelta { place, offset, text: added })]
    }

    /// The place of a call that the model writes; it is added if it is new.
    fn begin_call(&mut self, block: usize, call: NamedCall, at: Timestamp) -> usize {
        let NamedCall { id, name, tool } = call;
        let shown_id = self.unused_id(&id, block);
        let (exposed_name, facts) = match tool {
            Some(tool) => (Some(tool.exposed_name), tool.facts),
            None => (None, ToolLabel { title: name.clone(), ..ToolLabel::default() }),
        };
        let (place, is_new) = self.place(block, || {
            ChatBlock::ToolCall(ToolCallBlock {
                id: shown_id,
                tool: name.clone(),
                title: facts.title,
                server: facts.server,
                class: facts.class,
                arguments: String::new(),
                repaired_from: None,
                state: ToolCallState::Writing,
                approval: None,
                call: None,
                verdict: None,
                started: at,
                took_ms: None,
                waited_ms: None,
                result: None,
            })
        });
        if let Some(kept) = self.kept.get_mut(place).filter(|_| is_new) {
            kept.call = Some(KeptCall { id, name, exposed_name, item: None, result: None, arguments: None });
        }
        place
    }

    /// The id, or one made of it if another call of the message has it.
    fn unused_id(&self, id: &str, block: usize) -> String {
        let is_taken = |id: &str| {
            self.message
                .blocks
                .iter()
                .any(|block| matches!(block, ChatBlock::ToolCall(call) if call.id == id))
        };
        if is_taken(id) { format!("{id}-{}-{block}", self.round) } else { id.to_owned() }
    }

    fn call_written(
        &mut self,
        place: usize,
        target: CallTarget,
        repaired_from: Option<String>,
        check: Result<(), String>,
    ) -> Vec<TurnEffect> {
        if let Some(ChatBlock::ToolCall(shown)) = self.message.blocks.get_mut(place) {
            let CallTarget { facts, shown_arguments, .. } = target;
            (shown.title, shown.server, shown.class) = (facts.title, facts.server, facts.class);
            shown.arguments = shown_arguments;
            shown.repaired_from = repaired_from.map(shown_text);
            shown.state = ToolCallState::Running;
        }
        self.unsaved.insert(place);
        if let Err(reason) = check {
            self.reject(place, &reason);
        }
        vec![TurnEffect::Changed]
    }

    /// A call is not sent; the model is told why.
    fn reject(&mut self, place: usize, reason: &str) {
        if let Some(ChatBlock::ToolCall(shown)) = self.message.blocks.get_mut(place) {
            shown.state = ToolCallState::Failed;
        }
        if let Some(kept) = self.kept.get_mut(place).and_then(|kept| kept.call.as_mut()) {
            kept.result = Some(error_result(reason));
        }
        self.unsaved.insert(place);
    }

    fn answered(&mut self, stop: StopReason) -> Vec<TurnEffect> {
        self.usage_before = self.message.usage.unwrap_or_default();
        if stop == StopReason::Refused {
            let error = UserError::new(ErrorCode::ModelFailed, message!("error.models.refused"));
            return self.finish(ChatMessageState::Failed, Some(error));
        }
        let own = |kept: &KeptBlock| kept.round == self.round && kept.call.is_some();
        let calls: Vec<usize> =
            self.kept.iter().enumerate().filter(|(_, kept)| own(kept)).map(|(place, _)| place).collect();
        if calls.is_empty() {
            let (state, error) = if stop == StopReason::Length {
                let error = UserError::new(ErrorCode::ModelFailed, message!("error.models.tooManyTokens"))
                    .with_hint(message!("error.models.hint.goOn"));
                (ChatMessageState::Failed, Some(error))
            } else {
                (ChatMessageState::Done, None)
            };
            return self.finish(state, error);
        }
        let mut ready = BTreeSet::new();
        for place in calls {
            let Some(ChatBlock::ToolCall(call)) = self.message.blocks.get_mut(place) else { continue };
            match call.state {
                ToolCallState::Running => {
                    ready.insert(place);
                }
                // Its provider said that the answer is complete, but not that the call is.
                ToolCallState::Writing => self.reject(place, "The call is incomplete."),
                _ => {}
            }
        }
        if ready.is_empty() {
            return self.next_round();
        }
        let mut effects = vec![TurnEffect::Changed];
        effects.extend(ready.iter().map(|place| TurnEffect::Run { place: *place }));
        self.phase = TurnPhase::Calling(ready);
        effects
    }

    fn call_stage(&mut self, place: usize, stage: CallStage) -> Vec<TurnEffect> {
        let Some(ChatBlock::ToolCall(call)) = self.message.blocks.get_mut(place) else { return Vec::new() };
        if !matches!(call.state, ToolCallState::Running | ToolCallState::Waiting) {
            return Vec::new();
        }
        match stage {
            CallStage::Began(id) => call.call = Some(id),
            CallStage::Waiting(approval) => {
                call.approval = Some(approval);
                call.state = ToolCallState::Waiting;
            }
            CallStage::Running => call.state = ToolCallState::Running,
        }
        self.unsaved.insert(place);
        vec![TurnEffect::Changed]
    }

    fn call_ended(&mut self, place: usize, end: ToolCallEnd) -> Vec<TurnEffect> {
        let (TurnPhase::Calling(open) | TurnPhase::Stopping(open)) = &mut self.phase else {
            return Vec::new();
        };
        if !open.remove(&place) {
            return Vec::new();
        }
        let (is_last, is_stopping) = (open.is_empty(), matches!(self.phase, TurnPhase::Stopping(_)));
        let ToolCallEnd { state, result, view } = end;
        if let Some(ChatBlock::ToolCall(call)) = self.message.blocks.get_mut(place) {
            call.state = state;
            call.call = view.call.clone().or(call.call.take());
            call.verdict = view.verdict.clone();
            (call.took_ms, call.waited_ms) = (Some(view.took_ms), Some(view.waited_ms));
            call.result = Some(view);
        }
        if let Some(kept) = self.kept.get_mut(place).and_then(|kept| kept.call.as_mut()) {
            kept.result = Some(result);
        }
        self.unsaved.insert(place);
        match (is_last, is_stopping) {
            (false, _) => vec![TurnEffect::Changed],
            (true, false) => self.next_round(),
            (true, true) => self.finish(ChatMessageState::Stopped, None),
        }
    }

    fn next_round(&mut self) -> Vec<TurnEffect> {
        if self.round >= self.last_round {
            return self.finish(ChatMessageState::RoundLimit, None);
        }
        self.round += 1;
        self.phase = TurnPhase::Streaming(HashMap::new());
        vec![TurnEffect::Changed, TurnEffect::Request]
    }

    /// Ends the turn. Calls that have not ended by then never will.
    fn finish(&mut self, state: ChatMessageState, error: Option<UserError>) -> Vec<TurnEffect> {
        for (place, block) in self.message.blocks.iter_mut().enumerate() {
            if let ChatBlock::ToolCall(call) = block
                && matches!(
                    call.state,
                    ToolCallState::Writing | ToolCallState::Waiting | ToolCallState::Running
                )
            {
                if call.state == ToolCallState::Writing {
                    // They were never whole, so nothing in them was masked.
                    call.arguments.clear();
                }
                call.state = ToolCallState::Cancelled;
                self.unsaved.insert(place);
            }
        }
        self.message.state = state;
        self.message.error = error;
        self.phase = TurnPhase::Over;
        vec![TurnEffect::Changed, TurnEffect::Over]
    }

    /// Ends a stopped turn whose calls don't end.
    pub(super) fn give_up(&mut self) -> Vec<TurnEffect> {
        if self.is_over() { Vec::new() } else { self.finish(ChatMessageState::Stopped, None) }
    }
}

fn sum(one: TokenUsage, other: TokenUsage) -> TokenUsage {
    TokenUsage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
    }
}

/// What a model wrote that is no JSON, as it is shown: nothing of it if a word in it suggests a secret, which can't be
/// found there to be masked.
fn shown_text(written: String) -> String {
    let mut words = written.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    if words.any(gatehouse_common::secret_names::is_secret_argument) {
        return gatehouse_model::secret::REDACTED.to_owned();
    }
    written
}

#[cfg(test)]
mod tests;
