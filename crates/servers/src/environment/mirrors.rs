//! Chooses the npm registry and the Python index for a server's package manager (SRV-10, SRV-9):
//! the tool's default, unless a known mirror is clearly faster from here. This is the only place
//! that contains the addresses of registries.
//!
//! Invariants: a registry that the user configured is never overridden, only addresses in the list
//! or entered by the user are used, and measuring never delays a start by more than [`LONGEST`].

mod settings;
mod store;

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

use settings::Folders;
use store::Store;

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
pub(crate) const LONGEST: Duration = Duration::from_secs(3);
/// Time limit of one measurement; a little less than [`LONGEST`], so that a start that waits for
/// the measurement of another one still gets its result.
const MEASURED: Duration = Duration::from_millis(2800);
/// How long a choice is valid.
const KEPT: Duration = Duration::from_hours(24);
/// How long no measurement is made after none of the registries answered.
const PAUSE: Duration = Duration::from_mins(10);
/// How much of a response is read, in bytes.
const READ: usize = 64 * 1024;

/// A package ecosystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// npm and compatible tools.
    Npm,
    /// pip, uv and similar tools.
    Pypi,
}

/// The user's setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
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
pub(crate) struct Registry {
    /// The registry that the tools use by default.
    pub(crate) default: String,
    /// Mirrors with the same packages.
    pub(crate) mirrors: Vec<String>,
}

/// The registries of all ecosystems.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    pub(crate) npm: Registry,
    pub(crate) pypi: Registry,
}

impl Default for Candidates {
    fn default() -> Self {
        let registry = |list: &[&str]| Registry {
            default: list.first().copied().unwrap_or_default().to_owned(),
            mirrors: list.iter().skip(1).copied().map(str::to_owned).collect(),
        };
        Self { npm: registry(NPM), pypi: registry(PYPI) }
    }
}

/// Parameters of the choice for one start.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// The ecosystem of the package manager.
    pub(crate) kind: Kind,
    /// Looks up the variables that the process would get otherwise.
    pub(crate) user: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The working folder of the process.
    pub(crate) folder: &'a Path,
    pub(crate) now: Timestamp,
}

/// Chooses registries and remembers the choices.
pub(crate) struct Mirrors {
    candidates: Candidates,
    store: Store,
    /// Folder of system-wide settings.
    system: PathBuf,
    /// Creates the HTTP client for measurements; it uses the user's proxy settings, as the tools
    /// do.
    http: fn() -> ClientBuilder,
    npm: State,
    pypi: State,
}

#[derive(Default)]
struct State {
    choice: SyncMutex<Choice>,
    /// Held while measuring. Contains the time of the last measurement without any answer.
    turn: Mutex<Option<Timestamp>>,
}

impl Mirrors {
    /// Stores choices in `mirrors.json` in this folder.
    pub(crate) fn new(data_dir: &Path, candidates: Candidates) -> Self {
        Self {
            candidates,
            store: Store::new(data_dir.join("mirrors.json")),
            system: "/etc".into(),
            http: Client::builder,
            npm: State::default(),
            pypi: State::default(),
        }
    }

    /// Sets the user's choice.
    pub(crate) fn choose(&self, kind: Kind, choice: Choice) {
        *self.state(kind).choice.lock() = choice;
    }

    /// The variables to add to the environment of a process.
    pub(crate) async fn env(&self, wish: Wish<'_>) -> Vec<(String, String)> {
        if settings::set_by_variable(wish.kind, wish.user) {
            return Vec::new();
        }
        let folders = Folders { own: wish.folder, system: &self.system };
        let choice = self.state(wish.kind).choice.lock().clone();
        let chosen = match choice {
            Choice::Default => None,
            Choice::Custom(url) => Some(url),
            Choice::Auto if settings::set_in_file(wish.kind, wish.user, folders).await => None,
            Choice::Auto => {
                let fastest = self.fastest(wish.kind, wish.now);
                tokio::time::timeout(LONGEST, fastest).await.unwrap_or_default()
            }
        };
        chosen.map(|url| variables(wish.kind, &url)).unwrap_or_default()
    }

    fn state(&self, kind: Kind) -> &State {
        match kind {
            Kind::Npm => &self.npm,
            Kind::Pypi => &self.pypi,
        }
    }

    /// The mirror to use, if one is worth it.
    async fn fastest(&self, kind: Kind, now: Timestamp) -> Option<String> {
        let registry = match kind {
            Kind::Npm => &self.candidates.npm,
            Kind::Pypi => &self.candidates.pypi,
        };
        let mut nobody_since = self.state(kind).turn.lock().await;
        if let Some(kept) = self.store.read(kind, now).await
            && kept.mirror.as_ref().is_none_or(|mirror| registry.mirrors.contains(mirror))
        {
            return kept.mirror;
        }
        if nobody_since.is_some_and(|since| is_within(since, now, PAUSE)) {
            return None;
        }
        let measured = measure((self.http)(), kind, registry).await;
        if measured.is_empty() {
            tracing::info!(?kind, "no registry answered; the default is left as it is");
            *nobody_since = Some(now);
            return None;
        }
        let mirror = measured.pick().map(str::to_owned);
        tracing::info!(?kind, ?mirror, "registries were measured");
        self.store.write(kind, mirror.clone(), now).await;
        mirror
    }
}

/// Whether a moment is at most `span` in the past, and not in the future.
fn is_within(moment: Timestamp, now: Timestamp, span: Duration) -> bool {
    moment <= now && now < moment.plus(span)
}

/// Response times of the registries that answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Measured {
    default: Option<Duration>,
    mirrors: Vec<(String, Duration)>,
}

impl Measured {
    fn is_empty(&self) -> bool {
        self.default.is_none() && self.mirrors.is_empty()
    }

    /// The fastest mirror, if it takes at most four fifths of the default's time.
    fn pick(&self) -> Option<&str> {
        let (url, took) = self.mirrors.iter().min_by_key(|(_, took)| *took)?;
        let worth_it = self.default.is_none_or(|default| *took * 5 <= default * 4);
        worth_it.then_some(url)
    }
}

/// Measures all registries in parallel until the outcome is certain: the default has answered, or
/// it already takes too long compared to a mirror that has.
async fn measure(http: ClientBuilder, kind: Kind, registry: &Registry) -> Measured {
    let mut measured = Measured::default();
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
    let mut until = began + MEASURED;
    let all =
        std::iter::once((true, &registry.default)).chain(registry.mirrors.iter().map(|url| (false, url)));
    let client = &client;
    let mut running: FuturesUnordered<_> = all
        .map(|(is_default, url)| async move { (is_default, url, took(client, kind, url, began).await) })
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
async fn took(client: &Client, kind: Kind, registry: &str, began: Instant) -> Option<Duration> {
    let small = match kind {
        Kind::Npm => "once/latest",
        Kind::Pypi => "pip/",
    };
    let url = format!("{}/{small}", registry.trim_end_matches('/'));
    let asked = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response =
        asked.inspect_err(|error| tracing::debug!(%error, "a registry does not answer")).ok()?;
    let mut read = 0;
    while let Some(chunk) = response.chunk().await.ok()? {
        read += chunk.len();
        if read >= READ {
            break;
        }
    }
    Some(began.elapsed())
}

/// The environment variables that select a registry.
fn variables(kind: Kind, url: &str) -> Vec<(String, String)> {
    let names: &[&str] = match kind {
        Kind::Npm => &["NPM_CONFIG_REGISTRY"],
        // uv has used two names for it.
        Kind::Pypi => &["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"],
    };
    names.iter().map(|name| ((*name).to_owned(), url.to_owned())).collect()
}

/// The ecosystem that a command gets packages from, if it does. Only the file name of `program`
/// matters.
pub(crate) fn needs(program: &str, args: &[String]) -> Option<Kind> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name =
        [".exe", ".cmd", ".ps1", ".bat"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(&&**arg));
    match name {
        "npx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bunx" => Some(Kind::Npm),
        "bun" => has(&["x", "install", "add"]).then_some(Kind::Npm),
        "deno" => args.iter().any(|arg| arg.starts_with("npm:")).then_some(Kind::Npm),
        "uvx" | "pip" | "pip3" | "pipx" => Some(Kind::Pypi),
        "uv" => uv_needs(args).then_some(Kind::Pypi),
        _ if name.starts_with("python") || name == "py" => {
            let module = args.iter().skip_while(|arg| *arg != "-m").nth(1)?;
            matches!(&**module, "pip" | "pipx" | "uv").then_some(Kind::Pypi)
        }
        // On Windows, scripts are started through `cmd /c`.
        "cmd" => match args {
            [switch, program, args @ ..] if switch.eq_ignore_ascii_case("/c") => needs(program, args),
            _ => None,
        },
        "env" => {
            let at = args.iter().position(|arg| !arg.starts_with('-') && !arg.contains('='))?;
            needs(args.get(at)?, args.get(at + 1..).unwrap_or_default())
        }
        _ => None,
    }
}

/// Commands that work on a project are excluded: uv's lock file contains the index and would be
/// rewritten for another one.
fn uv_needs(args: &[String]) -> bool {
    const COMMANDS: &[&str] = &[
        "tool", "pip", "run", "sync", "lock", "add", "remove", "export", "tree", "build", "publish", "init",
        "venv", "python", "cache", "self", "version",
    ];
    let command = args.iter().find(|arg| COMMANDS.contains(&&***arg));
    command.is_some_and(|command| matches!(&**command, "tool" | "pip"))
}

#[cfg(test)]
mod tests;
