//! What the streaming client adds to the latency of each event: the time from the write of a chunk by a model at loopback until
//! its event is there, against a bare read of the same bytes. Both are measured in one run.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::StreamExt as _;
use gatehouse_model::provider::ProviderApi;
use gatehouse_models::exchange::{ModelEvent, ModelMessage, ModelRequest, UserPart};
use gatehouse_models::providers::{ModelClient, ProviderEndpoint, check_base_url};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const CHUNKS: usize = 2_000;
/// Chunks before those that count.
const WARM_UP: usize = 100;
/// Between the arrival of a chunk and the next one, so that the reader waits for it as for a real model.
const PAUSE: Duration = Duration::from_millis(1);
/// Most time that the client may add, in the median and for 99 of 100.
const LIMIT: Duration = Duration::from_millis(1);

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const BARE_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

const APIS: [ProviderApi; 4] =
    [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini];

/// Measures all formats and prints them.
pub(crate) fn measure() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    println!("from the write of a chunk to its event, {CHUNKS} chunks; the client adds at most {LIMIT:?}");
    println!("{:<52}{:>10}{:>13}", "", "median", "99 of 100");
    for api in APIS {
        let bare = {
            let model = PacedModel::start(api)?;
            let reading = read_bytes(model.address, api, model.arrived.clone());
            model.latencies(runtime.block_on(runtime.spawn(reading))??)?
        };
        let client = {
            let model = PacedModel::start(api)?;
            let reading = read_events(model.address, api, model.arrived.clone());
            model.latencies(runtime.block_on(runtime.spawn(reading))??)?
        };
        let added = Latency {
            median: client.median.saturating_sub(bare.median),
            most: client.most.saturating_sub(bare.most),
        };
        bare.print(&format!("{api:?}, bare read"));
        client.print(&format!("{api:?}, client"));
        added.print(&format!("{api:?}, added"));
        ensure!(added.median <= LIMIT && added.most <= LIMIT, "the client adds too much to {api:?}");
    }
    Ok(())
}

struct Latency {
    median: Duration,
    /// Of 99 of 100.
    most: Duration,
}

impl Latency {
    fn print(&self, name: &str) {
        println!("{name:<52}{:>7} us{:>10} us", self.median.as_micros(), self.most.as_micros());
    }
}

/// A model that answers one request. It writes the next chunk a moment after the one before has arrived.
struct PacedModel {
    address: SocketAddr,
    /// Takes a word for each chunk that has arrived.
    arrived: Sender<()>,
    /// When each chunk was written.
    writing: JoinHandle<Result<Vec<Instant>>>,
}

impl PacedModel {
    fn start(api: ProviderApi) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let (arrived, arrivals) = mpsc::channel();
        let writing = thread::spawn(move || answer(listener.accept()?.0, api, &arrivals));
        Ok(Self { address, arrived, writing })
    }

    /// How long each chunk took until it was there.
    fn latencies(self, there: Vec<Instant>) -> Result<Latency> {
        let written = self.writing.join().map_err(|_| anyhow!("the model broke off"))??;
        ensure!(written.len() == there.len(), "{} of {} chunks arrived", there.len(), written.len());
        let mut took: Vec<Duration> =
            written.iter().zip(&there).skip(WARM_UP).map(|(written, there)| *there - *written).collect();
        took.sort_unstable();
        let of = |percent: usize| took.get(took.len() * percent / 100).copied().context("no chunk");
        Ok(Latency { median: of(50)?, most: of(99)? })
    }
}

fn answer(mut stream: TcpStream, api: ProviderApi, arrivals: &Receiver<()>) -> Result<Vec<Instant>> {
    stream.set_nodelay(true)?;
    read_request(&stream)?;
    stream.write_all(&opening(api))?;
    let chunk = framed(event(api));
    let mut written = Vec::with_capacity(WARM_UP + CHUNKS);
    for _ in 0..WARM_UP + CHUNKS {
        thread::sleep(PAUSE);
        written.push(Instant::now());
        stream.write_all(&chunk)?;
        arrivals.recv()?;
    }
    Ok(written)
}

fn read_request(stream: &TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(())
}

/// When each chunk was there, without anything that reads it.
async fn read_bytes(model: SocketAddr, api: ProviderApi, arrived: Sender<()>) -> Result<Vec<Instant>> {
    let mut stream = tokio::net::TcpStream::connect(model).await?;
    stream.write_all(BARE_REQUEST).await?;
    stream.read_exact(&mut opening(api)).await?;
    let mut chunk = framed(event(api));
    let mut there = Vec::with_capacity(WARM_UP + CHUNKS);
    for _ in 0..WARM_UP + CHUNKS {
        stream.read_exact(&mut chunk).await?;
        there.push(Instant::now());
        arrived.send(())?;
    }
    Ok(there)
}

/// When the event of each chunk was there.
async fn read_events(model: SocketAddr, api: ProviderApi, arrived: Sender<()>) -> Result<Vec<Instant>> {
    let endpoint = ProviderEndpoint {
        api,
        base_url: check_base_url(&format!("http://{model}")).map_err(|error| anyhow!("{error:?}"))?,
        key: None,
        name: "bench".to_owned(),
    };
    let request = ModelRequest {
        model: "m".to_owned(),
        messages: vec![ModelMessage::User(vec![UserPart::Text("Write.".to_owned())])],
        ..ModelRequest::default()
    };
    let mut events = ModelClient::new()?.stream(&endpoint, &request).await?;
    let mut there = Vec::with_capacity(WARM_UP + CHUNKS);
    while there.len() < WARM_UP + CHUNKS {
        match events.next().await.context("the answer is over")?? {
            ModelEvent::Text { .. } => {
                there.push(Instant::now());
                arrived.send(())?;
            }
            ModelEvent::Usage { .. } => {}
            other => bail!("not in the answer: {other:?}"),
        }
    }
    Ok(there)
}

/// All that comes before the first text.
fn opening(api: ProviderApi) -> Vec<u8> {
    let events = match api {
        ProviderApi::OpenAiChat => {
            r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

"#
        }
        ProviderApi::OpenAiResponses => {
            r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

"#
        }
        ProviderApi::Anthropic => {
            r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#
        }
        ProviderApi::Gemini => ": begins\n\n",
    };
    [HEAD, &framed(events)].concat()
}

/// The event of a few words.
fn event(api: ProviderApi) -> &'static str {
    match api {
        ProviderApi::OpenAiChat => {
            r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"m","choices":[{"index":0,"delta":{"content":" a few words"},"logprobs":null,"finish_reason":null}],"usage":null}

"#
        }
        ProviderApi::OpenAiResponses => {
            r#"event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" a few words","logprobs":[]}

"#
        }
        ProviderApi::Anthropic => {
            r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" a few words"}}

"#
        }
        ProviderApi::Gemini => {
            r#"data: {"candidates":[{"content":{"parts":[{"text":" a few words"}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r"}

"#
        }
    }
}

/// A chunk of HTTP/1.1.
fn framed(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}
