//! Tests with registries on loopback that answer when they are told to.

use std::collections::HashMap;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
struct TestRegistry {
    url: String,
    hits: Arc<AtomicUsize>,
    paths: Arc<SyncMutex<Vec<String>>>,
    open: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestRegistry {
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

struct MirrorHarness {
    folder: tempfile::TempDir,
    variables: HashMap<&'static str, String>,
}

impl MirrorHarness {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "home", "work", "etc", "managed"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let home = folder.path().join("home").to_str().unwrap().to_owned();
        Self { folder, variables: HashMap::from([("HOME", home)]) }
    }

    /// Lists mirrors for both ecosystems in the `registries.json` of a folder.
    fn list(&self, folder: &str, mirrors: &[&TestRegistry]) {
        let urls: Vec<&str> = mirrors.iter().map(|mirror| mirror.url.as_str()).collect();
        let text = serde_json::json!({ "npm": urls, "pypi": urls }).to_string();
        let file = self.folder.path().join(folder).join("registries.json");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    }

    /// With these mirrors in the administrator's folder.
    fn mirrors(&self, mirrors: &[&TestRegistry]) -> PackageMirrors {
        self.list("managed", mirrors);
        self.restarted()
    }

    fn restarted(&self) -> PackageMirrors {
        let folder = self.folder.path();
        let mut mirrors = PackageMirrors::new(&folder.join("data"), &folder.join("managed"));
        mirrors.http = || Client::builder().no_proxy();
        mirrors.system = folder.join("etc");
        mirrors.file.owner = std::fs::metadata(folder).unwrap().uid();
        mirrors
    }

    async fn env(
        &self,
        mirrors: &PackageMirrors,
        kind: PackageEcosystem,
        now: Timestamp,
    ) -> Vec<(String, String)> {
        let user = |name: &str| self.variables.get(name).cloned();
        mirrors.env(MirrorRequest { kind, user: &user, folder: &self.folder.path().join("work"), now }).await
    }

    async fn npm(&self, mirrors: &PackageMirrors, now: Timestamp) -> Option<String> {
        self.env(mirrors, PackageEcosystem::Npm, now).await.pop().map(|(_, url)| url)
    }
}

#[tokio::test]
async fn chooses_answering_mirror_and_sets_variables() {
    let (fast, slow) = (TestRegistry::fast().await, TestRegistry::held().await);
    let broken = TestRegistry::start(true, StatusCode::BAD_GATEWAY).await;
    let harness = MirrorHarness::new();
    let mirrors = harness.mirrors(&[&slow, &broken, &fast]);
    let given = harness.env(&mirrors, PackageEcosystem::Npm, NOW).await;
    assert_eq!(given, [("NPM_CONFIG_REGISTRY".to_owned(), fast.url.clone())]);
    let given = harness.env(&mirrors, PackageEcosystem::Pypi, NOW).await;
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"]);
    assert!(given.iter().all(|(_, url)| *url == fast.url));
    assert_eq!(*fast.paths.lock(), ["/r/once/latest", "/r/pip/"]);
}

#[tokio::test]
async fn leaves_package_manager_alone_without_mirrors() {
    let harness = MirrorHarness::new();
    assert_eq!(harness.npm(&harness.restarted(), NOW).await, None);
    assert_eq!(harness.npm(&harness.mirrors(&[]), NOW).await, None);
    assert!(!harness.folder.path().join("data/mirrors.json").exists());
}

#[tokio::test]
async fn uses_only_a_list_that_nobody_else_can_write() {
    let mirror = TestRegistry::fast().await;
    let harness = MirrorHarness::new();
    harness.list("data", &[&mirror]);
    assert_eq!(harness.npm(&harness.restarted(), NOW).await, None, "the data folder is the user's");
    let mirrors = harness.mirrors(&[&mirror]);
    let file = harness.folder.path().join("managed/registries.json");
    std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(harness.npm(&mirrors, NOW).await, None, "everybody can write it");
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let mut foreign = harness.restarted();
    foreign.file.owner += 1;
    assert_eq!(harness.npm(&foreign, NOW).await, None, "it belongs to somebody else");
    assert_eq!(harness.npm(&mirrors, NOW).await, Some(mirror.url.clone()));
    std::fs::write(&file, "{").unwrap();
    assert_eq!(harness.npm(&mirrors, NOW).await, None, "it is not valid");
    assert_eq!(mirror.hits(), 1);
}

#[tokio::test]
async fn caches_choice_for_a_day_across_restarts() {
    let mirror = TestRegistry::fast().await;
    let list = [&mirror];
    let harness = MirrorHarness::new();
    let url = Some(mirror.url.clone());
    assert_eq!(harness.npm(&harness.mirrors(&list), NOW).await, url);
    let mirrors = harness.mirrors(&list);
    assert_eq!(harness.npm(&mirrors, NOW.plus(Duration::from_millis(86_399_999))).await, url);
    assert_eq!(mirror.hits(), 1);
    assert_eq!(harness.npm(&mirrors, NOW.plus(HOUR * 24)).await, url);
    assert_eq!(mirror.hits(), 2, "a day later it is measured again");
    assert_eq!(harness.npm(&mirrors, NOW).await, url);
    assert_eq!(mirror.hits(), 3, "and so it is when the clock was put back");
    let left: Vec<_> = std::fs::read_dir(harness.folder.path().join("data")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside the file");
}

#[tokio::test]
async fn ignores_broken_or_foreign_cache() {
    let mirror = TestRegistry::fast().await;
    let list = [&mirror];
    let at = NOW.0;
    let table = [
        "{ not json".to_owned(),
        format!(r#"{{"npm":{{"at":{at},"mirror":"https://evil.example/"}}}}"#),
        format!(r#"{{"npm":{{"at":{at},"mirror":5}}}}"#),
    ];
    for text in table {
        let harness = MirrorHarness::new();
        std::fs::write(harness.folder.path().join("data/mirrors.json"), &text).unwrap();
        assert_eq!(harness.npm(&harness.mirrors(&list), NOW).await, Some(mirror.url.clone()), "{text}");
    }
    assert_eq!(mirror.hits(), 3);
}

#[tokio::test]
async fn measures_once_for_concurrent_starts() {
    let mirror = TestRegistry::held().await;
    let harness = MirrorHarness::new();
    let mirrors = harness.mirrors(&[&mirror]);
    let release = async {
        while mirror.hits() == 0 {
            tokio::task::yield_now().await;
        }
        mirror.open.send_replace(true);
    };
    let (first, second, third, ()) = tokio::join!(
        harness.npm(&mirrors, NOW),
        harness.npm(&mirrors, NOW),
        harness.npm(&mirrors, NOW),
        release
    );
    assert_eq!([first, second, third], [(); 3].map(|()| Some(mirror.url.clone())));
    assert_eq!(mirror.hits(), 1);
}

#[tokio::test]
async fn retries_later_when_no_registry_answers() {
    let down = TestRegistry::start(true, StatusCode::SERVICE_UNAVAILABLE).await;
    let harness = MirrorHarness::new();
    let mirrors = harness.mirrors(&[&down]);
    for (later, hits) in [(0, 1), (1, 1), (599, 1), (600, 2)] {
        assert_eq!(harness.npm(&mirrors, NOW.plus(Duration::from_secs(later))).await, None);
        assert_eq!(down.hits(), hits, "after {later} s");
    }
    assert!(!harness.folder.path().join("data/mirrors.json").exists());
}

#[tokio::test]
async fn limits_start_delay() {
    let mirror = TestRegistry::held().await;
    let harness = MirrorHarness::new();
    let mirrors = harness.mirrors(&[&mirror]);
    let began = std::time::Instant::now();
    let (one, two) = tokio::join!(harness.npm(&mirrors, NOW), harness.npm(&mirrors, NOW));
    assert_eq!((one, two), (None, None));
    assert!(began.elapsed() >= MEASURE_TIMEOUT && began.elapsed() < MAX_START_DELAY + Duration::from_secs(5));
}

#[tokio::test]
async fn respects_user_settings() {
    let mirror = TestRegistry::fast().await;
    let list = [&mirror];
    let variables = [
        (PackageEcosystem::Npm, "npm_config_registry"),
        (PackageEcosystem::Npm, "NPM_CONFIG_REGISTRY"),
        (PackageEcosystem::Pypi, "PIP_INDEX_URL"),
        (PackageEcosystem::Pypi, "UV_INDEX_URL"),
        (PackageEcosystem::Pypi, "UV_DEFAULT_INDEX"),
        (PackageEcosystem::Pypi, "UV_INDEX"),
    ];
    for (kind, name) in variables {
        let mut harness = MirrorHarness::new();
        harness.variables.insert(name, "https://own.example/".to_owned());
        let mirrors = harness.mirrors(&list);
        assert_eq!(harness.env(&mirrors, kind, NOW).await, [], "{name}");
        mirrors.set_choice(kind, MirrorChoice::Custom("https://other.example/".to_owned()));
        assert_eq!(harness.env(&mirrors, kind, NOW).await, [], "{name}");
    }
    let files = [
        (PackageEcosystem::Npm, "home/.npmrc", "registry=https://own.example/"),
        (PackageEcosystem::Npm, "work/.npmrc", "registry=https://own.example/"),
        (PackageEcosystem::Pypi, "home/.config/pip/pip.conf", "[global]\nindex-url = https://own.example/"),
        (PackageEcosystem::Pypi, "etc/pip.conf", "[global]\nextra-index-url = https://own.example/"),
        (PackageEcosystem::Pypi, "work/pyproject.toml", "[[tool.uv.index]]\nurl = \"https://own.example/\""),
    ];
    for (kind, path, text) in files {
        let harness = MirrorHarness::new();
        let path = harness.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        assert_eq!(harness.env(&harness.mirrors(&list), kind, NOW).await, [], "{}", path.display());
    }
    assert_eq!(mirror.hits(), 0);
    // The other ecosystem is not affected.
    let mut harness = MirrorHarness::new();
    harness.variables.insert("PIP_INDEX_URL", "https://own.example/".to_owned());
    assert_eq!(harness.npm(&harness.mirrors(&list), NOW).await, Some(mirror.url.clone()));
}

#[tokio::test]
async fn user_choice_disables_measuring() {
    let mirror = TestRegistry::fast().await;
    let harness = MirrorHarness::new();
    let mirrors = harness.mirrors(&[&mirror]);
    mirrors.set_choice(PackageEcosystem::Npm, MirrorChoice::Default);
    assert_eq!(harness.npm(&mirrors, NOW).await, None);
    mirrors.set_choice(PackageEcosystem::Npm, MirrorChoice::Custom("https://own.example/".to_owned()));
    std::fs::write(harness.folder.path().join("home/.npmrc"), "registry=https://older.example/").unwrap();
    assert_eq!(harness.npm(&mirrors, NOW).await.as_deref(), Some("https://own.example/"));
    assert_eq!(mirror.hits(), 0);
    std::fs::remove_file(harness.folder.path().join("home/.npmrc")).unwrap();
    mirrors.set_choice(PackageEcosystem::Npm, MirrorChoice::Auto);
    assert_eq!(harness.npm(&mirrors, NOW).await, Some(mirror.url.clone()));
}

#[test]
fn detects_package_managers() {
    let table = [
        ("npx", "-y some-server", Some(PackageEcosystem::Npm)),
        ("/usr/bin/npm", "exec x", Some(PackageEcosystem::Npm)),
        ("C:\\Program Files\\nodejs\\NPX.CMD", "-y x", Some(PackageEcosystem::Npm)),
        ("cmd", "/c npx -y x", Some(PackageEcosystem::Npm)),
        ("cmd.exe", "/C uvx x", Some(PackageEcosystem::Pypi)),
        ("env", "A=b -i npx x", Some(PackageEcosystem::Npm)),
        ("pnpm", "dlx x", Some(PackageEcosystem::Npm)),
        ("yarn", "dlx x", Some(PackageEcosystem::Npm)),
        ("bunx", "x", Some(PackageEcosystem::Npm)),
        ("bun", "x some-server", Some(PackageEcosystem::Npm)),
        ("bun", "run server.ts", None),
        ("deno", "run -A npm:some-server", Some(PackageEcosystem::Npm)),
        ("deno", "run server.ts", None),
        ("uvx", "some-server", Some(PackageEcosystem::Pypi)),
        ("uv", "tool run some-server", Some(PackageEcosystem::Pypi)),
        ("uv", "--directory /p run server.py", None),
        ("uv", "run tool", None),
        ("pip", "install x", Some(PackageEcosystem::Pypi)),
        ("pipx", "run x", Some(PackageEcosystem::Pypi)),
        ("python3.12", "-m pip install x", Some(PackageEcosystem::Pypi)),
        ("py", "-3 -m pipx run x", Some(PackageEcosystem::Pypi)),
        ("python", "-m my_server pip", None),
        ("python", "server.py", None),
        ("node", "server.js", None),
        ("cmd", "/c", None),
        ("env", "A=b", None),
        ("my-server", "npx", None),
    ];
    for (program, args, expected) in table {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        assert_eq!(package_manager_for(program, &args), expected, "{program} {args:?}");
    }
}
