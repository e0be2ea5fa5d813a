//! Drives a turn: sends the requests, reads the answers, runs the calls, announces what changes and saves it. What is to be
//! done next is decided by [`Turn`].

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt as _, StreamExt as _};
use gatehouse_model::chat::{ChatBlock, ToolCallState};
use gatehouse_model::{Event, UserError};
use gatehouse_store::SavedBlock;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::composed_instructions::compose;
use super::conversations_deps::ConversationsDeps;
use super::delta_batch::{DeltaBatch, TextDelta};
use super::history::{PastMessage, request_messages};
use super::model_results::for_model;
use super::tool_runner::{CallStage, ConversationTools, ToolCallEnd, ToolLabel, ToolRun, ToolScope};
use super::turn::{KnownTool, Turn, TurnEffect, TurnInput};
use crate::adapters::{AdaptedTools, ToolFormat, check_arguments};
use crate::exchange::{ModelEvent, ModelRequest, ModelToolCall};
use crate::providers::{ModelError, ProviderEndpoint};

/// Calls of one turn that run at the same time.
const MAX_PARALLEL_CALLS: usize = 8;
/// How long a stopped turn waits for its calls to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What a turn is about.
pub(super) struct TurnTask {
    pub(super) deps: Arc<ConversationsDeps>,
    pub(super) scope: ToolScope,
    pub(super) endpoint: ProviderEndpoint,
    /// Id of the model at its provider.
    pub(super) model: String,
    /// The user's own instructions.
    pub(super) instructions: Option<String>,
    /// The messages before.
    pub(super) past: Vec<PastMessage>,
    pub(super) turn: Arc<Mutex<Turn>>,
    pub(super) stop: CancellationToken,
}

/// The tools that one request has.
struct RequestTools {
    adapted: AdaptedTools,
    listed: HashMap<String, (Box<serde_json::value::RawValue>, ToolLabel)>,
}

impl RequestTools {
    /// The tool that a model means: by the name that it was given, or by that of clients.
    fn find(&self, name: &str) -> Option<KnownTool> {
        let exposed = self.adapted.exposed_name(name).unwrap_or(name);
        let (_, facts) = self.listed.get(exposed)?;
        Some(KnownTool { exposed_name: exposed.to_owned(), facts: facts.clone() })
    }
}

/// The answer to a request.
enum StreamedAnswer {
    None,
    Opening(BoxFuture<'static, Result<OpenAnswer, UserError>>),
    Open(BoxStream<'static, Result<ModelEvent, ModelError>>),
}

struct OpenAnswer {
    tools: RequestTools,
    stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
}

/// What comes of an answer.
enum AnswerEvent {
    Opened(RequestTools),
    Event(ModelEvent),
    Failed(UserError),
    /// The stream ended without an end of the answer.
    BrokeOff,
}

impl StreamedAnswer {
    /// The next thing; never, while no answer is awaited. Can be dropped at any time without losing anything.
    async fn next(&mut self) -> AnswerEvent {
        match self {
            Self::None => pending().await,
            Self::Opening(opening) => match opening.await {
                Ok(OpenAnswer { tools, stream }) => {
                    *self = Self::Open(stream);
                    AnswerEvent::Opened(tools)
                }
                Err(error) => AnswerEvent::Failed(error),
            },
            Self::Open(stream) => match stream.next().await {
                Some(Ok(event)) => AnswerEvent::Event(event),
                Some(Err(error)) => AnswerEvent::Failed(error.into()),
                None => AnswerEvent::BrokeOff,
            },
        }
    }
}

/// What wakes the driver.
enum WakeUp {
    Stop,
    GiveUp,
    Flush,
    Stage(usize, CallStage),
    Ended(usize, ToolCallEnd),
    Answer(AnswerEvent),
}

/// A turn that is under way.
pub(super) struct TurnDriver {
    task: TurnTask,
    past: Arc<Vec<PastMessage>>,
    answer: StreamedAnswer,
    tools: Option<RequestTools>,
    calls: FuturesUnordered<BoxFuture<'static, (usize, ToolCallEnd)>>,
    cancel_calls: CancellationToken,
    call_slots: Arc<Semaphore>,
    stages: mpsc::UnboundedReceiver<(usize, CallStage)>,
    report: mpsc::UnboundedSender<(usize, CallStage)>,
    batch: DeltaBatch,
}

impl TurnDriver {
    pub(super) fn new(mut task: TurnTask) -> Self {
        let (report, stages) = mpsc::unbounded_channel();
        Self {
            past: Arc::new(std::mem::take(&mut task.past)),
            task,
            answer: StreamedAnswer::None,
            tools: None,
            calls: FuturesUnordered::new(),
            cancel_calls: CancellationToken::new(),
            call_slots: Arc::new(Semaphore::new(MAX_PARALLEL_CALLS)),
            stages,
            report,
            batch: DeltaBatch::default(),
        }
    }

    /// Runs the turn to its end. The message is saved by then; that the conversation changed is not announced yet.
    pub(super) async fn run(mut self) {
        self.request();
        let mut give_up: Option<Instant> = None;
        while !self.task.turn.lock().is_over() {
            let due = self.batch.due();
            let step = tokio::select! {
                biased;
                () = self.task.stop.cancelled(), if give_up.is_none() => WakeUp::Stop,
                Some((place, stage)) = self.stages.recv() => WakeUp::Stage(place, stage),
                Some((place, end)) = self.calls.next() => WakeUp::Ended(place, end),
                () = until(due) => WakeUp::Flush,
                () = until(give_up) => WakeUp::GiveUp,
                event = self.answer.next() => WakeUp::Answer(event),
            };
            let effects = match step {
                WakeUp::Stop => {
                    give_up = Some(Instant::now() + STOP_TIMEOUT);
                    self.answer = StreamedAnswer::None;
                    self.apply(TurnInput::Stop)
                }
                WakeUp::GiveUp => self.task.turn.lock().give_up(),
                WakeUp::Flush => Vec::new(),
                WakeUp::Stage(place, stage) => self.apply(TurnInput::CallStage { place, stage }),
                WakeUp::Ended(place, end) => {
                    let end = ToolCallEnd { result: for_model(&end.result), ..end };
                    self.apply(TurnInput::CallEnded { place, end })
                }
                WakeUp::Answer(event) => self.on_answer(event),
            };
            self.perform(effects).await;
        }
    }

    fn apply(&self, input: TurnInput) -> Vec<TurnEffect> {
        self.task.turn.lock().apply(input, self.task.deps.clock.now())
    }

    fn on_answer(&mut self, event: AnswerEvent) -> Vec<TurnEffect> {
        let event = match event {
            AnswerEvent::Opened(tools) => {
                self.tools = Some(tools);
                return Vec::new();
            }
            AnswerEvent::Event(event) => event,
            AnswerEvent::Failed(error) => {
                self.answer = StreamedAnswer::None;
                return self.apply(TurnInput::Failed(error));
            }
            AnswerEvent::BrokeOff => {
                self.answer = StreamedAnswer::None;
                let error = ModelError::CutShort { provider: self.task.endpoint.name.clone() };
                return self.apply(TurnInput::Failed(error.into()));
            }
        };
        let input = match event {
            ModelEvent::Text { block, text } => TurnInput::Text { block, text },
            ModelEvent::Reasoning { block, text } => TurnInput::Reasoning { block, text },
            ModelEvent::ReasoningEnded { block, item } => TurnInput::ReasoningItem { block, item },
            ModelEvent::ToolCallBegan { block, id, name } => {
                let tool = self.find(&name);
                TurnInput::CallBegan { block, id, name, tool }
            }
            ModelEvent::ToolCallArguments { block, text } => TurnInput::CallFragment { block, text },
            ModelEvent::ToolCallEnded { block, call: Ok(call) } => self.written(block, call),
            ModelEvent::ToolCallEnded { block, call: Err(call) } => TurnInput::CallUnusable { block, call },
            ModelEvent::Usage { input, output } => {
                TurnInput::Usage(gatehouse_model::chat::TokenUsage { input, output })
            }
            ModelEvent::Ended(stop) => {
                self.answer = StreamedAnswer::None;
                TurnInput::Answered(stop)
            }
        };
        self.apply(input)
    }

    fn find(&self, name: &str) -> Option<KnownTool> {
        self.tools.as_ref().and_then(|tools| tools.find(name))
    }

    /// A complete call: what it is for, and whether its arguments are those that the tool takes.
    fn written(&self, block: usize, call: ModelToolCall) -> TurnInput {
        let tool = self.find(&call.name);
        let name = tool.as_ref().map_or(call.name.as_str(), |tool| &tool.exposed_name);
        let target = self.task.deps.tools.target(&self.task.scope, name, &call.arguments);
        let listed = self.tools.as_ref().and_then(|tools| tools.listed.get(name));
        let check = match listed {
            None => Err(format!("There is no tool named “{}”.", call.name)),
            Some((definition, _)) => check_arguments(definition, &call.arguments).and_then(|()| {
                target.definition.as_deref().map_or(Ok(()), |tool| check_arguments(tool, &target.arguments))
            }),
        };
        TurnInput::CallWritten { block, call, tool, target, check }
    }

    /// Does what the state machine wants.
    async fn perform(&mut self, effects: Vec<TurnEffect>) {
        // The end is announced when the conversation no longer counts as running.
        let is_over = effects.contains(&TurnEffect::Over);
        let has_changed = effects.contains(&TurnEffect::Changed);
        for effect in effects {
            match effect {
                TurnEffect::Changed => {
                    // What is read after this has the text that waited.
                    let waiting = self.batch.take_all();
                    self.announce(waiting);
                    if !is_over {
                        let conversation = self.task.scope.conversation.clone();
                        self.task.deps.events.emit(Event::ConversationChanged { conversation });
                    }
                }
                TurnEffect::Delta(delta) => self.batch.add(delta),
                TurnEffect::Request => self.request(),
                TurnEffect::Run { place } => self.run_call(place),
                TurnEffect::Cancel => self.cancel_calls.cancel(),
                TurnEffect::Over => self.answer = StreamedAnswer::None,
            }
        }
        let due = self.batch.take_due();
        self.announce(due);
        if has_changed {
            self.save().await;
        }
    }

    fn announce(&self, deltas: Vec<TextDelta>) {
        let message = if deltas.is_empty() { return } else { self.task.turn.lock().message.id.clone() };
        for TextDelta { place, offset, text } in deltas {
            self.task.deps.events.emit(Event::ConversationDelta {
                conversation: self.task.scope.conversation.clone(),
                message: message.clone(),
                block: u32::try_from(place).unwrap_or(u32::MAX),
                offset: u32::try_from(offset).unwrap_or(u32::MAX),
                text,
            });
        }
    }

    /// Begins the next request.
    fn request(&mut self) {
        let TurnTask { deps, scope, endpoint, model, instructions, turn, .. } = &self.task;
        let (deps, scope, endpoint, model) =
            (Arc::clone(deps), scope.clone(), endpoint.clone(), model.clone());
        let (instructions, turn, past) = (instructions.clone(), Arc::clone(turn), Arc::clone(&self.past));
        let opening = async move {
            let ConversationTools { listed, instructions: servers } = deps.tools.tools(&scope).await;
            let adapted = AdaptedTools::new(
                ToolFormat::from(endpoint.api),
                listed.iter().map(|tool| &*tool.definition),
            );
            let messages = {
                let turn = turn.lock();
                let past = past.iter().map(|past| (&past.message, &past.kept[..]));
                request_messages(past.chain([(&turn.message, &turn.kept[..])]), &adapted)
            };
            let request = ModelRequest {
                model,
                instructions: compose(instructions.as_deref(), &servers),
                messages,
                tools: adapted.definitions().to_vec(),
                ..ModelRequest::default()
            };
            let stream = deps.client.stream(&endpoint, &request).await?;
            let listed = listed.into_iter().map(|tool| (tool.exposed_name, (tool.definition, tool.facts)));
            Ok(OpenAnswer { tools: RequestTools { adapted, listed: listed.collect() }, stream })
        };
        self.answer = StreamedAnswer::Opening(opening.boxed());
    }

    fn run_call(&mut self, place: usize) {
        let (exposed_name, arguments) = {
            let turn = self.task.turn.lock();
            let Some((_, kept)) = turn.call(place) else { return };
            let (Some(name), Some(arguments)) = (&kept.exposed_name, &kept.arguments) else { return };
            (name.clone(), arguments.clone())
        };
        let report = self.report.clone();
        let run = ToolRun {
            scope: self.task.scope.clone(),
            exposed_name,
            arguments,
            // Nobody listens any more once the turn is over.
            report: Arc::new(move |stage| report.send((place, stage)).unwrap_or_default()),
            cancel: self.cancel_calls.clone(),
        };
        let (running, slots) = (self.task.deps.tools.run(run), Arc::clone(&self.call_slots));
        self.calls.push(
            async move {
                let _slot = slots.acquire_owned().await;
                (place, running.await)
            }
            .boxed(),
        );
    }

    /// Saves the message with the blocks that changed.
    async fn save(&mut self) {
        let (message, blocks) = {
            let mut turn = self.task.turn.lock();
            let places = turn.take_unsaved();
            let blocks: Vec<SavedBlock> =
                places.into_iter().filter_map(|place| saved_block(&turn, place)).collect();
            (turn.message.clone(), blocks)
        };
        let deps = Arc::clone(&self.task.deps);
        let (conversation, at) = (self.task.scope.conversation.clone(), deps.clock.now());
        let saving = tokio::task::spawn_blocking(move || {
            deps.store.conversations().save(&conversation, &message, &blocks, at)
        });
        match saving.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "a message could not be saved"),
            Err(error) => tracing::error!(%error, "saving a message ended"),
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// A block as it is saved. Arguments that are still being written aren't: nothing in them is masked yet.
fn saved_block(turn: &Turn, place: usize) -> Option<SavedBlock> {
    let mut shown = turn.message.blocks.get(place)?.clone();
    if let ChatBlock::ToolCall(call) = &mut shown
        && call.state == ToolCallState::Writing
    {
        call.arguments.clear();
    }
    let kept = serde_json::to_string(turn.kept.get(place)?).ok();
    Some(SavedBlock { place: u32::try_from(place).ok()?, shown, kept })
}
