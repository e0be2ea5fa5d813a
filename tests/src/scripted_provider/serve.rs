//! Answers requests: by their path in the format of an API, and as the script says.

use std::net::{Shutdown, TcpStream};

use anyhow::Result;
use gatehouse_model::chat::TokenUsage;
use gatehouse_model::provider::ProviderApi;
use serde_json::{Value, json};

use super::http::{self, ChunkedStream};
use super::script::{ModelStep, ScriptedAnswer};
use super::stream::{AnswerFacts, EventText, WrittenCall, writer};
use super::{ProviderRequest, ProviderState, control, documents};

/// What is reported as used where the script says nothing.
const USAGE: TokenUsage = TokenUsage { input: 1200, output: 34 };

/// Answers the request of a connection.
pub(super) fn connection(state: &ProviderState, mut stream: TcpStream) -> Result<()> {
    let answered = http::read(&stream).and_then(|request| answer(state, request, &mut stream));
    // Also for who still reads from it.
    stream.shutdown(Shutdown::Both).unwrap_or_default();
    answered
}

fn answer(state: &ProviderState, request: ProviderRequest, stream: &mut TcpStream) -> Result<()> {
    if let Some(reply) = control::answer(state, &request)? {
        return http::write(stream, 200, "", &reply);
    }
    let seen = state.holds.releases();
    let number = {
        let mut requests = state.requests.lock();
        requests.push(request.clone());
        requests.len()
    };
    let Some(api) = api_of(&request) else {
        return http::write(stream, 404, "", &json!({ "error": { "message": "No such path." } }));
    };
    if !state.takes(api, &request) {
        return http::write(stream, 401, "", &documents::error_body(api, 401, "Incorrect API key provided."));
    }
    if request.method == "GET" {
        let usual = || documents::MODELS.map(str::to_owned).to_vec();
        let models = state.models.lock().clone().unwrap_or_else(usual);
        return http::write(stream, 200, "", &documents::model_list(api, &models));
    }
    let next = state.answers.lock().pop_front();
    match next.unwrap_or_else(ScriptedAnswer::unscripted) {
        ScriptedAnswer::Steps(steps) => {
            let usage = steps.iter().find_map(|step| match step {
                ModelStep::Usage { input, output } => Some(TokenUsage { input: *input, output: *output }),
                _ => None,
            });
            let (model, usage) = (model_of(&request), usage.unwrap_or(USAGE));
            let facts = AnswerFacts { number, model, usage, request: &request.body };
            ScriptedStream { state, api, facts, seen }.write(steps, stream)
        }
        ScriptedAnswer::Status { status, message, retry_after } => {
            let wait = retry_after.map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
            http::write(stream, status, &wait, &documents::error_body(api, status, &message))
        }
        ScriptedAnswer::Redirect(origin) => {
            let location = format!("Location: {origin}{}\r\n", request.path);
            http::write(stream, 307, &location, &Value::Null)
        }
    }
}

/// The API that a request is for.
fn api_of(request: &ProviderRequest) -> Option<ProviderApi> {
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("POST", "/v1/chat/completions") => Some(ProviderApi::OpenAiChat),
        ("POST", "/v1/responses") => Some(ProviderApi::OpenAiResponses),
        ("POST", "/v1/messages") => Some(ProviderApi::Anthropic),
        // Of both versions; Google's own library takes the first one.
        ("POST", path) if path.starts_with("/v1beta/models/") || path.starts_with("/v1/models/") => {
            let is_stream = request.path.ends_with(":streamGenerateContent?alt=sse");
            is_stream.then_some(ProviderApi::Gemini)
        }
        ("GET", "/v1/models") if request.headers.contains_key("anthropic-version") => {
            Some(ProviderApi::Anthropic)
        }
        ("GET", "/v1/models") => Some(ProviderApi::OpenAiChat),
        ("GET", "/v1beta/models") => Some(ProviderApi::Gemini),
        _ => None,
    }
}

/// The model that is asked, which Gemini has in the path.
fn model_of(request: &ProviderRequest) -> String {
    let in_path = || Some(request.path.split_once("/models/")?.1.split_once(':')?.0);
    request.body["model"].as_str().or_else(in_path).unwrap_or_default().to_owned()
}

/// A streamed answer.
struct ScriptedStream<'a> {
    state: &'a ProviderState,
    api: ProviderApi,
    facts: AnswerFacts<'a>,
    /// Releases that count for no pause of this answer.
    seen: u64,
}

impl ScriptedStream<'_> {
    fn write(mut self, steps: Vec<ModelStep>, stream: &mut TcpStream) -> Result<()> {
        let mut stream = ChunkedStream::begin(stream)?;
        let mut writer = writer(self.api, &self.facts);
        let mut out = EventText::default();
        writer.begin(&mut out);
        for step in steps {
            match step {
                ModelStep::Text(text) => writer.text(&text, &mut out),
                ModelStep::Reasoning(text) => writer.reasoning(&text, &mut out),
                ModelStep::Call { id, tool, arguments } => {
                    writer.call(WrittenCall { id, tool, arguments, is_whole: true }, &mut out);
                }
                ModelStep::BeginCall { tool, arguments } => {
                    writer.call(WrittenCall::begun(tool, &arguments), &mut out);
                }
                ModelStep::Usage { .. } => {}
                ModelStep::Hold => {
                    stream.write(&out.take())?;
                    if !self.state.holds.wait(stream.connection(), &mut self.seen)? {
                        return Ok(());
                    }
                }
                ModelStep::Error(message) => {
                    writer.error(&message, &mut out);
                    stream.write(&out.take())?;
                    return stream.end();
                }
                ModelStep::Break => return stream.write(&out.take()),
            }
        }
        writer.end(&mut out);
        stream.write(&out.take())?;
        stream.end()
    }
}
