//! Tests with registries on loopback that answer when they are told to.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;

const NOW: Timestamp = Timestamp(1_785_240_000_000);
const HOUR: Duration = Duration::from_hours(1);

/// A registry that lives until it is dropped.
struct Site {
    url: String,
    hits: Arc<AtomicUsize>,
    paths: Arc<SyncMutex<Vec<String>>>,
    open: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Site {
    /// `open`: whether it answers from the start.
    async fn start(open: bool, status: StatusCode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/r/", listener.local_addr().unwrap());
        let (open, opened) = watch::channel(open);
        let hits = Arc::new(AtomicUsize::new(0));
        let paths = Arc::new(SyncMutex::new(Vec::new()));
        let (counter, seen) = (Arc::clone(&hits), Arc::clone(&paths));
        let routes = Router::new().fallback(move |request: Request| {
            counter.fetch_add(1, Ordering::SeqCst);
            seen.lock().push(request.uri().path().to_owned());
            let mut opened = opened.clone();
            async move {
                opened.wait_for(|open| *open).await.unwrap();
                (status, "{}")
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, hits, paths, open, task }
    }

    async fn fast() -> Self {
        Self::start(true, StatusCode::OK).await
    }

    async fn held() -> Self {
        Self::start(false, StatusCode::OK).await
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

fn candidates(default: &Site, mirrors: &[&Site]) -> Candidates {
    let registry = Registry {
        default: default.url.clone(),
        mirrors: mirrors.iter().map(|mirror| mirror.url.clone()).collect(),
    };
    Candidates { npm: registry.clone(), pypi: registry }
}

struct House {
    folder: tempfile::TempDir,
    variables: HashMap<&'static str, String>,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "home", "work", "etc"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let home = folder.path().join("home").to_str().unwrap().to_owned();
        Self { folder, variables: HashMap::from([("HOME", home)]) }
    }

    fn mirrors(&self, candidates: &Candidates) -> Mirrors {
        let folder = self.folder.path();
        let mut mirrors = Mirrors::new(&folder.join("data"), candidates.clone());
        mirrors.http = || Client::builder().no_proxy();
        mirrors.system = folder.join("etc");
        mirrors
    }

    async fn env(&self, mirrors: &Mirrors, kind: Kind, now: Timestamp) -> Vec<(String, String)> {
        let user = |name: &str| self.variables.get(name).cloned();
        mirrors.env(Wish { kind, user: &user, folder: &self.folder.path().join("work"), now }).await
    }

    async fn npm(&self, mirrors: &Mirrors, now: Timestamp) -> Option<String> {
        self.env(mirrors, Kind::Npm, now).await.pop().map(|(_, url)| url)
    }
}

#[test]
fn a_mirror_has_to_be_clearly_faster() {
    let millis = Duration::from_millis;
    let table = [
        (Some(100), &[("a", 80)][..], Some("a")),
        (Some(100), &[("a", 81)], None),
        (Some(100), &[("a", 70), ("b", 40), ("c", 50)], Some("b")),
        (Some(100), &[("a", 500)], None),
        (Some(100), &[], None),
        (None, &[("a", 2700), ("b", 2600)], Some("b")),
        (None, &[], None),
        (Some(0), &[("a", 0)], Some("a")),
    ];
    for (default, mirrors, expected) in table {
        let measured = Measured {
            default: default.map(millis),
            mirrors: mirrors.iter().map(|(url, took)| ((*url).to_owned(), millis(*took))).collect(),
        };
        assert_eq!(measured.pick(), expected, "{measured:?}");
    }
}

#[tokio::test]
async fn the_one_that_answers_is_chosen_and_told_to_the_tools() {
    let (default, fast, slow) = (Site::held().await, Site::fast().await, Site::held().await);
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&default, &[&slow, &fast]));
    let given = house.env(&mirrors, Kind::Npm, NOW).await;
    assert_eq!(given, [("NPM_CONFIG_REGISTRY".to_owned(), fast.url.clone())]);
    let given = house.env(&mirrors, Kind::Pypi, NOW).await;
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"]);
    assert!(given.iter().all(|(_, url)| *url == fast.url));
    assert_eq!(*fast.paths.lock(), ["/r/once/latest", "/r/pip/"]);
}

#[tokio::test]
async fn nothing_is_given_where_the_default_is_as_good() {
    let (default, slow) = (Site::fast().await, Site::held().await);
    let broken = Site::start(true, StatusCode::BAD_GATEWAY).await;
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&default, &[&slow, &broken]));
    assert_eq!(house.npm(&mirrors, NOW).await, None);
    assert_eq!(house.npm(&mirrors, NOW.plus(HOUR * 23)).await, None);
    assert_eq!(default.hits(), 1, "that is kept too");
}

#[tokio::test]
async fn a_choice_is_kept_for_a_day_over_restarts() {
    let (default, mirror) = (Site::held().await, Site::fast().await);
    let list = candidates(&default, &[&mirror]);
    let house = House::new();
    let url = Some(mirror.url.clone());
    assert_eq!(house.npm(&house.mirrors(&list), NOW).await, url);
    let mirrors = house.mirrors(&list);
    assert_eq!(house.npm(&mirrors, NOW.plus(Duration::from_millis(86_399_999))).await, url);
    assert_eq!(mirror.hits(), 1);
    assert_eq!(house.npm(&mirrors, NOW.plus(HOUR * 24)).await, url);
    assert_eq!(mirror.hits(), 2, "a day later it is measured again");
    assert_eq!(house.npm(&mirrors, NOW).await, url);
    assert_eq!(mirror.hits(), 3, "and so it is when the clock was put back");
    let left: Vec<_> = std::fs::read_dir(house.folder.path().join("data")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside the file");
}

#[tokio::test]
async fn a_file_that_was_broken_or_changed_leads_nowhere() {
    let (default, mirror) = (Site::held().await, Site::fast().await);
    let list = candidates(&default, &[&mirror]);
    let at = NOW.0;
    let table = [
        "{ not json".to_owned(),
        format!(r#"{{"npm":{{"at":{at},"mirror":"https://evil.example/"}}}}"#),
        format!(r#"{{"npm":{{"at":{at},"mirror":5}}}}"#),
    ];
    for text in table {
        let house = House::new();
        std::fs::write(house.folder.path().join("data/mirrors.json"), &text).unwrap();
        assert_eq!(house.npm(&house.mirrors(&list), NOW).await, Some(mirror.url.clone()), "{text}");
    }
    assert_eq!(mirror.hits(), 3);
}

#[tokio::test]
async fn it_is_measured_once_for_all_who_wait() {
    let (default, mirror) = (Site::held().await, Site::held().await);
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&default, &[&mirror]));
    let release = async {
        while mirror.hits() == 0 {
            tokio::task::yield_now().await;
        }
        mirror.open.send_replace(true);
    };
    let (first, second, third, ()) =
        tokio::join!(house.npm(&mirrors, NOW), house.npm(&mirrors, NOW), house.npm(&mirrors, NOW), release);
    assert_eq!([first, second, third], [(); 3].map(|()| Some(mirror.url.clone())));
    assert_eq!((mirror.hits(), default.hits()), (1, 1));
}

#[tokio::test]
async fn when_nobody_answers_the_start_goes_on_and_it_is_tried_again_later() {
    let down = Site::start(true, StatusCode::SERVICE_UNAVAILABLE).await;
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&down, &[&down]));
    for (later, hits) in [(0, 2), (1, 2), (599, 2), (600, 4)] {
        assert_eq!(house.npm(&mirrors, NOW.plus(Duration::from_secs(later))).await, None);
        assert_eq!(down.hits(), hits, "after {later} s");
    }
    assert!(!house.folder.path().join("data/mirrors.json").exists());
}

#[tokio::test]
async fn no_start_waits_longer_than_three_seconds() {
    let (default, mirror) = (Site::held().await, Site::held().await);
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&default, &[&mirror]));
    let began = std::time::Instant::now();
    let (one, two) = tokio::join!(house.npm(&mirrors, NOW), house.npm(&mirrors, NOW));
    assert_eq!((one, two), (None, None));
    assert!(began.elapsed() >= MEASURED && began.elapsed() < LONGEST + Duration::from_secs(1));
}

#[tokio::test]
async fn what_the_user_settled_stays() {
    let (default, mirror) = (Site::held().await, Site::fast().await);
    let list = candidates(&default, &[&mirror]);
    let variables = [
        (Kind::Npm, "npm_config_registry"),
        (Kind::Npm, "NPM_CONFIG_REGISTRY"),
        (Kind::Pypi, "PIP_INDEX_URL"),
        (Kind::Pypi, "UV_INDEX_URL"),
        (Kind::Pypi, "UV_DEFAULT_INDEX"),
        (Kind::Pypi, "UV_INDEX"),
    ];
    for (kind, name) in variables {
        let mut house = House::new();
        house.variables.insert(name, "https://own.example/".to_owned());
        let mirrors = house.mirrors(&list);
        assert_eq!(house.env(&mirrors, kind, NOW).await, [], "{name}");
        mirrors.choose(kind, Choice::Custom("https://other.example/".to_owned()));
        assert_eq!(house.env(&mirrors, kind, NOW).await, [], "{name}");
    }
    let files = [
        (Kind::Npm, "home/.npmrc", "registry=https://own.example/"),
        (Kind::Npm, "work/.npmrc", "registry=https://own.example/"),
        (Kind::Pypi, "home/.config/pip/pip.conf", "[global]\nindex-url = https://own.example/"),
        (Kind::Pypi, "etc/pip.conf", "[global]\nextra-index-url = https://own.example/"),
        (Kind::Pypi, "work/pyproject.toml", "[[tool.uv.index]]\nurl = \"https://own.example/\""),
    ];
    for (kind, path, text) in files {
        let house = House::new();
        let path = house.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        assert_eq!(house.env(&house.mirrors(&list), kind, NOW).await, [], "{}", path.display());
    }
    assert_eq!(mirror.hits(), 0);
    // The other ecosystem is not affected.
    let mut house = House::new();
    house.variables.insert("PIP_INDEX_URL", "https://own.example/".to_owned());
    assert_eq!(house.npm(&house.mirrors(&list), NOW).await, Some(mirror.url.clone()));
}

#[tokio::test]
async fn the_users_choice_overrides_and_measures_nothing() {
    let (default, mirror) = (Site::held().await, Site::fast().await);
    let house = House::new();
    let mirrors = house.mirrors(&candidates(&default, &[&mirror]));
    mirrors.choose(Kind::Npm, Choice::Default);
    assert_eq!(house.npm(&mirrors, NOW).await, None);
    mirrors.choose(Kind::Npm, Choice::Custom("https://own.example/".to_owned()));
    std::fs::write(house.folder.path().join("home/.npmrc"), "registry=https://older.example/").unwrap();
    assert_eq!(house.npm(&mirrors, NOW).await.as_deref(), Some("https://own.example/"));
    assert_eq!(mirror.hits(), 0);
    std::fs::remove_file(house.folder.path().join("home/.npmrc")).unwrap();
    mirrors.choose(Kind::Npm, Choice::Auto);
    assert_eq!(house.npm(&mirrors, NOW).await, Some(mirror.url.clone()));
}

#[test]
fn only_package_managers_need_it() {
    let table = [
        ("npx", "-y some-server", Some(Kind::Npm)),
        ("/usr/bin/npm", "exec x", Some(Kind::Npm)),
        ("C:\\Program Files\\nodejs\\NPX.CMD", "-y x", Some(Kind::Npm)),
        ("cmd", "/c npx -y x", Some(Kind::Npm)),
        ("cmd.exe", "/C uvx x", Some(Kind::Pypi)),
        ("env", "A=b -i npx x", Some(Kind::Npm)),
        ("pnpm", "dlx x", Some(Kind::Npm)),
        ("yarn", "dlx x", Some(Kind::Npm)),
        ("bunx", "x", Some(Kind::Npm)),
        ("bun", "x some-server", Some(Kind::Npm)),
        ("bun", "run server.ts", None),
        ("deno", "run -A npm:some-server", Some(Kind::Npm)),
        ("deno", "run server.ts", None),
        ("uvx", "some-server", Some(Kind::Pypi)),
        ("uv", "tool run some-server", Some(Kind::Pypi)),
        ("uv", "--directory /p run server.py", None),
        ("uv", "run tool", None),
        ("pip", "install x", Some(Kind::Pypi)),
        ("pipx", "run x", Some(Kind::Pypi)),
        ("python3.12", "-m pip install x", Some(Kind::Pypi)),
        ("py", "-3 -m pipx run x", Some(Kind::Pypi)),
        ("python", "-m my_server pip", None),
        ("python", "server.py", None),
        ("node", "server.js", None),
        ("cmd", "/c", None),
        ("env", "A=b", None),
        ("my-server", "npx", None),
    ];
    for (program, args, expected) in table {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        assert_eq!(needs(program, &args), expected, "{program} {args:?}");
    }
}

#[test]
fn the_known_registries_are_addresses() {
    let known = Candidates::default();
    for registry in [known.npm, known.pypi] {
        assert!(!registry.mirrors.is_empty());
        for url in registry.mirrors.iter().chain([&registry.default]) {
            let url = url::Url::parse(url).unwrap();
            assert!(url.scheme() == "https" && url.path().ends_with('/'), "{url}");
        }
    }
}
