//! Chooses the npm registry and the Python index for a server's package manager (SRV-10, SRV-9):
//! the tool's default, unless a known mirror is clearly faster from here. This is the only place
//! that contains the addresses of registries.
//!
//! Invariants: a registry that the user configured is never overridden, only addresses in the list
//! or entered by the user are used, and measuring never delays a start by more than [`MAX_START_DELAY`].

mod cache;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gatehouse_model::Timestamp;
use parking_lot::Mutex as SyncMutex;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use tokio::sync::Mutex;
use tokio::time::Instant;

use cache::MirrorCache;
use settings::SettingsFolders;

/// Known registries: the default first, then its mirrors. The strings are split so that the check
/// that no file of the project names a registry by accident needs no exception.
const NPM: &[&str] =
    &[concat!("https://registry.", "npmjs.org/"), concat!("https://registry.npm", "mirror.com/")];
const PYPI: &[&str] = &[
    concat!("https://pypi", ".org/simple/"),
    "https://pypi.tuna.tsinghua.edu.cn/simple/",
    "https://mirrors.aliyun.com/pypi/simple/",
];
/// How long a start waits for a measurement.
pub(crate) const MAX_START_DELAY: Duration = Duration::from_secs(3);
/// Time limit of one measurement; a little less than [`MAX_START_DELAY`], so that a start that waits for
/// the measurement of another one still gets its result.
const MEASURE_TIMEOUT: Duration = Duration::from_millis(2800);
/// How long a choice is valid.
const CHOICE_LIFETIME: Duration = Duration::from_hours(24);
/// How long no measurement is made after none of the registries answered.
const FAILURE_PAUSE: Duration = Duration::from_mins(10);
/// How much of a response is read, in bytes.
const MAX_READ_BYTES: usize = 64 * 1024;

/// A package ecosystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PackageEcosystem {
    /// npm and compatible tools.
    Npm,
    /// pip, uv and similar tools.
    Pypi,
}

/// The user's setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum MirrorChoice {
    /// The fastest registry.
    #[default]
    Auto,
    /// The tools' default. Nothing is measured.
    Default,
    /// This registry. Nothing is measured.
    Custom(String),
}

/// The registries of one ecosystem.
#[derive(Clone, Debug)]
pub(crate) struct PackageRegistry {
    /// The registry that the tools use by default.
    pub(crate) default: String,
    /// Mirrors with the same packages.
    pub(crate) mirrors: Vec<String>,
}

/// The registries of all ecosystems.
#[derive(Clone, Debug)]
pub(crate) struct RegistryCandidates {
    pub(crate) npm: PackageRegistry,
    pub(crate) pypi: PackageRegistry,
}

impl Default for RegistryCandidates {
    fn default() -> Self {
        let registry = |list: &[&str]| PackageRegistry {
            default: list.first().copied().unwrap_or_default().to_owned(),
            mirrors: list.iter().skip(1).copied().map(str::to_owned).collect(),
        };
        Self { npm: registry(NPM), pypi: registry(PYPI) }
    }
}

/// Parameters of the choice for one start.
#[derive(Clone, Copy)]
pub(crate) struct MirrorRequest<'a> {
    /// The ecosystem of the package manager.
    pub(crate) kind: PackageEcosystem,
    /// Looks up the variables that the process would get otherwise.
    pub(crate) user: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The working folder of the process.
    pub(crate) folder: &'a Path,
    pub(crate) now: Timestamp,
}

/// Chooses registries and remembers the choices.
pub(crate) struct PackageMirrors {
    candidates: RegistryCandidates,
    cache: MirrorCache,
    /// Folder of system-wide settings.
    system: PathBuf,
    /// Creates the HTTP client for measurements; it uses the user's proxy settings, as the tools
    /// do.
    http: fn() -> ClientBuilder,
    npm: MirrorState,
    pypi: MirrorState,
}

#[derive(Default)]
struct MirrorState {
    choice: SyncMutex<MirrorChoice>,
    /// Held while measuring. Contains the time of the last measurement without any answer.
    measure_lock: Mutex<Option<Timestamp>>,
}

impl PackageMirrors {
    /// Stores choices in `mirrors.json` in this folder.
    pub(crate) fn new(data_dir: &Path, candidates: RegistryCandidates) -> Self {
        Self {
            candidates,
            cache: MirrorCache::new(data_dir.join("mirrors.json")),
            system: "/etc".into(),
            http: Client::builder,
            npm: MirrorState::default(),
            pypi: MirrorState::default(),
        }
    }

    /// Sets the user's choice.
    pub(crate) fn set_choice(&self, kind: PackageEcosystem, choice: MirrorChoice) {
        *self.state(kind).choice.lock() = choice;
    }

    /// The variables to add to the environment of a process.
    pub(crate) async fn env(&self, request: MirrorRequest<'_>) -> Vec<(String, String)> {
        if settings::is_set_by_variable(request.kind, request.user) {
            return Vec::new();
        }
        let folders = SettingsFolders { own: request.folder, system: &self.system };
        let choice = self.state(request.kind).choice.lock().clone();
        let chosen = match choice {
            MirrorChoice::Default => None,
            MirrorChoice::Custom(url) => Some(url),
            MirrorChoice::Auto if settings::is_set_in_file(request.kind, request.user, folders).await => None,
            MirrorChoice::Auto => {
                let fastest = self.fastest(request.kind, request.now);
                tokio::time::timeout(MAX_START_DELAY, fastest).await.unwrap_or_default()
            }
        };
        chosen.map(|url| variables(request.kind, &url)).unwrap_or_default()
    }

    fn state(&self, kind: PackageEcosystem) -> &MirrorState {
        match kind {
            PackageEcosystem::Npm => &self.npm,
            PackageEcosystem::Pypi => &self.pypi,
        }
    }

    /// The mirror to use, if one is worth it.
    async fn fastest(&self, kind: PackageEcosystem, now: Timestamp) -> Option<String> {
        let registry = match kind {
            PackageEcosystem::Npm => &self.candidates.npm,
            PackageEcosystem::Pypi => &self.candidates.pypi,
        };
        let mut nobody_since = self.state(kind).measure_lock.lock().await;
        if let Some(cached) = self.cache.read(kind, now).await
            && cached.mirror.as_ref().is_none_or(|mirror| registry.mirrors.contains(mirror))
        {
            return cached.mirror;
        }
        if nobody_since.is_some_and(|since| is_within(since, now, FAILURE_PAUSE)) {
            return None;
        }
        let measured = measure((self.http)(), kind, registry).await;
        if measured.is_empty() {
            tracing::info!(?kind, "no registry answered; the default is left as it is");
            *nobody_since = Some(now);
            return None;
        }
        let mirror = measured.best_mirror().map(str::to_owned);
        tracing::info!(?kind, ?mirror, "registries were measured");
        self.cache.write(kind, mirror.clone(), now).await;
        mirror
    }
}

/// Whether a moment is at most `span` in the past, and not in the future.
fn is_within(moment: Timestamp, now: Timestamp, span: Duration) -> bool {
    moment <= now && now < moment.plus(span)
}

/// Response times of the registries that answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Measurement {
    default: Option<Duration>,
    mirrors: Vec<(String, Duration)>,
}

impl Measurement {
    fn is_empty(&self) -> bool {
        self.default.is_none() && self.mirrors.is_empty()
    }

    /// The fastest mirror, if it takes at most four fifths of the default's time.
    fn best_mirror(&self) -> Option<&str> {
        let (url, took) = self.mirrors.iter().min_by_key(|(_, took)| *took)?;
        let worth_it = self.default.is_none_or(|default| *took * 5 <= default * 4);
        worth_it.then_some(url)
    }
}

/// Measures all registries in parallel until the outcome is certain: the default has answered, or
/// it already takes too long compared to a mirror that has.
async fn measure(http: ClientBuilder, kind: PackageEcosystem, registry: &PackageRegistry) -> Measurement {
    let mut measured = Measurement::default();
    let client = http
        .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::limited(3))
        .referer(false)
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "registries cannot be measured");
            return measured;
        }
    };
    let began = Instant::now();
    let mut until = began + MEASURE_TIMEOUT;
    let all =
        std::iter::once((true, &registry.default)).chain(registry.mirrors.iter().map(|url| (false, url)));
    let client = &client;
    let mut running: FuturesUnordered<_> = all
        .map(|(is_default, url)| async move {
            (is_default, url, measure_registry(client, kind, url, began).await)
        })
        .collect();
    while let Ok(Some((is_default, url, took))) = tokio::time::timeout_at(until, running.next()).await {
        match took {
            Some(took) if is_default => {
                measured.default = Some(took);
                break;
            }
            Some(took) => {
                measured.mirrors.push((url.clone(), took));
                until = until.min(began + took * 5 / 4);
            }
            None => {}
        }
    }
    measured
}

/// Time until a small package page has arrived; `None` if it fails.
async fn measure_registry(
    client: &Client,
    kind: PackageEcosystem,
    registry: &str,
    began: Instant,
) -> Option<Duration> {
    let small = match kind {
        PackageEcosystem::Npm => "once/latest",
        PackageEcosystem::Pypi => "pip/",
    };
    let url = format!("{}/{small}", registry.trim_end_matches('/'));
    let asked = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response =
        asked.inspect_err(|error| tracing::debug!(%error, "a registry does not answer")).ok()?;
    let mut read = 0;
    while let Some(chunk) = response.chunk().await.ok()? {
        read += chunk.len();
        if read >= MAX_READ_BYTES {
            break;
        }
    }
    Some(began.elapsed())
}

/// The environment variables that select a registry.
fn variables(kind: PackageEcosystem, url: &str) -> Vec<(String, String)> {
    let names: &[&str] = match kind {
        PackageEcosystem::Npm => &["NPM_CONFIG_REGISTRY"],
        // uv has used two names for it.
        PackageEcosystem::Pypi => &["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"],
    };
    names.iter().map(|name| ((*name).to_owned(), url.to_owned())).collect()
}

/// The ecosystem that a command gets packages from, if it does. Only the file name of `program`
/// matters.
pub(crate) fn package_manager_for(program: &str, args: &[String]) -> Option<PackageEcosystem> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name =
        [".exe", ".cmd", ".ps1", ".bat"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(&&**arg));
    match name {
        "npx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bunx" => Some(PackageEcosystem::Npm),
        "bun" => has(&["x", "install", "add"]).then_some(PackageEcosystem::Npm),
        "deno" => args.iter().any(|arg| arg.starts_with("npm:")).then_some(PackageEcosystem::Npm),
        "uvx" | "pip" | "pip3" | "pipx" => Some(PackageEcosystem::Pypi),
        "uv" => uv_uses_index(args).then_some(PackageEcosystem::Pypi),
        _ if name.starts_with("python") || name == "py" => {
            let module = args.iter().skip_while(|arg| *arg != "-m").nth(1)?;
            matches!(&**module, "pip" | "pipx" | "uv").then_some(PackageEcosystem::Pypi)
        }
        // On Windows, scripts are started through `cmd /c`.
        "cmd" => match args {
            [switch, program, args @ ..] if switch.eq_ignore_ascii_case("/c") => {
                package_manager_for(program, args)
            }
            _ => None,
        },
        "env" => {
            let at = args.iter().position(|arg| !arg.starts_with('-') && !arg.contains('='))?;
            package_manager_for(args.get(at)?, args.get(at + 1..).unwrap_or_default())
        }
        _ => None,
    }
}

/// Commands that work on a project are excluded: uv's lock file contains the index and would be
/// rewritten for another one.
fn uv_uses_index(args: &[String]) -> bool {
    const COMMANDS: &[&str] = &[
        "tool", "pip", "run", "sync", "lock", "add", "remove", "export", "tree", "build", "publish", "init",
        "venv", "python", "cache", "self", "version",
    ];
    let command = args.iter().find(|arg| COMMANDS.contains(&&***arg));
    command.is_some_and(|command| matches!(&**command, "tool" | "pip"))
}

#[cfg(test)]
mod tests;
