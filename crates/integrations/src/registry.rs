//! The MCP registry (UI-2): looking for servers, and making settings of what was found.
//!
//! What the registry says is untrusted: it fills a form and nothing else. Nothing here installs or starts anything, and
//! secrets that a person enters never get here.

mod address;
mod cache;
mod entry;
mod error;
mod fields;
mod http;
mod inputs;
mod options;
mod recipe;
mod update;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::registry::{RegistryDraft, RegistryPage, RegistryReport, RegistryUpdate};
use gatehouse_model::server::{RegistrySource, ServerAppearance, ServerDraft};
use gatehouse_model::{Clock, ServerConfig, Timestamp, UserError, message};
use serde::de::IgnoredAny;
use url::Url;

pub use self::address::registry_address;
use self::cache::{AnswerCache, KnownAnswer};
use self::entry::{ParsedEntry, ParsedPage, read_entry, read_page};
pub(crate) use self::entry::{is_entry_name, is_entry_version};
pub use self::error::RegistryError;
use self::http::HttpAnswer;
pub use self::http::RegistryLimits;
pub(crate) use self::inputs::refers;
use self::recipe::Entered;
use self::update::{VersionOrder, compare, updated};

/// How long an answer is used again without asking.
const FRESH_FOR: Duration = Duration::from_secs(5 * 60);
/// Longest description that a server takes over, in characters.
const MAX_DESCRIPTION_CHARS: usize = 200;
/// Name of the newest version in requests.
const LATEST: &str = "latest";

/// A search.
#[derive(Clone, Copy, Debug)]
pub struct RegistryQuery<'a> {
    /// Part of the name; all entries where empty.
    pub text: &'a str,
    /// Where the page begins; the first one where absent.
    pub cursor: Option<&'a str>,
    /// Whether the registry is asked even if a recent answer is known.
    pub refresh: bool,
}

/// An option of an entry, and what was entered for it.
#[derive(Clone, Copy, Debug)]
pub struct RegistryChoice<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// Id of the option.
    pub option: &'a str,
    /// What was entered, by the ids of inputs, except for secrets.
    pub values: &'a BTreeMap<String, String>,
    /// Ids of the secrets that there is a value for.
    pub secrets: &'a [String],
}

/// Asks registries, and keeps what they answer.
pub struct McpRegistry {
    cache: AnswerCache,
    clock: Arc<dyn Clock>,
    limits: RegistryLimits,
}

/// An answer, present or earlier.
struct RegistryAnswer {
    body: Arc<Vec<u8>>,
    at: Timestamp,
    /// Why it is an earlier one.
    offline: Option<RegistryError>,
    /// Whether it was read from the disk, where other programs of the user can write.
    is_from_disk: bool,
}

impl RegistryAnswer {
    /// An answer that holds now.
    fn of_now(body: Arc<Vec<u8>>, at: Timestamp) -> Self {
        Self { body, at, offline: None, is_from_disk: false }
    }
}

/// One version of an entry, with what [`RegistryAnswer`] says of the answer that it is from.
struct AnsweredEntry {
    entry: ParsedEntry,
    offline: Option<RegistryError>,
    is_from_disk: bool,
}

impl McpRegistry {
    /// Keeps answers in this folder, which is made when it is needed.
    #[must_use]
    pub fn new(folder: PathBuf, clock: Arc<dyn Clock>, limits: RegistryLimits) -> Self {
        Self { cache: AnswerCache::new(folder), clock, limits }
    }

    /// A page of the newest versions of entries.
    ///
    /// # Errors
    /// If there is no answer, not even an earlier one.
    pub async fn search(
        &self,
        address: &str,
        query: RegistryQuery<'_>,
    ) -> Result<RegistryPage, RegistryError> {
        let url = address::search_url(address, query.text, query.cursor)?;
        self.page(&url, query.refresh).await
    }

    /// All versions of an entry.
    ///
    /// # Errors
    /// If there is no such entry, or no answer.
    pub async fn versions(&self, address: &str, name: &str) -> Result<RegistryPage, RegistryError> {
        check_name(name)?;
        let url = address::versions_url(address, name)?;
        self.page(&url, false).await.map_err(|error| no_entry(error, name))
    }

    /// Settings made of an option of an entry. Its server gets the name that the caller gives it. What stands on the disk is
    /// for looking only: another program could have put its own command there, under the name of the registry.
    ///
    /// # Errors
    /// If there is no such option, or what was entered is not enough; if the registry said nothing of the entry in this run.
    pub async fn draft(
        &self,
        address: &str,
        choice: RegistryChoice<'_>,
    ) -> Result<RegistryDraft, RegistryError> {
        let AnsweredEntry { entry, offline, is_from_disk } =
            self.entry(address, choice.name, choice.version).await?;
        if let Some(offline) = offline.filter(|_| is_from_disk) {
            return Err(offline);
        }
        let option = entry.options.iter().find(|option| option.view.id == choice.option);
        let option = option.ok_or(RegistryError::NoOption)?;
        let Some(recipe) = &option.recipe else {
            let why = option.view.unusable.clone();
            return Err(why.map_or(RegistryError::NoOption, RegistryError::Unusable));
        };
        let entered = Entered::new(&option.view.inputs, choice.values, choice.secrets)?;
        let (transport, secrets) = recipe.transport(&entered)?;
        let description: String = entry.view.description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        let draft = ServerDraft {
            look: ServerAppearance {
                description: (!description.is_empty()).then_some(description),
                ..ServerAppearance::default()
            },
            registry: Some(entry.source()),
            ..ServerDraft::new(short_name(&entry.view.name), transport)
        };
        Ok(RegistryDraft { draft, secrets })
    }

    /// What the registry says now about the entry that a server came from. Earlier answers don't count.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn report(
        &self,
        address: &str,
        config: &ServerConfig,
        source: &RegistrySource,
    ) -> Result<RegistryReport, RegistryError> {
        let own = match self.entry(address, &source.name, &source.version).await {
            Ok(AnsweredEntry { entry, offline: None, .. }) => Some(entry),
            Ok(AnsweredEntry { offline: Some(offline), .. }) => return Err(offline),
            // The registry no longer has the version.
            Err(RegistryError::NoEntry { .. }) => None,
            Err(error) => return Err(error),
        };
        let latest = match self.entry(address, &source.name, LATEST).await {
            Ok(AnsweredEntry { entry, offline: None, .. }) => Some(entry),
            Ok(AnsweredEntry { offline: Some(offline), .. }) => return Err(offline),
            Err(RegistryError::NoEntry { .. }) => None,
            Err(error) => return Err(error),
        };
        let update = latest.and_then(|entry| {
            let is_newer = match compare(&source.version, &entry.view.version) {
                VersionOrder::NotNewer => return None,
                VersionOrder::Newer => true,
                VersionOrder::Different => false,
            };
            let draft = updated(config, &entry);
            Some(RegistryUpdate { version: entry.view.version, is_newer, draft })
        });
        let (status, status_message) = match own {
            Some(own) => (Some(own.view.status), own.view.status_message),
            None => (None, None),
        };
        Ok(RegistryReport { status, status_message, update })
    }

    async fn page(&self, url: &Url, refresh: bool) -> Result<RegistryPage, RegistryError> {
        let answer = self.answer(url, refresh).await?;
        let parsed = read_page(&answer.body);
        let ParsedPage { entries, next_cursor, omitted } =
            parsed.ok_or_else(|| RegistryError::Unreadable { host: address::host(url) })?;
        Ok(RegistryPage {
            entries: entries.into_iter().map(|entry| entry.view).collect(),
            next_cursor,
            omitted,
            fetched_at: answer.at,
            offline: answer.offline.map(|error| offline_error(error, answer.at)),
        })
    }

    /// One version of an entry.
    async fn entry(&self, address: &str, name: &str, version: &str) -> Result<AnsweredEntry, RegistryError> {
        check_name(name)?;
        if !is_entry_version(version) {
            return Err(RegistryError::NoEntry { name: name.to_owned() });
        }
        let url = address::version_url(address, name, version)?;
        let answer = self.answer(&url, false).await.map_err(|error| no_entry(error, name))?;
        let entry = read_entry(&answer.body)
            // An entry of another name or version is no answer.
            .filter(|entry| entry.view.name == name)
            .filter(|entry| version == LATEST || entry.view.version == version);
        let entry = entry.ok_or_else(|| RegistryError::Unreadable { host: address::host(&url) })?;
        Ok(AnsweredEntry { entry, offline: answer.offline, is_from_disk: answer.is_from_disk })
    }

    /// The answer to a request: a recent one, else the present one, else the last one that is known.
    async fn answer(&self, url: &Url, refresh: bool) -> Result<RegistryAnswer, RegistryError> {
        let key = url.as_str();
        let known = self.cache.known(key);
        let now = self.clock.now();
        if let Some(known) = &known
            && !refresh
            && known.at.plus(FRESH_FOR) > now
            && known.at <= now
        {
            return Ok(RegistryAnswer::of_now(Arc::clone(&known.body), known.at));
        }
        let etag = known.as_ref().and_then(|known| known.etag.as_deref());
        let failure = match (http::get(url, etag, self.limits).await, &known) {
            (Ok(HttpAnswer::Unchanged), Some(known)) => {
                self.cache.keep(key, KnownAnswer { at: now, ..known.clone() });
                return Ok(RegistryAnswer::of_now(Arc::clone(&known.body), now));
            }
            (Ok(HttpAnswer::New { body, etag }), _) if is_json(&body) => {
                let answer = KnownAnswer { at: now, etag, body: Arc::new(body) };
                self.cache.keep(key, answer.clone());
                self.cache.store(key, &answer).await;
                return Ok(RegistryAnswer::of_now(answer.body, now));
            }
            (Ok(_), _) => RegistryError::Unreadable { host: address::host(url) },
            (Err(error), _) => error,
        };
        if !failure.is_temporary() {
            return Err(failure);
        }
        let is_from_disk = known.is_none();
        let earlier = match known {
            Some(known) => Some(known),
            None => self.cache.stored(key).await,
        };
        match earlier {
            Some(KnownAnswer { body, at, .. }) => {
                Ok(RegistryAnswer { body, at, offline: Some(failure), is_from_disk })
            }
            None => Err(failure),
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

/// Why an earlier answer is shown.
fn offline_error(error: RegistryError, at: Timestamp) -> UserError {
    let reason = UserError::from(error);
    UserError { message: message!("error.registry.offline", at = at).into(), hint: None, ..reason }
}

fn check_name(name: &str) -> Result<(), RegistryError> {
    if is_entry_name(name) {
        return Ok(());
    }
    Err(RegistryError::NoEntry { name: name.chars().take(200).collect() })
}

/// The error of a request about an entry.
fn no_entry(error: RegistryError, name: &str) -> RegistryError {
    match error {
        RegistryError::Status { status: 404, .. } => RegistryError::NoEntry { name: name.to_owned() },
        other => other,
    }
}

/// What stands after the namespace of an entry's name, as far as a server can be called that.
fn short_name(name: &str) -> &str {
    let short = name.split_once('/').map_or(name, |(_, short)| short);
    short.get(..short.len().min(64)).unwrap_or(short)
}
