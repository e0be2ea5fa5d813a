//! Chooses the npm registry and the Python index for a server's package manager (SRV-10, SRV-9): the
//! package manager's own, unless the administrator has listed mirrors (`registries.rs`). Of
//! those, the fastest that answers is used. To have a default registry compared with its mirrors, it is
//! listed beside them.
//!
//! Invariants: a registry that the user configured is never overridden, only addresses in the list
//! or entered by the user are used, and measuring never delays a start by more than [`MAX_START_DELAY`].

mod cache;
mod registries;
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

use cache::MirrorCache;
use registries::RegistryFile;
use settings::SettingsFolders;

/// How long a start waits for a measurement.
pub(crate) const MAX_START_DELAY: Duration = Duration::from_secs(3);
/// Time limit of one measurement; a little less than [`MAX_START_DELAY`], so that a start that waits for
/// the measurement of another one still gets its result.
const MEASURE_TIMEOUT: Duration = Duration::from_millis(2800);
/// How long a choice is valid.
const CHOICE_LIFETIME: Duration = Duration::from_hours(24);
/// How long no measurement is made after none of the mirrors answered.
const FAILURE_PAUSE: Duration = Duration::from_mins(10);
/// How much of a response is read, in bytes.
const MAX_READ_BYTES: usize = 64 * 1024;

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
    /// The fastest of the listed mirrors; the tools' default if there are none or none answers.
    #[default]
    Auto,
    /// The tools' default. Nothing is measured.
    Default,
    /// This registry. Nothing is measured.
    Custom(String),
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
    file: RegistryFile,
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
    /// Stores choices in `mirrors.json` in the data folder. `managed` is the administrator's folder.
    pub(crate) fn new(data_dir: &Path, managed: &Path) -> Self {
        Self {
            file: RegistryFile::in_folder(managed),
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

    /// The mirror to use, if any is listed and answers.
    async fn fastest(&self, kind: PackageEcosystem, now: Timestamp) -> Option<String> {
        let mirrors = self.file.mirrors(kind).await;
        if mirrors.is_empty() {
            return None;
        }
        let mut unreachable_since = self.state(kind).measure_lock.lock().await;
        if let Some(cached) = self.cache.read(kind, now).await
            && mirrors.contains(&cached.mirror)
        {
            return Some(cached.mirror);
        }
        if unreachable_since.is_some_and(|since| is_within(since, now, FAILURE_PAUSE)) {
            return None;
        }
        let Some(mirror) = measure((self.http)(), kind, &mirrors).await else {
            tracing::info!(?kind, "no mirror answered; the default is left as it is");
            *unreachable_since = Some(now);
            return None;
        };
        tracing::info!(?kind, %mirror, "mirrors were measured");
        self.cache.write(kind, mirror.clone(), now).await;
        Some(mirror)
    }
}

/// Whether a moment is at most `span` in the past, and not in the future.
fn is_within(moment: Timestamp, now: Timestamp, span: Duration) -> bool {
    moment <= now && now < moment.plus(span)
}

/// The mirror that answers first, of all of them in parallel.
async fn measure(http: ClientBuilder, kind: PackageEcosystem, mirrors: &[String]) -> Option<String> {
    let client = http
        .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::limited(3))
        .referer(false)
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "mirrors cannot be measured");
            return None;
        }
    };
    let client = &client;
    let mut running: FuturesUnordered<_> = mirrors
        .iter()
        .map(|mirror| async move { read_small_page(client, kind, mirror).await.then_some(mirror) })
        .collect();
    let first = async {
        while let Some(answered) = running.next().await {
            if answered.is_some() {
                return answered.cloned();
            }
        }
        None
    };
    tokio::time::timeout(MEASURE_TIMEOUT, first).await.unwrap_or_default()
}

/// Reads a small package page; `false` if it fails.
async fn read_small_page(client: &Client, kind: PackageEcosystem, registry: &str) -> bool {
    let small = match kind {
        PackageEcosystem::Npm => "once/latest",
        PackageEcosystem::Pypi => "pip/",
    };
    let url = format!("{}/{small}", registry.trim_end_matches('/'));
    let asked = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response = match asked {
        Ok(response) => response,
        Err(error) => {
            tracing::debug!(%error, "a registry does not answer");
            return false;
        }
    };
    let mut read = 0;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => read += chunk.len(),
            Ok(None) => return true,
            Err(_) => return false,
        }
        if read >= MAX_READ_BYTES {
            return true;
        }
    }
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
#[cfg(unix)]
mod tests;
