//! A model behind OpenAI's chat completions on loopback that writes what a test wants, step by step: texts, tool calls,
//! pauses that last until its reader leaves, failures. It keeps what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What the model does next in an answer.
#[derive(Clone, Debug)]
pub enum ModelStep {
    /// Writes this.
    Text(String),
    /// Calls a tool, in several fragments.
    Call {
        id: String,
        /// As the model was told.
        tool: String,
        /// As the model writes them.
        arguments: String,
    },
    /// Writes nothing more until its reader leaves.
    Hold,
    /// Breaks the connection.
    Break,
    /// Reports an error in the middle of the answer.
    Error(String),
    /// Answers with this status in place of an answer.
    Status(u16),
}

/// A call of a tool.
#[must_use]
pub fn call(id: &str, tool: &str, arguments: &Value) -> ModelStep {
    ModelStep::Call { id: id.to_owned(), tool: tool.to_owned(), arguments: arguments.to_string() }
}

/// A text.
#[must_use]
pub fn text(text: &str) -> ModelStep {
    ModelStep::Text(text.to_owned())
}

#[derive(Debug, Default)]
struct ModelState {
    answers: Mutex<VecDeque<Vec<ModelStep>>>,
    requests: Mutex<Vec<Value>>,
    left: Mutex<usize>,
}

/// The model. It ends with the test's process.
#[derive(Debug)]
pub struct ChatModel {
    /// The address that a provider is added with.
    pub base_url: String,
    state: Arc<ModelState>,
}

impl ChatModel {
    /// Starts it on a free port.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let state = Arc::new(ModelState::default());
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&own);
                // A reader that leaves early is its own affair.
                thread::spawn(move || serve(&state, stream).unwrap_or_default());
            }
        });
        Ok(Self { base_url, state })
    }

    /// Adds the answer to a further request.
    pub fn will_answer(&self, steps: impl IntoIterator<Item = ModelStep>) {
        self.state.answers.lock().push_back(steps.into_iter().collect());
    }

    /// What it was asked, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.state.requests.lock().clone()
    }

    /// What it was asked last.
    pub fn last_request(&self) -> Result<Value> {
        self.requests().pop().context("the model was not asked")
    }

    /// How many readers left while it paused.
    #[must_use]
    pub fn readers_that_left(&self) -> usize {
        *self.state.left.lock()
    }
}

/// Answers one request.
fn serve(state: &ModelState, stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    state.requests.lock().push(serde_json::from_slice(&body)?);
    let steps = state.answers.lock().pop_front().unwrap_or_else(|| vec![text("(no answer was scripted)")]);
    let mut stream = stream;
    if let Some(ModelStep::Status(status)) = steps.first() {
        let error = json!({ "error": { "message": "Scripted.", "type": "server_error" } }).to_string();
        write!(
            stream,
            "HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{error}",
            error.len()
        )?;
        return Ok(());
    }
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    let mut calls = 0;
    for step in steps {
        match step {
            ModelStep::Text(text) => send(&mut stream, &chunk(json!({ "content": text }), &Value::Null))?,
            ModelStep::Call { id, tool, arguments } => {
                let delta = |call: Value| json!({ "tool_calls": [call] });
                let head = json!({ "index": calls, "id": id, "type": "function", "function": { "name": tool, "arguments": "" } });
                send(&mut stream, &chunk(delta(head), &Value::Null))?;
                let middle = arguments.floor_char_boundary(arguments.len() / 2);
                let (first, rest) = arguments.split_at(middle);
                for fragment in [first, rest] {
                    let more = json!({ "index": calls, "function": { "arguments": fragment } });
                    send(&mut stream, &chunk(delta(more), &Value::Null))?;
                }
                calls += 1;
            }
            ModelStep::Hold => {
                // Nothing more is sent to it, so reading ends when it leaves.
                reader.read_to_end(&mut Vec::new()).unwrap_or_default();
                *state.left.lock() += 1;
                return Ok(());
            }
            ModelStep::Break => return Ok(()),
            ModelStep::Error(message) => {
                return send(
                    &mut stream,
                    &json!({ "error": { "message": message, "type": "server_error" } }),
                );
            }
            ModelStep::Status(_) => {}
        }
    }
    let finish = if calls > 0 { "tool_calls" } else { "stop" };
    send(&mut stream, &chunk(json!({}), &json!(finish)))?;
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12 });
    send(
        &mut stream,
        &json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [], "usage": usage }),
    )?;
    write!(stream, "data: [DONE]\n\n")?;
    Ok(())
}

fn send(stream: &mut TcpStream, chunk: &Value) -> Result<()> {
    write!(stream, "data: {chunk}\n\n")?;
    stream.flush()?;
    Ok(())
}

fn chunk(delta: Value, finish: &Value) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice] })
}
