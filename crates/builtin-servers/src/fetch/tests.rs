//! Tests against servers on loopback; no other network is used.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use tokio::net::TcpListener;

use super::address::Lookup;
use super::*;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Another address of this machine, which stands for a forbidden one.
const INSIDE: IpAddr = if cfg!(target_os = "macos") {
    IpAddr::V6(Ipv6Addr::LOCALHOST)
} else {
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2))
};

/// A server that lives until it is dropped.
struct TestSite {
    at: SocketAddr,
    hits: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestSite {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestSite {
    async fn open(address: IpAddr, routes: Router) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&hits);
        let routes =
            routes.layer(axum::middleware::from_fn(move |request: Request, next: axum::middleware::Next| {
                counter.fetch_add(1, Ordering::SeqCst);
                next.run(request)
            }));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { at, hits, task }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

/// Scripted name resolution. Each answer is used once, the last one repeatedly.
#[derive(Default)]
struct FakeLookup(parking_lot::Mutex<HashMap<String, Vec<Vec<IpAddr>>>>, AtomicUsize);

impl FakeLookup {
    fn of(names: &[(&str, &[&[IpAddr]])]) -> Arc<Self> {
        let names = names.iter().map(|(name, answers)| {
            ((*name).to_owned(), answers.iter().map(|answer| answer.to_vec()).collect())
        });
        Arc::new(Self(parking_lot::Mutex::new(names.collect()), AtomicUsize::new(0)))
    }
}

impl Lookup for FakeLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let mut names = self.0.lock();
        let found = names.get_mut(&name).map(|answers| {
            if answers.len() > 1 { answers.remove(0) } else { answers.first().cloned().unwrap_or_default() }
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("failed to lookup address")) })
    }
}

/// The real rule, with an exception for the address of the test servers.
fn home_or_public(address: IpAddr) -> bool {
    address == HOME || is_public(address)
}

fn guarded(names: Arc<FakeLookup>) -> Fetch {
    Fetch { web: WebClient::new(home_or_public, names, FetchLimits::default()) }
}

async fn ask(fetch: &Fetch, arguments: Value) -> Result<ToolOutput, String> {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    run("fetch", &arguments, fetch).await.map_err(|fault| fault.to_string())
}

async fn data(fetch: &Fetch, arguments: Value) -> Value {
    ask(fetch, arguments).await.map(|outcome| outcome.structured.unwrap()).unwrap()
}

async fn refusal(fetch: &Fetch, url: &str) -> String {
    ask(fetch, json!({ "url": url })).await.err().unwrap()
}

fn typed(content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn tool_has_read_only_and_open_world_hints() {
    let tools = tools();
    let [tool] = &*tools else { panic!("one tool") };
    assert_eq!(tool["name"], "fetch");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(tool["annotations"]["openWorldHint"], true);
    assert_eq!(tool["inputSchema"]["required"], json!(["url"]));
}

#[tokio::test]
async fn fetches_pages_as_text() {
    const PAGE: &str = "<title>T</title><h1>Head</h1><p>One <a href=/two>two</a>";
    let site = TestSite::open(
        HOME,
        Router::new()
            .route("/page", get(|| async { typed("text/html; charset=utf-8", PAGE) }))
            .route("/old", get(|| async { typed("text/html", b"<meta charset=koi8-r><p>\xf4\xc5\xd3\xd4") }))
            .route("/json", get(|| async { typed("application/json", "{\"a\": 1.0}") }))
            .route("/text", get(|| async { typed("text/plain", "a <b>\n c") }))
            .route("/gone", get(|| async { (StatusCode::NOT_FOUND, typed("text/html", "<p>Gone")) }))
            .route("/empty", get(|| async { StatusCode::NO_CONTENT }))
            .route("/png", get(|| async { typed("image/png", b"\x89PNG\r\n") }))
            .route("/bytes", get(|| async { Response::new(axum::body::Body::from("\u{0}\u{1}x")) }))
            .route("/unsaid", get(|| async { Response::new(axum::body::Body::from("<!doctype html><p>x")) })),
    )
    .await;
    let fetch = Fetch::new(true);

    let page = ask(&fetch, json!({ "url": site.url("/page") })).await.unwrap();
    let text = format!("# Head\n\nOne [two]({})", site.url("/two"));
    assert_eq!(page.text, format!("Title: T\nAddress: {}\n\n{text}", site.url("/page")));
    assert_eq!(
        page.structured.unwrap(),
        json!({
            "url": site.url("/page"), "status": 200, "contentType": "text/html",
            "title": "T", "text": text, "truncated": false,
        })
    );
    assert_eq!(data(&fetch, json!({ "url": site.url("/page"), "raw": true })).await["text"], PAGE);
    let table = [
        ("/old", "Тест", 200),
        ("/json", "{\"a\": 1.0}", 200),
        ("/text", "a <b>\n c", 200),
        ("/gone", "Gone", 404),
        ("/empty", "", 204),
        ("/unsaid", "x", 200),
    ];
    for (path, text, status) in table {
        let data = data(&fetch, json!({ "url": site.url(path) })).await;
        assert_eq!((&data["text"], &data["status"]), (&json!(text), &json!(status)), "{path}");
    }
    let gone = ask(&fetch, json!({ "url": site.url("/gone") })).await.unwrap();
    assert!(gone.text.contains("answered with the status 404"), "{}", gone.text);
    for (path, size, words) in
        [("/png", 6, "(image/png, 6 bytes)"), ("/bytes", 3, "(of no known type, 3 bytes)")]
    {
        let outcome = ask(&fetch, json!({ "url": site.url(path) })).await.unwrap();
        assert!(outcome.text.contains(words), "{}", outcome.text);
        let data = outcome.structured.unwrap();
        assert_eq!((&data["size"], &data["text"]), (&json!(size), &json!("")), "{path}");
    }
}

#[tokio::test]
async fn sends_no_user_data() {
    let site = TestSite::open(
        HOME,
        Router::new()
            .route("/a", get(|| async { ([(header::SET_COOKIE, "c=1")], Redirect::to("/b")) }))
            .route(
                "/b",
                get(|headers: HeaderMap| async move {
                    let mut names: Vec<&str> = headers.keys().map(header::HeaderName::as_str).collect();
                    names.sort_unstable();
                    format!("{} {}", names.join(","), headers["user-agent"].to_str().unwrap())
                }),
            ),
    )
    .await;
    let fetch = Fetch::new(true);
    let data = data(&fetch, json!({ "url": site.url("/a") })).await;
    let expected = concat!("accept,accept-encoding,host,user-agent Gatehouse/", env!("CARGO_PKG_VERSION"));
    assert_eq!(data["text"], expected);
    assert_eq!(data["url"], site.url("/b"));
}

#[tokio::test]
async fn returns_long_pages_in_parts() {
    let site = TestSite::open(HOME, Router::new().route("/", get(|| async { "äöü".repeat(20_000) }))).await;
    let fetch = Fetch::new(true);
    let first = data(&fetch, json!({ "url": site.url("/") })).await;
    assert_eq!(first["text"].as_str().unwrap().chars().count(), 20_000);
    assert_eq!((&first["truncated"], &first["nextStart"]), (&json!(true), &json!(20_000)));
    let second = ask(&fetch, json!({ "url": site.url("/"), "start": 59_998, "max_chars": 1 })).await.unwrap();
    assert!(second.text.contains("characters 59998 to 59999 of 60000"), "{}", second.text);
    let last = data(&fetch, json!({ "url": site.url("/"), "start": 59_999, "max_chars": 1 })).await;
    assert_eq!(last["text"], "ü");
    assert_eq!((&last["truncated"], last.get("nextStart")), (&json!(false), None));
    let beyond = ask(&fetch, json!({ "url": site.url("/"), "start": 60_000 })).await.unwrap();
    assert!(beyond.text.contains("has 60000 characters"), "{}", beyond.text);
}

#[tokio::test]
async fn rejects_invalid_arguments() {
    let fetch = Fetch::new(true);
    let table = [
        (json!({}), "\"url\" is missing"),
        (json!({ "url": "example.com/x" }), "begin with https://"),
        (json!({ "url": "file:///etc/passwd" }), "no file: ones"),
        (json!({ "url": "ftp://e.example/" }), "no ftp: ones"),
        (json!({ "url": "http://u@e.example/" }), "user name or password"),
        (json!({ "url": "http://:p@e.example/" }), "user name or password"),
        (json!({ "url": format!("http://e.example/{}", "x".repeat(9000)) }), "at most 8192 bytes"),
        (json!({ "url": "http://e.example/", "max_chars": 0 }), "from 1 to 100000"),
        (json!({ "url": "http://e.example/", "max_chars": 100_001 }), "from 1 to 100000"),
        (json!({ "url": "http://e.example/", "start": -1 }), "0 or more"),
        (json!({ "url": "http://e.example/", "raw": "yes" }), "true or false"),
        (json!({ "url": "http://e.example/", "method": "POST" }), "no argument \"method\""),
    ];
    for (arguments, expected) in table {
        let said = ask(&fetch, arguments).await.err().unwrap();
        assert!(said.contains(expected), "{said}");
    }
    assert!(matches!(run("post", &Map::new(), &fetch).await, Err(ToolError::NoSuchTool)));
}

#[tokio::test]
async fn rejects_private_addresses_in_every_notation() {
    let site = TestSite::open(HOME, Router::new().route("/", get(|| async { "secret" }))).await;
    let port = site.at.port();
    let fetch = Fetch::new(false);
    let hosts = "127.0.0.1 0x7f.1 2130706433 0177.0.0.1 127.1 127.0.0.1. 0 %31%32%37.0.0.1 １２７.0.0.1 \
        [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] 169.254.169.254 localhost LOCALHOST";
    for host in hosts.split_whitespace() {
        let said = refusal(&fetch, &format!("http://{host}:{port}/")).await;
        assert!(said.contains("not on the public internet"), "{host}: {said}");
        assert!(said.contains("allow private addresses in this server's settings"), "{host}: {said}");
    }
    assert_eq!(site.hits(), 0);
    assert_eq!(
        data(&Fetch::new(true), json!({ "url": format!("http://0x7f.1:{port}/") })).await["text"],
        "secret"
    );
}

#[tokio::test]
async fn checks_redirect_targets() {
    let inside = TestSite::open(INSIDE, Router::new().route("/", get(|| async { "secret" }))).await;
    let (by_number, by_name) = (inside.url("/"), format!("http://inside.test:{}/", inside.at.port()));
    let steps = (1..=5).fold(Router::new(), |steps, step| {
        steps.route(&format!("/{step}"), get(async move || Redirect::to(&format!("/{}", step - 1))))
    });
    let site = TestSite::open(
        HOME,
        steps
            .route("/number", get(|| async move { Redirect::to(&by_number) }))
            .route("/name", get(|| async move { Redirect::temporary(&by_name) }))
            .route("/login", get(|| async { Redirect::to("http://me:pw@e.example/") }))
            .route("/file", get(|| async { Redirect::to("file:///etc/passwd") }))
            .route("/loop", get(|| async { Redirect::permanent("/loop") }))
            .route("/0", get(|| async { "arrived" })),
    )
    .await;
    let fetch = guarded(FakeLookup::of(&[("inside.test", &[&[INSIDE]])]));
    let table = [
        ("/number", format!("does not connect to {INSIDE}")),
        ("/name", format!("does not connect to inside.test (its address is {INSIDE})")),
        ("/login", "user name or password".to_owned()),
        ("/file", "no file: ones".to_owned()),
        ("/loop", "more than 5 times".to_owned()),
    ];
    for (path, expected) in table {
        let said = refusal(&fetch, &site.url(path)).await;
        assert!(said.contains(&expected), "{path}: {said}");
    }
    assert_eq!(inside.hits(), 0);
    assert_eq!(data(&fetch, json!({ "url": site.url("/5") })).await["text"], "arrived");
    let open = Fetch {
        web: WebClient::new(
            |_| true,
            FakeLookup::of(&[("inside.test", &[&[INSIDE]])]),
            FetchLimits::default(),
        ),
    };
    for path in ["/number", "/name"] {
        assert_eq!(data(&open, json!({ "url": site.url(path) })).await["text"], "secret");
    }
    assert_eq!(inside.hits(), 2);
}

#[tokio::test]
async fn resolves_once_and_connects_to_checked_addresses() {
    let site = TestSite::open(HOME, Router::new().route("/", get(|| async { "home" }))).await;
    let port = site.at.port();
    // A second look-up of the first name would return a forbidden address.
    let names = FakeLookup::of(&[
        ("rebinds.test", &[&[HOME], &[INSIDE]]),
        ("both.test", &[&[INSIDE, HOME]]),
        ("nowhere.test", &[&[]]),
    ]);
    let fetch = guarded(Arc::clone(&names));
    let url = |name: &str| json!({ "url": format!("http://{name}:{port}/") });
    assert_eq!(data(&fetch, url("rebinds.test")).await["text"], "home");
    assert_eq!(names.1.load(Ordering::SeqCst), 1);
    let said = ask(&fetch, url("rebinds.test")).await.err().unwrap();
    assert!(
        said.contains(&format!("its address is {INSIDE}")),
        "kept connections are not used again: {said}"
    );
    assert_eq!(data(&fetch, url("both.test")).await["text"], "home");
    for name in ["nowhere.test", "unknown.test"] {
        let said = ask(&fetch, url(name)).await.err().unwrap();
        assert!(said.contains("cannot be reached"), "{said}");
    }
}

#[tokio::test]
async fn limits_page_size_before_and_after_decompression() {
    let limit = FetchLimits::default().bytes;
    let bomb = packed(&vec![b'x'; limit * 8]);
    assert!(bomb.len() < limit / 50);
    let gzip =
        |bytes: Vec<u8>| ([(header::CONTENT_ENCODING, "gzip"), (header::CONTENT_TYPE, "text/plain")], bytes);
    let small = packed(b"unpacked");
    let site = TestSite::open(
        HOME,
        Router::new()
            .route("/fits", get(move || async move { "x".repeat(limit) }))
            .route("/large", get(move || async move { "x".repeat(limit + 1) }))
            .route("/bomb", get(move || async move { gzip(bomb) }))
            .route("/packed", get(move || async move { gzip(small) }))
            .route(
                "/endless",
                get(|| async {
                    let chunk = futures::stream::repeat_with(|| Ok::<_, io::Error>(vec![b'x'; 64 * 1024]));
                    ([(header::CONTENT_TYPE, "text/plain")], axum::body::Body::from_stream(chunk))
                }),
            )
            .route(
                "/brotli",
                get(|| async {
                    ([(header::CONTENT_ENCODING, "br"), (header::CONTENT_TYPE, "text/plain")], "??")
                }),
            ),
    )
    .await;
    let fetch = Fetch::new(true);
    for path in ["/large", "/bomb", "/endless"] {
        let said = refusal(&fetch, &site.url(path)).await;
        assert!(said.contains("larger than 5120 KiB"), "{path}: {said}");
    }
    assert_eq!(data(&fetch, json!({ "url": site.url("/fits") })).await["nextStart"], 20_000);
    assert_eq!(data(&fetch, json!({ "url": site.url("/packed") })).await["text"], "unpacked");
    assert!(refusal(&fetch, &site.url("/brotli")).await.contains("packed the page as \"br\""));
}

#[tokio::test]
async fn times_out_silent_and_endless_responses() {
    let site = TestSite::open(
        HOME,
        Router::new().route("/silent", get(std::future::pending::<String>)).route(
            "/endless",
            get(|| async {
                let never = futures::stream::pending::<Result<Vec<u8>, io::Error>>();
                axum::body::Body::from_stream(never)
            }),
        ),
    )
    .await;
    let limits = FetchLimits { whole: Duration::from_millis(250), ..FetchLimits::default() };
    let fetch = Fetch { web: WebClient::new(|_| true, Arc::new(SystemLookup), limits) };
    for path in ["/silent", "/endless"] {
        let said = refusal(&fetch, &site.url(path)).await;
        assert!(said.contains("did not come within 0.25 seconds"), "{path}: {said}");
    }
    assert_eq!(site.hits(), 2);
    let closed = TcpListener::bind((HOME, 0)).await.unwrap().local_addr().unwrap();
    let said = refusal(&fetch, &format!("http://{closed}/")).await;
    assert!(said.contains("connection refused"), "{said}");
}

#[tokio::test]
async fn downloads_small_files_from_allowed_addresses_only() {
    let routes = Router::new()
        .route("/image", get(|| async { typed("image/png", b"\x89PNG") }))
        .route("/moved", get(|| async { Redirect::to("/image") }))
        .route("/gone", get(|| async { (StatusCode::NOT_FOUND, "gone") }))
        .route("/large", get(|| async { vec![0; 1025] }));
    let (site, inside) =
        (TestSite::open(HOME, routes.clone()).await, TestSite::open(INSIDE, routes.clone()).await);
    let away = inside.url("/image");
    let leading =
        TestSite::open(HOME, Router::new().route("/", get(|| async move { Redirect::to(&away) }))).await;
    let limits = FetchLimits { bytes: 1024, ..FetchLimits::default() };
    let web = WebClient::new(home_or_public, FakeLookup::of(&[]), limits);
    let load = async |url: String| web.download(&url, "image/png").await.map_err(|error| error.to_string());
    assert_eq!(load(site.url("/image")).await.unwrap(), b"\x89PNG");
    assert_eq!(load(site.url("/moved")).await.unwrap(), b"\x89PNG");
    for url in [site.url("/gone"), site.url("/large"), inside.url("/image"), leading.url("/")] {
        load(url.clone()).await.expect_err(&url);
    }
    assert_eq!(inside.hits(), 0);

    let before = site.hits();
    let public = PublicDownloads::new(1024, Duration::from_secs(5));
    for url in [
        site.url("/image"),
        site.url("/image").replace("http:", "https:"),
        "https://169.254.169.254/latest".to_owned(),
        "https://localhost/icon.png".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        public.get(&url, "image/png").await.expect_err(&url);
    }
    assert_eq!(site.hits(), before);
}
