//! Servers over standard streams: messages arrive unchanged in both directions, and no process is
//! left.

use super::*;
use crate::connection::close::CloseCause;
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
        if mode == 'modern':
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

fn transport(place: &Place, mode: &str) -> Transport {
    let script = place.path("server.py");
    std::fs::write(&script, SERVER).unwrap();
    Transport::Stdio {
        command: "python3".to_owned(),
        args: vec![
            script.display().to_string(),
            mode.to_owned(),
            place.path("received").display().to_string(),
        ],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    }
}

async fn open_as(
    place: &Place,
    mode: &str,
    lifecycle: LifecycleHint,
) -> Result<(Connection, mpsc::Receiver<Inbound>), ConnectError> {
    let (sender, inbound) = mpsc::channel(64);
    let spec = place.spec(transport(place, mode), lifecycle);
    let connection =
        tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await.unwrap()?;
    Ok((connection, inbound))
}

async fn open(place: &Place, mode: &str) -> (Connection, mpsc::Receiver<Inbound>) {
    open_as(place, mode, LifecycleHint::Auto).await.unwrap()
}

async fn ask(connection: &Connection, name: &str, arguments: &str) -> Result<Reply, RequestError> {
    connection.request(Outgoing::plain("tools/call", call(name, arguments), limit())).await
}

fn text(reply: Reply) -> String {
    match reply {
        Reply::Result(raw) | Reply::Error(raw) => raw.get().to_owned(),
    }
}

#[tokio::test]
async fn each_lifecycle_is_found_out_and_remembered() {
    let table = [
        ("modern", Era::Stateless, "2026-07-28", LifecycleHint::Discover, "new"),
        ("legacy", Era::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("exits", Era::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("uncorrelated", Era::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("null-id", Era::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
        ("banner", Era::Stateful, "2025-11-25", LifecycleHint::Initialize, "old"),
    ];
    for (mode, era, protocol, learned, name) in table {
        let place = Place::new();
        let (connection, _inbound) = open(&place, mode).await;
        let handshake = connection.handshake();
        assert_eq!((handshake.era, handshake.protocol.as_str()), (era, protocol), "{mode}");
        assert_eq!((handshake.lifecycle, handshake.info.name.as_str()), (learned, name), "{mode}");
        connection.close().await;

        // The hint learned from a server works at the next attempt, and so does an outdated one.
        for hint in [LifecycleHint::Initialize, LifecycleHint::Discover] {
            let (connection, _inbound) = open_as(&place, mode, hint).await.unwrap();
            assert_eq!(connection.handshake().era, era, "{mode} with {hint:?}");
            connection.close().await;
        }
        place.end().await;
    }
}

#[tokio::test]
async fn capabilities_and_instructions_are_kept_as_they_were_written() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    assert_eq!(connection.handshake().capabilities.get(), r#"{"tools":{"listChanged":true},"z":1,"a":null}"#);
    assert_eq!(connection.handshake().info.instructions.as_deref(), Some("be kind"));
    connection.close().await;
    place.end().await;
}

#[tokio::test]
async fn bytes_pass_unchanged_both_ways() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    let arguments = r#"{"z":98765432109876543210,"n":null, "b" : [1.0, 1E5,"é\u00e9"],"a":{"y":1,"x":2}}"#;
    assert_eq!(
        text(ask(&connection, "odd", arguments).await.unwrap()),
        r#"{ "z":12345678901234567890,  "nothing":null,"a" : [1.0,1e2, "\u00e9"], "content":[] }"#
    );
    let received = std::fs::read_to_string(place.path("received")).unwrap();
    assert!(
        received.contains(&format!(r#""params":{{"name":"odd","arguments":{arguments}}}}}"#)),
        "{received}"
    );
    let Reply::Error(error) = ask(&connection, "refuse", "{}").await.unwrap() else { panic!("an error") };
    assert_eq!(error.get(), r#"{"code": -32602, "message": "no"}"#);
    assert_eq!(text(ask(&connection, "twice", "{}").await.unwrap()), r#"{"batch":1}"#);
    connection.close().await;
    place.end().await;
}

#[tokio::test]
async fn the_stateless_revision_gets_its_meta_and_keeps_the_callers() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "modern").await;
    let mut params = call("odd", "{}");
    params.meta = Some(raw(r#"{"trace":12345678901234567890,"progressToken":"theirs"}"#));
    connection.request(Outgoing::plain("tools/call", params, limit())).await.unwrap();
    let received = std::fs::read_to_string(place.path("received")).unwrap();
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
    place.end().await;
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    for _ in 0..20 {
        let (sink, seen) = collect();
        let mut outgoing = Outgoing::plain("tools/call", call("steps", r#"{"n":50}"#), limit());
        outgoing.progress = Some(sink);
        connection.request(outgoing).await.unwrap();
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
    place.end().await;
}

#[tokio::test]
async fn many_calls_and_large_ones_find_their_answers() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
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
    place.end().await;
}

#[tokio::test]
async fn cancelling_reaches_the_server_however_it_is_done() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    let received = place.path("received");

    let cancel = CancellationToken::new();
    let mut outgoing = Outgoing::plain("tools/call", call("hang", r#"{"which":"token"}"#), limit());
    outgoing.cancel = cancel.clone();
    let canceller = async {
        wait_for_text(&received, r#""token""#).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(connection.request(outgoing), canceller);
    assert!(matches!(outcome, Err(RequestError::Cancelled)));
    wait_for_text(&received, r#""notifications/cancelled","params":{"requestId":"g1""#).await;

    tokio::select! {
        _ = ask(&connection, "hang", r#"{"which":"dropped"}"#) => panic!("it never answers"),
        _ = wait_for_text(&received, r#""dropped""#) => {}
    }
    wait_for_text(&received, r#""params":{"requestId":"g2""#).await;

    let short = CallLimit::within(Duration::from_millis(50));
    let outcome = connection.request(Outgoing::plain("tools/call", call("hang", "{}"), short)).await;
    assert!(matches!(outcome, Err(RequestError::TimedOut { .. })));
    wait_for_text(&received, r#""params":{"requestId":"g3""#).await;

    // The connection still works.
    ask(&connection, "odd", "{}").await.unwrap();
    connection.close().await;
    place.end().await;
}

#[tokio::test]
async fn a_sender_that_leaves_tears_no_message() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    // The server answers and then reads nothing for a while, so that the pipe fills.
    let large = format!(r#"{{"text":"{}"}}"#, "z".repeat(1_000_000));
    let pid = text(ask(&connection, "env", r#"{"names":["GATEHOUSE_CHILD"]}"#).await.unwrap());
    assert!(pid.contains("/srv-test/"), "{pid}");
    ask(&connection, "deaf", "{}").await.unwrap();
    let short = CallLimit::within(Duration::from_millis(100));
    let outcome = connection.request(Outgoing::plain("tools/call", call("odd", &large), short)).await;
    assert!(matches!(outcome, Err(RequestError::TimedOut { .. })));
    // Closing doesn't wait for a server that doesn't read.
    tokio::time::timeout(LONG, connection.close()).await.unwrap();
    place.end().await;
}

#[tokio::test]
async fn the_end_of_a_process_is_told_with_its_reason() {
    let table: [(&str, CloseCause, &[&str]); 2] =
        [("exit", CloseCause::Exited(7), &["last words"]), ("kill", CloseCause::Signalled(9), &[])];
    for (tool, cause, last) in table {
        let place = Place::new();
        let (connection, _inbound) = open(&place, "legacy").await;
        let outcome = ask(&connection, tool, "{}").await;
        assert!(matches!(outcome, Err(RequestError::Closed(_))), "{tool}: {outcome:?}");
        let reason = connection.closed().await;
        assert_eq!(reason.cause, cause);
        assert_eq!(*reason.last_lines, *last);
        assert_eq!(reason.failure(), FailureKind::TemporaryNetwork);
        assert!(matches!(ask(&connection, "odd", "{}").await, Err(RequestError::Closed(_))));
        connection.close().await;
        place.end().await;
    }
}

#[tokio::test]
async fn an_end_is_noticed_while_a_grandchild_holds_the_streams() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    let reply = text(ask(&connection, "leave-and-exit", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    let reason = tokio::time::timeout(LONG, connection.closed()).await.unwrap();
    assert_eq!(reason.cause, CloseCause::Exited(9));
    connection.close().await;
    assert!(!alive(grandchild));
    place.end().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_grandchild_that_left_the_group_is_ended_too() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    let reply = text(ask(&connection, "leave", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    assert!(alive(grandchild));
    connection.close().await;
    wait_until_gone(grandchild).await;
    assert_eq!(connection.closed().await.cause, CloseCause::Asked);
    place.end().await;
}

#[tokio::test]
async fn a_process_that_will_not_end_is_made_to() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "stubborn").await;
    ask(&connection, "odd", "{}").await.unwrap();
    tokio::time::timeout(LONG, connection.close()).await.unwrap();
    place.end().await;
}

#[tokio::test]
async fn a_dropped_connection_leaves_no_process() {
    let place = Place::new();
    let (connection, _inbound) = open(&place, "legacy").await;
    let reply = text(ask(&connection, "leave", "{}").await.unwrap());
    let grandchild =
        i32::try_from(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["pid"].as_i64().unwrap())
            .unwrap();
    drop(connection);
    wait_until_gone(grandchild).await;
    place.end().await;
}

#[tokio::test]
async fn what_keeps_a_connection_from_being_made_is_said_in_words() {
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
        let place = Place::new();
        let (sender, _inbound) = mpsc::channel(64);
        let mut spec = place.spec(transport(&place, mode), LifecycleHint::Auto);
        if mode == "mute" {
            Arc::make_mut(&mut spec.config).limits.connect_secs = 1;
        }
        let outcome =
            tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await.unwrap();
        let error = outcome.err().unwrap();
        assert_eq!(error.failure(), kind, "{mode}: {error}");
        assert!(error.to_string().contains(words), "{mode}: {error}");
        place.end().await;
    }
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_found_out_before_the_start() {
    let place = Place::new();
    let transport = Transport::Stdio {
        command: "uvx-of-nowhere".to_owned(),
        args: vec![],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    };
    let (sender, _inbound) = mpsc::channel(1);
    let spec = place.spec(transport, LifecycleHint::Auto);
    let error = connect(&spec, sender, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.failure(), FailureKind::Configuration);
    assert!(error.to_string().contains("\"uvx-of-nowhere\" was not found"), "{error}");
    place.end().await;
}

#[tokio::test]
async fn cancelling_while_connecting_leaves_nothing() {
    let place = Place::new();
    let (sender, _inbound) = mpsc::channel(1);
    let spec = place.spec(transport(&place, "mute"), LifecycleHint::Auto);
    let cancel = CancellationToken::new();
    let canceller = async {
        wait_for_text(&place.path("received"), "server/discover").await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(connect(&spec, sender, &cancel), canceller);
    assert!(matches!(outcome, Err(ConnectError::Cancelled)));
    place.end().await;
}

#[tokio::test]
async fn the_server_gets_its_environment_and_secrets_stay_out_of_logs() {
    let place = Place::new();
    let Transport::Stdio { command, args, .. } = transport(&place, "legacy") else { panic!("stdio") };
    let env = BTreeMap::from([
        ("API_KEY".to_owned(), "key ${secret:api}".to_owned()),
        ("FROM".to_owned(), "${env:PATH}".to_owned()),
    ]);
    let spec = place.spec(
        Transport::Stdio { command, args, env, cwd: None, streams: Default::default() },
        LifecycleHint::Initialize,
    );
    let (sender, _inbound) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let error = connect(&spec, sender.clone(), &cancel).await.err().unwrap();
    assert!(error.to_string().contains("env/API_KEY is not stored"), "{error}");

    // A secret bound to another field, generation or identity is not used.
    let present = spec.config.binding();
    let key = |to: &ServerBinding, field| gatehouse_store::SecretKey::bound(to, field);
    let edited = ServerBinding { generation: Generation(2), ..present.clone() };
    let another = ServerBinding { identity: "another".into(), ..present.clone() };
    place.deps.secrets.set(&key(&present, "env/OTHER"), &Secret::new("wrong")).unwrap();
    place.deps.secrets.set(&key(&edited, "env/API_KEY"), &Secret::new("wrong")).unwrap();
    place.deps.secrets.set(&key(&another, "env/API_KEY"), &Secret::new("wrong")).unwrap();
    assert!(connect(&spec, sender.clone(), &cancel).await.is_err());

    place.deps.secrets.set(&key(&present, "env/API_KEY"), &Secret::new("s3cr3t-value")).unwrap();
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
    place.end().await;
}

#[tokio::test]
async fn the_server_may_ping_and_is_refused_the_rest() {
    let place = Place::new();
    let (connection, mut inbound) = open(&place, "legacy").await;
    ask(&connection, "ask", "{}").await.unwrap();
    let received = wait_for_text(&place.path("received"), r#""id":3"#).await;
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
    place.end().await;
}

#[tokio::test]
async fn standard_error_goes_to_the_log() {
    let place = Place::new();
    let (connection, mut inbound) = open(&place, "legacy").await;
    drop(ask(&connection, "exit", "{}").await);
    let line = tokio::time::timeout(LONG, inbound.recv()).await.unwrap().unwrap();
    assert!(matches!(&line, Inbound::Stderr(line) if line.text == "last words"), "{line:?}");
    connection.close().await;
    assert_eq!(std::fs::read_to_string(place.path("logs/srv-test.log")).unwrap(), "last words\n");
    place.end().await;
}
