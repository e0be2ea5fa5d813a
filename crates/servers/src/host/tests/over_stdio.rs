//! Servers over standard streams: messages arrive unchanged in both directions, and no process is
//! left.

use super::*;
use gatehouse_model::ServerBinding;
use gatehouse_model::status::FailureKind;

/// A small server that records each line that it receives, byte for byte.
const SERVER: &str = r#"
import sys, json, time, os, signal, subprocess
mode, log = sys.argv[1], open(sys.argv[2], 'ab', buffering=0)
out = sys.stdout.buffer
def say(text):
    out.write(text.encode() + b'\n'); out.flush()
def answer(id, result): say('{"jsonrpc":"2.0","id":' + json.dumps(id) + ',"result":' + result + '}')
def refuse(id, code): say(json.dumps({"jsonrpc":"2.0","id":id,"error":{"code":code,"message":"no"}}))
if mode == 'garbage':
    for n in range(200): print('line', n, 'of a log')
    sys.stdout.flush()
if mode == 'banner':
    print('Server is starting...'); print('{"level":"info"}'); sys.stdout.flush()
if mode == 'mute':
    print('Listening on port 3000', flush=True)
if mode == 'huge':
    block = b'x' * (1 << 20)
    for _ in range(70): out.write(block)
    out.flush()
if mode == 'dies':
    print('cannot open database', file=sys.stderr); print('giving up', file=sys.stderr); sys.exit(3)
if mode == 'stubborn':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin.buffer:
    log.write(line)
    message = json.loads(line)
    id, method, params = message.get('id'), message.get('method'), message.get('params') or {}
    if mode == 'mute': continue
    if method == 'server/discover':
        if mode in ('modern', 'both'):
            answer(id, '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"odd":null}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}')
        elif mode == 'exits': sys.exit(0)
        elif mode == 'uncorrelated': refuse("server-error", -32600)
        elif mode == 'null-id': refuse(None, -32601)
        else: refuse(id, -32601)
    elif method == 'initialize' and mode == 'modern': refuse(id, -32022)
    elif method == 'initialize':
        version = '2099-01-01' if mode == 'future' else params['protocolVersion']
        answer(id, '{"protocolVersion":"%s","capabilities":{"tools":{"listChanged":true},"z":1,"a":null},"serverInfo":{"name":"old","version":"1"},"instructions":"be kind"}' % version)
    elif method == 'tools/call':
        name, args = params['name'], params.get('arguments')
        if name == 'odd': answer(id, '{ "z":12345678901234567890,  "nothing":null,"a" : [1.0,1e2, "\\u00e9"], "content":[] }')
        elif name == 'refuse': refuse(id, -32602)
        elif name == 'size': answer(id, '{"content":"' + 'y' * args['n'] + '"}')
        elif name == 'steps':
            token = params['_meta']['progressToken']
            for n in range(args['n']): say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"x":null}}' % (json.dumps(token), n))
            answer(id, '{}')
        elif name == 'exit': print('last words', file=sys.stderr, flush=True); os._exit(7)
        elif name == 'kill': os.kill(os.getpid(), signal.SIGKILL)
        elif name == 'leave':
            # A grandchild that left the group and holds the streams.
            child = subprocess.Popen(['sleep', '1000'], start_new_session=True)
            answer(id, '{"pid":%d}' % child.pid)
        elif name == 'leave-and-exit':
            child = subprocess.Popen(['sleep', '1000'])
            answer(id, '{"pid":%d}' % child.pid)
            time.sleep(0.05); os._exit(9)
        elif name == 'ask':
            say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
            say('{"jsonrpc":"2.0","id":2,"method":"roots/list"}')
            say('{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}')
            answer(id, '{}')
        elif name == 'env': answer(id, json.dumps({k: os.environ.get(k) for k in args['names']}))
        elif name == 'change': say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'); answer(id, '{}')
        elif name == 'deaf': answer(id, '{}'); time.sleep(1000)
        elif name == 'twice':
            say('[' + '{"jsonrpc":"2.0","id":%s,"result":{"batch":1}}' % json.dumps(id) + ',{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}]')
        # 'hang' never answers
if mode == 'stubborn': time.sleep(1000)
"#;

fn transport(harness: &ConnectionHarness, mode: &str) -> Transport {
    let script = harness.path("server.py");
    std::fs::write(&script, SERVER).unwrap();
    Transport::Stdio {
        command: "python3".to_owned(),
        args: vec![
            script.display().to_string(),
            mode.to_owned(),
            harness.path("received").display().to_string(),
        ],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    }
}

async fn open_as(
    harness: &ConnectionHarness,
    mode: &str,
    lifecycle: LifecycleHint,
) -> Result<(Connection, mpsc::Receiver<Inbound>), ConnectError> {
    let (sender, inbound) = mpsc::channel(64);
    let spec = harness.spec(transport(harness, mode), lifecycle);
    let connection =
        tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await.unwrap()?;
    Ok((connection, inbound))
}

async fn open(harness: &ConnectionHarness, mode: &str) -> (Connection, mpsc::Receiver<Inbound>) {
    open_as(harness, mode, LifecycleHint::Auto).await.unwrap()
}

async fn ask(connection: &Connection, name: &str, arguments: &str) -> Result<RpcOutcome, RequestError> {
    connection.request(UpstreamRequest::new("tools/call", call(name, arguments)), limit()).await
}

fn text(reply: RpcOutcome) -> String {
    match reply {
        RpcOutcome::Result(raw) | RpcOutcome::Error(raw) => raw.get().to_owned(),
    }
}

#[tokio::test]
async fn detects_and_remembers_lifecycle() {
    let table = [
        ("modern", ProtocolFamily::Stateless, "2026-07-28", LifecycleHint::Discover, "new"),
        ("legacy", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        // One process has one family, and only on the older one can its server ask everything.
        ("both", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("exits", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("uncorrelated", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("null-id", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("banner", ProtocolFamily::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
    ];
    for (mode, protocol_family, protocol, learned, name) in table {
        let harness = ConnectionHarness::new();
        let (connection, _inbound) = open(&harness, mode).await;
        let handshake = connection.handshake();
        assert_eq!(
            (handshake.protocol_family, handshake.protocol.as_str()),
            (protocol_family, protocol),
            "{mode}"
        );
        assert_eq!((handshake.lifecycle, handshake.info.name.as_str()), (learned, name), "{mode}");
        connection.close().await;

        // The hint learned from a server works at the next attempt, and so does an outdated one.
        for hint in [LifecycleHint::Initialize, LifecycleHint::Discover] {
            let (connection, _inbound) = open_as(&harness, mode, hint).await.unwrap();
            // A program that speaks both is used in the family that it is asked for first.
            let family = match (mode, hint) {
                ("both", LifecycleHint::Discover) => ProtocolFamily::Stateless,
                _ => protocol_family,
            };
            assert_eq!(connection.handshake().protocol_family, family, "{mode} with {hint:?}");
            connection.close().await;
        }
        harness.end().await;
    }
}

#[tokio::test]
async fn uses_only_the_pinned_revision() {
    use gatehouse_model::server::ProtocolVersionSetting::{Stateful, Stateless};
    for (mode, pin, connected) in [
        ("both", Stateless, Some(ProtocolFamily::Stateless)),
        ("both", Stateful, Some(ProtocolFamily::Stateful)),
        ("legacy", Stateless, None),
        ("modern", Stateful, None),
    ] {
        let harness = ConnectionHarness::new();
        let mut spec = harness.spec(transport(&harness, mode), LifecycleHint::Auto);
        spec.config = Arc::new(ServerConfig { protocol_version: pin, ..(*spec.config).clone() });
        let (sender, _inbound) = mpsc::channel(64);
        match (connect(&spec, sender, &CancellationToken::new()).await, connected) {
            (Ok(connection), Some(family)) => {
                assert_eq!(connection.handshake().protocol_family, family, "{mode}");
                connection.close().await;
            }
            (Err(error), None) => {
                assert_eq!(error.failure_kind(), FailureKind::Protocol, "{mode}");
                assert!(error.to_string().contains(pin.as_str()), "{mode}: {error}");
            }
            (outcome, _) => panic!("{mode} {pin:?}: {:?}", outcome.map(|_| "connected")),
        }
        let received = std::fs::read_to_string(harness.path("received")).unwrap();
        let other = if pin == Stateful { "server/discover" } else { "\"initialize\"" };
        assert!(!received.contains(other), "{mode} {pin:?} was asked for the other revision: {received}");
        harness.end().await;
    }
}

#[tokio::test]
async fn capabilities_and_instructions_are_unchanged() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    assert_eq!(connection.handshake().capabilities.get(), r#"{"tools":{"listChanged":true},"z":1,"a":null}"#);
    assert_eq!(connection.handshake().info.instructions.as_deref(), Some("be kind"));
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn passes_bytes_unchanged() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let arguments = r#"{"z":98765432109876543210,"n":null, "b" : [1.0, 1E5,"é\u00e9"],"a":{"y":1,"x":2}}"#;
    assert_eq!(
        text(ask(&connection, "odd", arguments).await.unwrap()),
        r#"{ "z":12345678901234567890,  "nothing":null,"a" : [1.0,1e2, "\u00e9"], "content":[] }"#
    );
    let received = std::fs::read_to_string(harness.path("received")).unwrap();
    assert!(
        received.contains(&format!(r#""params":{{"name":"odd","arguments":{arguments}}}}}"#)),
        "{received}"
    );
    let RpcOutcome::Error(error) = ask(&connection, "refuse", "{}").await.unwrap() else {
        panic!("an error")
    };
    assert_eq!(error.get(), r#"{"code": -32602, "message": "no"}"#);
    assert_eq!(text(ask(&connection, "twice", "{}").await.unwrap()), r#"{"batch":1}"#);
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn stateless_requests_merge_meta() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "modern").await;
    let mut params = call("odd", "{}");
    params.meta = Some(raw(r#"{"trace":12345678901234567890,"progressToken":"theirs"}"#));
    connection.request(UpstreamRequest::new("tools/call", params), limit()).await.unwrap();
    let received = std::fs::read_to_string(harness.path("received")).unwrap();
    let line = received.lines().last().unwrap();
    assert!(
        line.contains(
            r#""_meta":{"trace":12345678901234567890,"io.modelcontextprotocol/protocolVersion":"2026-07-28""#
        ),
        "{line}"
    );
    assert!(line.contains(r#""io.modelcontextprotocol/clientInfo":{"name":"Gatehouse""#), "{line}");
    assert!(line.contains(r#""io.modelcontextprotocol/clientCapabilities":{"elicitation""#), "{line}");
    assert!(!line.contains("theirs"), "{line}");
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn delivers_progress_in_order_before_result() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    for _ in 0..20 {
        let (sink, seen) = collect();
        let mut request = UpstreamRequest::new("tools/call", call("steps", r#"{"n":50}"#));
        request.progress = Some(sink);
        connection.request(request, limit()).await.unwrap();
        let seen = seen.lock();
        let numbers: Vec<u64> = seen
            .iter()
            .map(|params| {
                assert!(params.ends_with(r#","x":null}"#), "{params}");
                serde_json::from_str::<serde_json::Value>(params).unwrap()["progress"].as_u64().unwrap()
            })
            .collect();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    }
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn matches_many_and_large_answers() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let calls = (0..64).map(|n| {
        let connection = connection.clone();
        async move {
            let size = if n % 16 == 0 { 3_000_000 } else { n };
            let reply = ask(&connection, "size", &format!(r#"{{"n":{size}}}"#)).await.unwrap();
            assert_eq!(text(reply).len(), size + r#"{"content":""}"#.len());
        }
    });
    futures::future::join_all(calls).await;
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn cancel_drop_and_timeout_reach_server() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let received = harness.path("received");

    let cancel = CancellationToken::new();
    let mut request = UpstreamRequest::new("tools/call", call("hang", r#"{"which":"token"}"#));
    request.cancel = cancel.clone();
    let canceller = async {
        wait_for_text(&received, r#""token""#).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(connection.request(request, limit()), canceller);
    assert!(matches!(outcome, Err(RequestError::Cancelled)));
    wait_for_text(&received, r#""notifications/cancelled","params":{"requestId":"g1""#).await;

    tokio::select! {
        _ = ask(&connection, "hang", r#"{"which":"dropped"}"#) => panic!("it never answers"),
        _ = wait_for_text(&received, r#""dropped""#) => {}
    }
    wait_for_text(&received, r#""params":{"requestId":"g2""#).await;

    let short = CallLimit::total(Duration::from_millis(50));
    let outcome = connection.request(UpstreamRequest::new("tools/call", call("hang", "{}")), short).await;
    assert!(matches!(outcome, Err(RequestError::TimedOut { .. })));
    wait_for_text(&received, r#""params":{"requestId":"g3""#).await;

    // The connection still works.
    ask(&connection, "odd", "{}").await.unwrap();
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn abandoned_send_does_not_split_message() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    // The server answers and then reads nothing for a while, so that the pipe fills.
    let large = format!(r#"{{"text":"{}"}}"#, "z".repeat(1_000_000));
    let pid = text(ask(&connection, "env", r#"{"names":["GATEHOUSE_CHILD"]}"#).await.unwrap());
    assert!(pid.contains("/srv-test/"), "{pid}");
    ask(&connection, "deaf", "{}").await.unwrap();
    let short = CallLimit::total(Duration::from_millis(100));
    let outcome = connection.request(UpstreamRequest::new("tools/call", call("odd", &large)), short).await;
    assert!(matches!(outcome, Err(RequestError::TimedOut { .. })));
    // Closing doesn't wait for a server that doesn't read.
    tokio::time::timeout(LONG, connection.close()).await.unwrap();
    harness.end().await;
}

#[tokio::test]
async fn reports_process_exit() {
    let table: [(&str, CloseCause, &[&str]); 2] =
        [("exit", CloseCause::Exited(7), &["last words"]), ("kill", CloseCause::Signalled(9), &[])];
    for (tool, cause, last) in table {
        let harness = ConnectionHarness::new();
        let (connection, _inbound) = open(&harness, "legacy").await;
        let outcome = ask(&connection, tool, "{}").await;
        assert!(matches!(outcome, Err(RequestError::Closed(_))), "{tool}: {outcome:?}");
        let reason = connection.closed().await;
        assert_eq!(reason.cause, cause);
        assert_eq!(*reason.last_lines, *last);
        assert_eq!(reason.failure_kind(), FailureKind::TemporaryNetwork);
        assert!(matches!(ask(&connection, "odd", "{}").await, Err(RequestError::Closed(_))));
        connection.close().await;
        harness.end().await;
    }
}

#[tokio::test]
async fn notices_exit_while_grandchild_holds_streams() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let reply = text(ask(&connection, "leave-and-exit", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    let reason = tokio::time::timeout(LONG, connection.closed()).await.unwrap();
    assert_eq!(reason.cause, CloseCause::Exited(9));
    connection.close().await;
    assert!(!alive(grandchild));
    harness.end().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn close_ends_grandchild_outside_group() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let reply = text(ask(&connection, "leave", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    assert!(alive(grandchild));
    connection.close().await;
    wait_until_gone(grandchild).await;
    assert_eq!(connection.closed().await.cause, CloseCause::Requested);
    harness.end().await;
}

#[tokio::test]
async fn close_kills_stubborn_process() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "stubborn").await;
    ask(&connection, "odd", "{}").await.unwrap();
    tokio::time::timeout(LONG, connection.close()).await.unwrap();
    harness.end().await;
}

#[tokio::test]
async fn dropped_connection_ends_processes() {
    let harness = ConnectionHarness::new();
    let (connection, _inbound) = open(&harness, "legacy").await;
    let reply = text(ask(&connection, "leave", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    drop(connection);
    wait_until_gone(grandchild).await;
    harness.end().await;
}

#[tokio::test]
async fn reports_connect_errors() {
    let table = [
        ("garbage", FailureKind::Protocol, "beginning with: line 0 of a log"),
        ("mute", FailureKind::Protocol, "beginning with: Listening on port 3000"),
        (
            "dies",
            FailureKind::TemporaryNetwork,
            "exit code 3. Its last words were: cannot open database | giving up",
        ),
        ("future", FailureKind::Protocol, "2099-01-01"),
        ("huge", FailureKind::Protocol, "more than 64 MiB"),
    ];
    for (mode, kind, words) in table {
        let harness = ConnectionHarness::new();
        let (sender, _inbound) = mpsc::channel(64);
        let mut spec = harness.spec(transport(&harness, mode), LifecycleHint::Auto);
        if mode == "mute" {
            // Long enough for its first words on a busy machine.
            Arc::make_mut(&mut spec.config).limits.connect_secs = 5;
        }
        let outcome =
            tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await.unwrap();
        let error = outcome.err().unwrap();
        assert_eq!(error.failure_kind(), kind, "{mode}: {error}");
        assert!(error.to_string().contains(words), "{mode}: {error}");
        harness.end().await;
    }
}

#[tokio::test]
async fn reports_missing_command_before_start() {
    let harness = ConnectionHarness::new();
    let transport = Transport::Stdio {
        command: "uvx-of-nowhere".to_owned(),
        args: vec![],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    };
    let (sender, _inbound) = mpsc::channel(1);
    let spec = harness.spec(transport, LifecycleHint::Auto);
    let error = connect(&spec, sender, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.failure_kind(), FailureKind::Configuration);
    assert!(error.to_string().contains("“uvx-of-nowhere” was not found"), "{error}");
    harness.end().await;
}

#[tokio::test]
async fn cancelled_connect_leaves_nothing_running() {
    let harness = ConnectionHarness::new();
    let (sender, _inbound) = mpsc::channel(1);
    let spec = harness.spec(transport(&harness, "mute"), LifecycleHint::Auto);
    let cancel = CancellationToken::new();
    let canceller = async {
        wait_for_text(&harness.path("received"), "\"initialize\"").await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(connect(&spec, sender, &cancel), canceller);
    assert!(matches!(outcome, Err(ConnectError::Request(RequestError::Cancelled))));
    harness.end().await;
}

#[tokio::test]
async fn passes_environment_and_bound_secrets() {
    let harness = ConnectionHarness::new();
    let Transport::Stdio { command, args, .. } = transport(&harness, "legacy") else { panic!("stdio") };
    let env = BTreeMap::from([
        ("API_KEY".to_owned(), "key ${secret:api}".to_owned()),
        ("FROM".to_owned(), "${env:PATH}".to_owned()),
    ]);
    let spec = harness.spec(
        Transport::Stdio { command, args, env, cwd: None, streams: Default::default() },
        LifecycleHint::Initialize,
    );
    let (sender, _inbound) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let error = connect(&spec, sender.clone(), &cancel).await.err().unwrap();
    assert!(error.to_string().contains("env/API_KEY is not stored"), "{error}");

    // A secret bound to another field, generation or identity is not used.
    let present = spec.config.binding();
    let key = |to: &ServerBinding, field| gatehouse_store::SecretKey::for_server_field(to, field);
    let edited = ServerBinding { generation: Generation(2), ..present.clone() };
    let another = ServerBinding { identity: "another".into(), ..present.clone() };
    harness.secrets.set(&key(&present, "env/OTHER"), &Secret::new("wrong")).unwrap();
    harness.secrets.set(&key(&edited, "env/API_KEY"), &Secret::new("wrong")).unwrap();
    harness.secrets.set(&key(&another, "env/API_KEY"), &Secret::new("wrong")).unwrap();
    assert!(connect(&spec, sender.clone(), &cancel).await.is_err());

    harness.secrets.set(&key(&present, "env/API_KEY"), &Secret::new("s3cr3t-value")).unwrap();
    let connection = connect(&spec, sender, &cancel).await.unwrap();
    let names = r#"{"names":["API_KEY","FROM","GATEHOUSE_CHILD","HOME","CARGO_MANIFEST_DIR"]}"#;
    let found: BTreeMap<String, Option<String>> =
        serde_json::from_str(&text(ask(&connection, "env", names).await.unwrap())).unwrap();
    assert_eq!(found["API_KEY"].as_deref(), Some("key s3cr3t-value"));
    assert_eq!(found["FROM"], std::env::var("PATH").ok());
    assert!(found["GATEHOUSE_CHILD"].as_ref().unwrap().contains("/srv-test/"));
    assert_eq!(found["HOME"], std::env::var("HOME").ok());
    assert_eq!(found["CARGO_MANIFEST_DIR"], None, "what is not a server's business is kept back");
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn answers_ping_and_rejects_other_requests() {
    let harness = ConnectionHarness::new();
    let (connection, mut inbound) = open(&harness, "legacy").await;
    ask(&connection, "ask", "{}").await.unwrap();
    let received = wait_for_text(&harness.path("received"), r#""id":3"#).await;
    let lines: Vec<serde_json::Value> =
        received.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let with_id = |id: u64| {
        lines
            .iter()
            .find(|line| line["id"] == id && line.get("method").is_none())
            .unwrap_or_else(|| panic!("{id}: {received}"))
    };
    assert!(with_id(1)["result"].is_object());
    for id in [2, 3] {
        assert!(with_id(id)["error"]["code"].is_i64(), "nobody is there who could be asked");
    }
    ask(&connection, "change", "{}").await.unwrap();
    assert_eq!(tokio::time::timeout(LONG, inbound.recv()).await.unwrap(), Some(Inbound::ToolsChanged));
    connection.close().await;
    harness.end().await;
}

#[tokio::test]
async fn writes_stderr_to_log() {
    let harness = ConnectionHarness::new();
    let (connection, mut inbound) = open(&harness, "legacy").await;
    drop(ask(&connection, "exit", "{}").await);
    let line = tokio::time::timeout(LONG, inbound.recv()).await.unwrap().unwrap();
    assert!(matches!(&line, Inbound::Stderr(line) if line.text == "last words"), "{line:?}");
    connection.close().await;
    assert_eq!(std::fs::read_to_string(harness.path("logs/srv-test.log")).unwrap(), "last words\n");
    harness.end().await;
}
