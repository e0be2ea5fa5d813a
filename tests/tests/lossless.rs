//! Nothing that Gatehouse passes on is changed: more than 500 generated messages of each kind of server (tools, resources,
//! prompts, arguments, results, errors), through `/mcp`, through the endpoint of the server and through the bridge, for
//! clients of both families of revisions.
//!
//! Every value is compared byte for byte. What is not compared is what Gatehouse has to write itself:
//!
//! | message | written by Gatehouse |
//! |---|---|
//! | request to a server | its id; the order of the members of `params` and `_meta`, and how their names are spelled; the name or URI of what is used, as the server wrote it in its list; in `_meta` the progress token and what 2026-07-28 requires |
//! | result for a client of 2026-07-28 from an older server | `resultType` at its beginning, and `ttlMs` and `cacheScope` if a resource was read |
//! | result for an older client from a server of 2026-07-28 | these three are left out |

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::bridge::{Bridge, BridgeCommand};
use gatehouse_tests::eventually::TEST_TIMEOUT;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::generated::{GeneratedMessages, PROMPTS, RESOURCES, TOOLS};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

const MESSAGES: GeneratedMessages = GeneratedMessages { seed: 14 };

/// The member of `params`, and of `_meta`, that nobody knows.
const ADDITION: &str = "example.org/odd";

/// A family of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Older,
    Newest,
}

impl Family {
    fn lifecycle(self) -> &'static str {
        match self {
            Self::Older => "legacy",
            Self::Newest => "modern",
        }
    }
}

/// How a client is connected.
#[derive(Clone, Copy, Debug)]
enum Entry {
    AllServers,
    OneServer,
    Bridge,
}

enum Link {
    Http { connection: HttpConnection, token: String, session: Option<String> },
    Bridge(Bridge),
}

/// A connection over which one request follows the other.
struct HttpConnection {
    authority: String,
    path: String,
    stream: BufReader<TcpStream>,
}

impl HttpConnection {
    fn open(endpoint: &str) -> Result<Self> {
        let rest = endpoint.strip_prefix("http://").context("not an http address")?;
        let (authority, path) = rest.split_once('/').context("no path")?;
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        Ok(Self { authority: authority.to_owned(), path: path.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sends a body, and returns the head and the body of the answer.
    fn post(&mut self, headers: &[(&str, &str)], body: &str) -> Result<(String, String)> {
        let Self { authority, path, stream } = self;
        let mut request =
            format!("POST /{path} HTTP/1.1\r\nHost: {authority}\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.get_mut().write_all(format!("{request}\r\n{body}").as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(stream.read_line(&mut head)? > 0, "the connection was closed: {head}");
        }
        let length = header(&head, "content-length").with_context(|| format!("no length: {head}"))?;
        let mut body = vec![0; length.parse()?];
        stream.read_exact(&mut body)?;
        Ok((head, String::from_utf8(body)?))
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// A client that reads and writes text.
struct TextClient {
    family: Family,
    link: Link,
    requests: u64,
}

/// A message as text.
#[derive(Deserialize)]
struct MessageText<'a> {
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

type TextMembers<'a> = HashMap<String, &'a RawValue>;

fn members(object: &str) -> Result<TextMembers<'_>> {
    serde_json::from_str(object).with_context(|| format!("no object: {object}"))
}

impl TextClient {
    fn open(gatehouse: &Gatehouse, token: &str, entry: Entry, family: Family) -> Result<Self> {
        let endpoint = match entry {
            Entry::AllServers => gatehouse.endpoint.clone(),
            Entry::OneServer => format!("{}/servers/raw/mcp", gatehouse.endpoint.trim_end_matches("/mcp")),
            Entry::Bridge => {
                let mut bridge = BridgeCommand::new(gatehouse, token)?.start()?;
                if family == Family::Older {
                    bridge.initialize(&json!({}))?;
                }
                return Ok(Self { family, link: Link::Bridge(bridge), requests: 1 });
            }
        };
        let connection = HttpConnection::open(&endpoint)?;
        let link = Link::Http { connection, token: token.to_owned(), session: None };
        let mut client = Self { family, link, requests: 0 };
        if family == Family::Older {
            client.initialize()?;
        }
        Ok(client)
    }

    /// Opens a session.
    fn initialize(&mut self) -> Result<()> {
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"text","version":"1"}}"#;
        let (head, _) = self
            .post(&format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#), &[])?;
        let opened_session =
            header(&head, "mcp-session-id").with_context(|| format!("no session: {head}"))?.to_owned();
        if let Link::Http { session, .. } = &mut self.link {
            *session = Some(opened_session);
        }
        Ok(())
    }

    fn post(&mut self, body: &str, more: &[(&str, &str)]) -> Result<(String, String)> {
        let Link::Http { connection, token, session } = &mut self.link else {
            anyhow::bail!("not over HTTP")
        };
        let authorization = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            // Without streams of events each answer is one text.
            ("Accept", "application/json"),
        ];
        headers.extend(session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        headers.extend_from_slice(more);
        connection.post(&headers, body)
    }

    /// Sends a request with these members of its params, and returns the result or the error as it came.
    fn request(
        &mut self,
        method: &str,
        target: &str,
        members: &str,
        addition: &str,
    ) -> Result<Result<String, String>> {
        let id = self.requests;
        self.requests += 1;
        let own = match self.family {
            Family::Older => "",
            Family::Newest => {
                r#","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"text","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#
            }
        };
        let comma = if members.is_empty() { "" } else { "," };
        let params = format!(r#"{{{members}{comma}"_meta":{{"{ADDITION}":{addition}{own}}}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let text = match &mut self.link {
            Link::Bridge(bridge) => {
                bridge.send(&body)?;
                bridge.line(|message| message["id"] == id && message.get("method").is_none())?
            }
            Link::Http { .. } => {
                let headers =
                    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", target)];
                let count = match (self.family, target) {
                    (Family::Older, _) => 0,
                    (Family::Newest, "") => 2,
                    (Family::Newest, _) => 3,
                };
                self.post(&body, &headers[..count])?.1
            }
        };
        let message: MessageText<'_> =
            serde_json::from_str(&text).with_context(|| format!("no message: {text}"))?;
        match (message.result, message.error) {
            (Some(result), None) => Ok(Ok(result.get().to_owned())),
            (None, Some(error)) => Ok(Err(error.get().to_owned())),
            _ => anyhow::bail!("no answer: {text}"),
        }
    }

    /// The items of a list, each as it came.
    fn list(&mut self, method: &str, member: &str) -> Result<HashSet<String>> {
        let list = self.request(method, "", "", "null")?;
        let list = list.map_err(|error| anyhow::anyhow!("{method}: {error}"))?;
        let items = members(&list)?.get(member).with_context(|| format!("no {member}"))?.get();
        let items: Vec<&RawValue> = serde_json::from_str(items)?;
        Ok(items.iter().map(|item| item.get().to_owned()).collect())
    }
}

/// A request as a server should get it, apart from what Gatehouse writes.
#[derive(Debug, PartialEq)]
struct ExpectedRequest {
    method: &'static str,
    target: String,
    arguments: Option<String>,
    /// The unknown member of the params, and that of `_meta`.
    additions: [Option<String>; 2],
}

impl ExpectedRequest {
    /// Reads it from a message in the server's log; `None` for those that Gatehouse sends by itself.
    fn read(line: &str) -> Result<Option<Self>> {
        let message: MessageText<'_> =
            serde_json::from_str(line).with_context(|| format!("no message: {line}"))?;
        let (Some(method), Some(params)) = (message.method, message.params) else { return Ok(None) };
        let method: String = serde_json::from_str(method.get())?;
        let Some((method, name)) = METHODS.iter().find(|(known, _)| *known == method) else {
            return Ok(None);
        };
        let params = members(params.get())?;
        let text =
            |members: &TextMembers<'_>, name: &str| members.get(name).map(|value| value.get().to_owned());
        let meta = params.get("_meta").map(|meta| members(meta.get())).transpose()?.unwrap_or_default();
        Ok(Some(Self {
            method: *method,
            target: serde_json::from_str(params.get(*name).context("no target")?.get())?,
            arguments: text(&params, "arguments"),
            additions: [text(&params, ADDITION), text(&meta, ADDITION)],
        }))
    }

    /// The members of the params as the client writes them.
    fn members(&self) -> String {
        let name = METHODS.iter().find(|(known, _)| *known == self.method).map_or("", |(_, name)| *name);
        let mut members = format!(r#""{name}":"{}""#, self.target);
        for (name, value) in [("arguments", &self.arguments), (ADDITION, &self.additions[0])] {
            if let Some(value) = value {
                members.push_str(&format!(r#","{name}":{value}"#));
            }
        }
        members
    }
}

/// What uses a server, with the member of the params that names what is used.
static METHODS: [(&str, &str); 3] =
    [("tools/call", "name"), ("resources/read", "uri"), ("prompts/get", "name")];

/// A result of a server of one family as a client of another one gets it.
fn result(method: &str, members: &str, [server, client]: [Family; 2]) -> String {
    let hints = r#""ttlMs":0,"cacheScope":"private""#;
    match (method, client, server) {
        (_, Family::Older, _) => format!("{{{members}}}"),
        ("resources/read", Family::Newest, Family::Older) => {
            format!(r#"{{"resultType":"complete",{hints},{members}}}"#)
        }
        ("resources/read", Family::Newest, Family::Newest) => {
            format!(r#"{{"resultType":"complete",{members},{hints}}}"#)
        }
        _ => format!(r#"{{"resultType":"complete",{members}}}"#),
    }
}

/// A server with its log, and a client's token.
struct Setup {
    gatehouse: Gatehouse,
    token: String,
    log: PathBuf,
    family: Family,
}

impl Setup {
    /// Checks all messages of one client.
    fn check(&self, entry: Entry, family: Family) -> Result<()> {
        let mut client = TextClient::open(&self.gatehouse, &self.token, entry, family)?;
        for (method, member, expected) in [
            ("tools/list", "tools", (0..TOOLS).map(|number| MESSAGES.tool(number)).collect::<Vec<_>>()),
            ("resources/list", "resources", (0..RESOURCES).map(|number| MESSAGES.resource(number)).collect()),
            ("prompts/list", "prompts", (0..PROMPTS).map(|number| MESSAGES.prompt(number)).collect()),
        ] {
            let listed = client.list(method, member)?;
            for definition in &expected {
                ensure!(listed.contains(definition), "{method} has not:\n{definition}\nbut:\n{listed:#?}");
            }
        }
        let before = fs::read_to_string(&self.log)?.len();
        let mut sent = Vec::new();
        for (request, answer) in exchanges() {
            let addition = request.additions[1].as_deref().context("no addition")?;
            let received = client.request(request.method, &request.target, &request.members(), addition)?;
            let expected = answer.map(|members| result(request.method, &members, [self.family, family]));
            ensure!(received == expected, "{request:?}\nreceived {received:?}\nexpected {expected:?}");
            sent.push(request);
        }
        let log = fs::read_to_string(&self.log)?;
        let mut arrived = Vec::new();
        for line in log[before..].lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            arrived.extend(ExpectedRequest::read(line)?);
        }
        for (request, arrived) in sent.iter().zip(&arrived) {
            ensure!(request == arrived, "sent    {request:?}\narrived {arrived:?}");
        }
        ensure!(sent.len() == arrived.len(), "{} sent, {} arrived", sent.len(), arrived.len());
        Ok(())
    }
}

/// All requests with the members of their results, or with the errors.
fn exchanges() -> Vec<(ExpectedRequest, Result<String, String>)> {
    let additions = |number| [Some(MESSAGES.addition(number)), Some(MESSAGES.addition(number + 1_000))];
    let tools = (0..TOOLS).map(|number| {
        let request = ExpectedRequest {
            method: "tools/call",
            target: GeneratedMessages::tool_name(number),
            arguments: MESSAGES.arguments(number),
            additions: additions(number),
        };
        (request, MESSAGES.answer(number))
    });
    let resources = (0..RESOURCES).map(|number| {
        let request = ExpectedRequest {
            method: "resources/read",
            target: GeneratedMessages::resource_uri(number),
            arguments: None,
            additions: additions(2_000 + number),
        };
        (request, Ok(MESSAGES.contents(number)))
    });
    let prompts = (0..PROMPTS).map(|number| {
        let request = ExpectedRequest {
            method: "prompts/get",
            target: GeneratedMessages::prompt_name(number),
            arguments: Some(MESSAGES.prompt_arguments(number)),
            additions: additions(4_000 + number),
        };
        (request, Ok(MESSAGES.messages(number)))
    });
    tools.chain(resources).chain(prompts).collect()
}

const EVERY_ENTRY: [Entry; 3] = [Entry::AllServers, Entry::OneServer, Entry::Bridge];

fn keeps_all_bytes(over: ServerTransport, server: Family, entries: &[Entry]) -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("received");
    let fault = format!("generated={}", MESSAGES.seed);
    let log_path = log.to_str().context("path")?;
    let words = ["--fault", &fault, "--lifecycle", server.lifecycle(), "--log", log_path];
    let _upstream = add(&gatehouse, "raw", over, &words)?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("text")?;
    let setup = Setup { gatehouse, token, log, family: server };
    for &entry in entries {
        for client in [Family::Older, Family::Newest] {
            setup
                .check(entry, client)
                .with_context(|| format!("{over:?} {server:?} server, {client:?} client, {entry:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn keeps_bytes_of_older_program() -> Result<()> {
    keeps_all_bytes(ServerTransport::Stdio, Family::Older, &EVERY_ENTRY)
}

#[test]
fn keeps_bytes_of_newest_program() -> Result<()> {
    keeps_all_bytes(ServerTransport::Stdio, Family::Newest, &EVERY_ENTRY)
}

#[test]
fn keeps_bytes_of_older_remote_server() -> Result<()> {
    keeps_all_bytes(ServerTransport::Http, Family::Older, &EVERY_ENTRY)
}

#[test]
fn keeps_bytes_of_newest_remote_server() -> Result<()> {
    keeps_all_bytes(ServerTransport::Http, Family::Newest, &EVERY_ENTRY)
}

#[test]
fn keeps_bytes_over_http_sse() -> Result<()> {
    keeps_all_bytes(ServerTransport::Sse, Family::Older, &[Entry::OneServer])
}

#[test]
fn keeps_bytes_over_websocket() -> Result<()> {
    keeps_all_bytes(ServerTransport::Ws, Family::Newest, &[Entry::OneServer])
}
