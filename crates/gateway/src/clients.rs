//! The clients that may connect: the one owner of the sealed list of clients.
//!
//! A list that cannot be verified lets nobody in. Nothing is given before it is written down: the audit and the
//! sealed list come first, then the change takes effect. Taking away takes effect at once, whatever the disk
//! says. No token is ever kept, logged or shown a second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use arc_swap::ArcSwap;
use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_model::client::ClientView;
use gatehouse_model::{AuditEvent, ClientEntry, ClientId, Clock, ErrorCode, Problem, Secret, Timestamp};
use gatehouse_store::{ControlKey, SealError, Store, StoreError};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::token::{self, Digest};

/// Longest name of a client, in characters.
const LONGEST_NAME: usize = 64;

/// Why a client's connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Its access was revoked.
    Revoked,
    /// It has a new token.
    Rotated,
}

/// Hears of departures before the change that caused them returns.
pub(crate) type OnDeparture = Arc<dyn Fn(&ClientId, Departure) + Send + Sync>;

/// One client with what is known of it since Gatehouse started.
pub(crate) struct ClientState {
    /// What is kept of it.
    pub(crate) entry: Arc<ClientEntry>,
    /// Cancelled when its token no longer counts; sessions and calls hang on it.
    pub(crate) gone: CancellationToken,
    digest: Option<Digest>,
    memory: Arc<Memory>,
}

/// What is only kept in memory; survives a new token.
#[derive(Default)]
struct Memory {
    said: Mutex<Said>,
    last_seen: AtomicI64,
    sessions: AtomicU32,
}

#[derive(Default)]
struct Said {
    /// `clientInfo` as it came last, so that the same need not be read again.
    raw: String,
    text: Option<String>,
}

impl ClientState {
    /// A client of which nothing is known yet.
    #[cfg(test)]
    pub(crate) fn unseen(entry: ClientEntry) -> Self {
        Self::new(entry, Arc::default())
    }

    fn new(entry: ClientEntry, memory: Arc<Memory>) -> Self {
        Self {
            digest: Digest::from_hex(&entry.token_sha256),
            entry: Arc::new(entry),
            gone: CancellationToken::new(),
            memory,
        }
    }

    /// Notes that the client was seen, and returns whether that is the first time since Gatehouse started.
    pub(crate) fn seen(&self, now: Timestamp) -> bool {
        self.memory.last_seen.swap(now.0, Ordering::Relaxed) == 0
    }

    /// What the client last said of itself.
    pub(crate) fn says(&self) -> Option<String> {
        self.memory.said.lock().text.clone()
    }

    /// Takes what it says of itself now (`clientInfo` as raw JSON).
    pub(crate) fn take_info(&self, info: &serde_json::value::RawValue) -> Option<String> {
        let mut said = self.memory.said.lock();
        if said.raw != info.get() {
            said.text = crate::splice::says(info);
            said.raw = info.get().to_owned();
        }
        said.text.clone()
    }

    /// Counts a session that was opened.
    pub(crate) fn session_opened(&self) {
        self.memory.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that ended.
    pub(crate) fn session_closed(&self) {
        self.memory.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    fn view(&self) -> ClientView {
        let seen = self.memory.last_seen.load(Ordering::Relaxed);
        ClientView {
            id: self.entry.id.clone(),
            name: self.entry.name.clone(),
            created: self.entry.created,
            says: self.says(),
            last_seen: (seen != 0).then_some(Timestamp(seen)),
            sessions: self.memory.sessions.load(Ordering::Relaxed),
        }
    }
}

/// The list as it stands.
#[derive(Default)]
struct Listed {
    clients: Vec<Arc<ClientState>>,
    /// Why the stored list is not believed, if it is not.
    rejected: Option<SealError>,
}

/// The clients that may connect (GATE-3).
pub struct ClientBook {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    listed: ArcSwap<Listed>,
    turn: tokio::sync::Mutex<()>,
    on_departure: Mutex<Option<OnDeparture>>,
}

impl std::fmt::Debug for ClientBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBook")
            .field("clients", &self.listed.load().clients.len())
            .finish_non_exhaustive()
    }
}

impl ClientBook {
    /// Reads the list. If it cannot be verified nobody may connect, and the problem says so. Blocks.
    #[must_use]
    pub fn open(store: Arc<Store>, clock: Arc<dyn Clock>) -> (Self, Option<Problem>) {
        let (listed, problem) = match Self::load(&store) {
            Ok(listed) => (listed, None),
            Err(error) => {
                let problem = rejected(&error);
                tracing::warn!(%error, "the list of clients is not believed: nobody may connect");
                (Listed { clients: Vec::new(), rejected: Some(error) }, Some(problem))
            }
        };
        let book = Self {
            store,
            clock,
            listed: ArcSwap::from_pointee(listed),
            turn: tokio::sync::Mutex::new(()),
            on_departure: Mutex::new(None),
        };
        (book, problem)
    }

    fn load(store: &Store) -> Result<Listed, SealError> {
        let entries = store.clients().load()?.unwrap_or_default();
        let clients =
            entries.into_iter().map(|entry| Arc::new(ClientState::new(entry, Arc::default()))).collect();
        Ok(Listed { clients, rejected: None })
    }

    /// The client that a token belongs to.
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<Arc<ClientEntry>> {
        self.recognise(token).map(|client| Arc::clone(&client.entry))
    }

    /// Whether the token of a client has this SHA-256 (lower-case hexadecimal).
    #[must_use]
    pub fn knows_digest(&self, token_sha256: &str) -> bool {
        self.listed.load().clients.iter().any(|client| client.entry.token_sha256 == token_sha256)
    }

    /// The same, with everything that hangs on the client. Every digest is compared, so that the time it takes
    /// tells nothing about the list.
    pub(crate) fn recognise(&self, token: &str) -> Option<Arc<ClientState>> {
        let given = Digest::of(token);
        let listed = self.listed.load();
        let mut found = None;
        for client in &listed.clients {
            if client.digest.is_some_and(|digest| digest.fits(&given)) {
                found = Some(client);
            }
        }
        found.map(Arc::clone)
    }

    /// Adds a client. Its token is in the answer and nowhere else. After a list that was not believed, the
    /// first client begins a new one.
    ///
    /// # Errors
    /// When the name is taken or not legal, or nothing can be written down; then nothing has changed.
    pub async fn add(&self, name: impl Into<String>) -> Result<(ClientEntry, Secret), Problem> {
        let _turn = self.turn.lock().await;
        self.retry_locked().await?;
        let listed = self.listed.load_full();
        let name = legal_name(&name.into())?;
        if listed.clients.iter().any(|other| same_name(&other.entry.name, &name)) {
            return Err(Problem::new(ErrorCode::NameTaken, format!("There is a client “{name}” already."))
                .todo("Choose another name, or give that client a new token."));
        }
        let token = token::mint()?;
        let entry = ClientEntry {
            id: ClientId::from_random(u64::from_le_bytes(token::random()?)),
            name,
            token_sha256: Digest::of(token.reveal()).to_hex(),
            created: self.clock.now(),
        };
        let mut clients = listed.clients.clone();
        clients.push(Arc::new(ClientState::new(entry.clone(), Arc::default())));
        let keys = Keys { new: Some(ControlKey::of_client_token(&token)), old: None };
        self.write(&clients, &entry, "added", keys).await?;
        self.listed.store(Arc::new(Listed { clients, rejected: None }));
        Ok((entry, token))
    }

    /// Gives a client (id or name) a new token. The old one ends, and with it the client's sessions and calls.
    ///
    /// # Errors
    /// When there is no such client, or nothing can be written down; then the old token still counts.
    pub async fn rotate(&self, client: &str) -> Result<(ClientEntry, Secret), Problem> {
        let _turn = self.turn.lock().await;
        let (mut clients, at) = self.find(client)?;
        let before = Arc::clone(clients.get(at).ok_or_else(|| unknown(client))?);
        let token = token::mint()?;
        let entry = ClientEntry {
            token_sha256: Digest::of(token.reveal()).to_hex(),
            created: self.clock.now(),
            ..(*before.entry).clone()
        };
        let after = ClientState::new(entry.clone(), Arc::clone(&before.memory));
        if let Some(place) = clients.get_mut(at) {
            *place = Arc::new(after);
        }
        let old = Some(before.entry.token_sha256.clone());
        let keys = Keys { new: Some(ControlKey::of_client_token(&token)), old };
        self.write(&clients, &entry, "rotated", keys).await?;
        self.listed.store(Arc::new(Listed { clients, rejected: None }));
        self.depart(&before, Departure::Rotated);
        Ok((entry, token))
    }

    /// Ends a client's access (id or name), its sessions and its calls, at once.
    ///
    /// # Errors
    /// When there is no such client. When it cannot be written down: the client is out all the same, but may
    /// come back with the next start, and the problem says so.
    pub async fn revoke(&self, client: &str) -> Result<ClientEntry, Problem> {
        let _turn = self.turn.lock().await;
        let (mut clients, at) = self.find(client)?;
        let before = clients.remove(at);
        let entry = (*before.entry).clone();
        self.listed.store(Arc::new(Listed { clients: clients.clone(), rejected: None }));
        self.depart(&before, Departure::Revoked);
        let keys = Keys { new: None, old: Some(entry.token_sha256.clone()) };
        self.write(&clients, &entry, "revoked", keys).await.map_err(|problem| {
            Problem::new(
                problem.code,
                format!("“{}” has no access any more, but that could not be written down.", entry.name),
            )
            .why(problem.to_string())
            .todo("Revoke it again after the next start of Gatehouse.")
        })?;
        Ok(entry)
    }

    /// All clients as they are shown.
    #[must_use]
    pub fn list(&self) -> Vec<ClientView> {
        self.listed.load().clients.iter().map(|client| client.view()).collect()
    }

    /// One client by its id or name.
    #[must_use]
    pub fn get(&self, client: &str) -> Option<Arc<ClientEntry>> {
        let (clients, at) = self.find(client).ok()?;
        clients.get(at).map(|found| Arc::clone(&found.entry))
    }

    /// Whether the stored list is believed; the problem says why not.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        self.listed.load().rejected.as_ref().map(rejected)
    }

    /// Notes that a client was seen outside the gateway (its token came with a command), and what it says of
    /// itself.
    pub fn saw(&self, client: &ClientId, says: Option<String>) {
        let listed = self.listed.load();
        if let Some(found) = listed.clients.iter().find(|other| other.entry.id == *client) {
            found.seen(self.clock.now());
            if says.is_some() {
                *found.memory.said.lock() = Said { raw: String::new(), text: says };
            }
        }
    }

    /// Sets who hears of departures; the gateway does.
    pub(crate) fn on_departure(&self, hear: OnDeparture) {
        *self.on_departure.lock() = Some(hear);
    }

    fn depart(&self, client: &ClientState, why: Departure) {
        client.gone.cancel();
        let hear = self.on_departure.lock().clone();
        if let Some(hear) = hear {
            hear(&client.entry.id, why);
        }
    }

    fn find(&self, client: &str) -> Result<(Vec<Arc<ClientState>>, usize), Problem> {
        let clients = self.listed.load().clients.clone();
        let at = clients
            .iter()
            .position(|other| other.entry.id.as_str() == client)
            .or_else(|| clients.iter().position(|other| same_name(&other.entry.name, client)))
            .ok_or_else(|| unknown(client))?;
        Ok((clients, at))
    }

    /// A list that could not be checked because the keychain was locked may be whole: it is read again before
    /// anything is written over it.
    async fn retry_locked(&self) -> Result<(), Problem> {
        let locked = matches!(
            self.listed.load().rejected,
            Some(SealError::Locked { .. } | SealError::Unreadable { .. })
        );
        if !locked {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        match blocking(move || Ok(Self::load(&store))).await? {
            Ok(listed) => self.listed.store(Arc::new(listed)),
            Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => {
                return Err(rejected(&error));
            }
            Err(error) => self.listed.store(Arc::new(Listed { clients: Vec::new(), rejected: Some(error) })),
        }
        Ok(())
    }

    /// Writes a change down: the audit first, then the key for the control socket, then the list.
    async fn write(
        &self,
        clients: &[Arc<ClientState>],
        changed: &ClientEntry,
        what: &str,
        keys: Keys,
    ) -> Result<(), Problem> {
        let entries: Vec<ClientEntry> = clients.iter().map(|client| (*client.entry).clone()).collect();
        let event = AuditEvent::ClientChanged {
            client: changed.id.clone(),
            name: changed.name.clone(),
            what: what.to_owned(),
        };
        let (store, digest) = (Arc::clone(&self.store), changed.token_sha256.clone());
        blocking(move || {
            store.audit().append(event)?;
            let Keys { new, old } = keys;
            if let Some(key) = &new {
                store.control_keys().keep_client(&digest, key).map_err(StoreError::from)?;
            }
            // Every change of the list comes on the operator's word.
            let saved = store.clients().save_anew(&entries);
            let gone = if saved.is_ok() { old } else { new.map(|_| digest) };
            if let Some(Err(error)) = gone.map(|digest| store.control_keys().forget_client(&digest)) {
                tracing::warn!(%error, "a key of the control socket that is for nothing any more was not forgotten");
            }
            Ok(saved?)
        })
        .await
    }
}

/// What a change of the list means for the keys of the control socket.
struct Keys {
    /// That of the changed client's present token.
    new: Option<ControlKey>,
    /// SHA-256 of the token that counts no more.
    old: Option<String>,
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Problem::new(ErrorCode::Internal, "Writing the list of clients was cut short.")
            .why(format!("{error}.")))
    })
}

fn rejected(error: &SealError) -> Problem {
    let problem = Problem::from(error.clone());
    let todo = match error {
        SealError::Locked { .. } | SealError::Unreadable { .. } => {
            "Make it readable again (unlock the keychain) and restart Gatehouse."
        }
        SealError::MissingKey { .. }
        | SealError::BadMac { .. }
        | SealError::OldCopy { .. }
        | SealError::Gone { .. } => "Add the clients again; each gets a new token.",
    };
    Problem::new(problem.code, "No client may connect, because the list of clients could not be verified.")
        .why(problem.what)
        .todo(todo)
}

fn unknown(client: &str) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no client “{client}”."))
}

fn legal_name(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(is_invisible) {
        return Err(Problem::new(ErrorCode::BadRequest, "This name cannot be used for a client.")
            .why("A name has 1 to 64 characters, all of which can be seen."));
    }
    Ok(name.to_owned())
}

fn same_name(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}
