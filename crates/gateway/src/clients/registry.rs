//! The clients that may connect. [`ClientRegistry`] is the only owner of the sealed client list.
//!
//! If the list can't be verified, no client may connect (fail closed). Access is granted only after it was
//! persisted: first the audit entry, then the sealed list, then the change takes effect. Revocation takes
//! effect at once, even if the disk refuses. Tokens themselves are never stored or logged and are shown only
//! once; the list contains their SHA-256.

use std::sync::Arc;

use arc_swap::ArcSwap;
use gatehouse_common::display_name;
use gatehouse_model::client::ClientView;
use gatehouse_model::{
    AuditEvent, ClientAccess, ClientEntry, ClientId, Clock, ErrorCode, Secret, UserError, message,
};
use gatehouse_store::{ControlKey, SealError, Store, StoreError};
use gatehouse_tools::{Narrowing, chat_client, is_chat};
use parking_lot::Mutex;

use crate::clients::bridge_bindings::{BoundBridge, BridgeBindings};
use crate::clients::client_state::ClientState;
use crate::clients::disk::blocking;
use crate::clients::oauth_tokens::{AccessGrant, OAuthTokens, is_access_token};
use crate::clients::token::{self, TokenDigest};

/// Name of a client by OAuth that gives itself none.
const UNNAMED: &str = "OAuth client";

/// Why the connections of a client are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisconnectReason {
    Revoked,
    /// The client got a new token, or tokens of it were revoked.
    Rotated,
}

/// Callback for revoked or rotated clients. Runs before the method that caused the change returns.
pub(crate) type DisconnectListener = Arc<dyn Fn(&ClientId, DisconnectReason) + Send + Sync>;

/// The current list.
#[derive(Default)]
struct ClientList {
    clients: Vec<Arc<ClientState>>,
    /// Why the stored list was rejected, if it was.
    rejected: Option<SealError>,
}

/// Whose token a request has.
pub(crate) enum TokenHolder {
    /// A client, and the only server that its token is for.
    Client { client: Arc<ClientState>, server: Option<String> },
    /// Nobody's: it has the form of an access token, and has expired, was replaced or was revoked.
    EndedAccess,
    /// Nobody's.
    Nobody,
}

/// The clients that may connect (GATE-3).
pub struct ClientRegistry {
    pub(crate) oauth_tokens: OAuthTokens,
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    snapshot: ArcSwap<ClientList>,
    write_lock: tokio::sync::Mutex<()>,
    on_client_disconnect: Mutex<Option<DisconnectListener>>,
    bindings: BridgeBindings,
}

impl std::fmt::Debug for ClientRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientRegistry")
            .field("clients", &self.snapshot.load().clients.len())
            .finish_non_exhaustive()
    }
}

impl ClientRegistry {
    /// Loads the list. If it can't be verified, no client may connect and the error for the user is returned
    /// too. Blocks.
    #[must_use]
    pub fn open(store: Arc<Store>, clock: Arc<dyn Clock>) -> (Self, Option<UserError>) {
        let snapshot = Self::load(&store).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of clients can't be verified, so no client may connect");
            ClientList { clients: Vec::new(), rejected: Some(error) }
        });
        let registry = Self {
            oauth_tokens: OAuthTokens::open(Arc::clone(&store), Arc::clone(&clock)),
            store,
            clock,
            snapshot: ArcSwap::from_pointee(snapshot),
            write_lock: tokio::sync::Mutex::new(()),
            on_client_disconnect: Mutex::new(None),
            bindings: BridgeBindings::default(),
        };
        let error = registry.load_error();
        (registry, error)
    }

    fn load(store: &Store) -> Result<ClientList, SealError> {
        let entries = store.clients().load()?.unwrap_or_default();
        let entries = entries.into_iter().filter(|entry| !is_chat(&entry.id));
        let clients = entries.map(|entry| Arc::new(ClientState::new(entry))).collect();
        Ok(ClientList { clients, rejected: None })
    }

    /// The client with this token.
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<Arc<ClientEntry>> {
        self.find_by_token(token).map(|client| Arc::clone(&client.entry))
    }

    /// Whether a client has a token with this SHA-256 (lower-case hexadecimal).
    #[must_use]
    pub fn has_token_digest(&self, token_sha256: &str) -> bool {
        self.snapshot.load().clients.iter().any(|client| client.entry.token_sha256 == token_sha256)
    }

    /// As [`Self::authenticate`], with the client's in-memory state. All digests are compared, even after a
    /// match, so that the timing reveals nothing about the list.
    pub(crate) fn find_by_token(&self, token: &str) -> Option<Arc<ClientState>> {
        let given = TokenDigest::hash(token);
        let snapshot = self.snapshot.load();
        let mut found = None;
        for client in &snapshot.clients {
            if client.has_token(&given) {
                found = Some(client);
            }
        }
        found.map(Arc::clone)
    }

    /// Gives a bridge of a client, in this process if it is known, a credential. It counts for
    /// [`BINDING_LIFETIME`](crate::BINDING_LIFETIME).
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn bind_bridge(
        &self,
        client: &ClientId,
        narrowing: Narrowing,
        process: Option<u32>,
    ) -> Result<Secret, UserError> {
        self.bindings.bind(client, BoundBridge { narrowing, process }, self.clock.now())
    }

    /// What the credential of a bridge of this client stands for; `None` if it isn't one, or no longer.
    pub(crate) fn binding(&self, client: &ClientId, credential: &str) -> Option<BoundBridge> {
        self.bindings.find(client, credential, self.clock.now())
    }

    /// Whose token this is, given to the client by the user or issued by OAuth.
    pub(crate) fn holder_of(&self, token: &str) -> TokenHolder {
        if !is_access_token(token) {
            return match self.find_by_token(token) {
                Some(client) => TokenHolder::Client { client, server: None },
                None => TokenHolder::Nobody,
            };
        }
        let holder = self.oauth_tokens.find_access(token).and_then(|AccessGrant { client, server }| {
            let snapshot = self.snapshot.load();
            let found = snapshot.clients.iter().find(|other| {
                other.entry.id == client && matches!(other.entry.access, ClientAccess::Oauth { .. })
            })?;
            Some(TokenHolder::Client { client: Arc::clone(found), server })
        });
        holder.unwrap_or(TokenHolder::EndedAccess)
    }

    /// The client that has this OAuth client id.
    pub(crate) fn oauth_client(&self, client_id: &str) -> Option<Arc<ClientEntry>> {
        let has_id = |client: &&Arc<ClientState>| matches!(&client.entry.access, ClientAccess::Oauth { client_id: own } if own == client_id);
        self.snapshot.load().clients.iter().find(has_id).map(|client| Arc::clone(&client.entry))
    }

    /// The name of a client that people could take one with this name for, and that doesn't have this OAuth client id.
    pub(crate) fn resembling(&self, name: &str, client_id: &str) -> Option<String> {
        let is_other = |client: &&Arc<ClientState>| !matches!(&client.entry.access, ClientAccess::Oauth { client_id: own } if own == client_id);
        let resembles = |client: &&Arc<ClientState>| display_name::is_taken_by(name, &client.entry.name);
        let snapshot = self.snapshot.load();
        let found = snapshot.clients.iter().filter(is_other).find(resembles);
        let is_chat = display_name::is_taken_by(name, &chat_client().name);
        found.map(|client| client.entry.name.clone()).or_else(|| is_chat.then(|| chat_client().name.clone()))
    }

    /// Adds a client that the user allowed to connect by OAuth, unless it is in the list already. Its name is made
    /// unique. Returns whether it was added. `known` is the client that had this id when the user allowed it; `None` is
    /// returned if the user has revoked that one since.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) async fn admit_oauth(
        &self,
        name: &str,
        client_id: &str,
        known: Option<&ClientId>,
    ) -> Result<Option<(Arc<ClientEntry>, bool)>, UserError> {
        let _guard = self.write_lock.lock().await;
        self.retry_locked().await?;
        let present = self.oauth_client(client_id);
        if known.is_some_and(|known| present.as_ref().is_none_or(|present| present.id != *known)) {
            return Ok(None);
        }
        if let Some(present) = present {
            return Ok(Some((present, false)));
        }
        let snapshot = self.snapshot.load_full();
        let entry = ClientEntry {
            id: ClientId::from_random(u64::from_le_bytes(token::random()?)),
            name: free_name(&snapshot.clients, name),
            // Nobody has this token.
            token_sha256: TokenDigest::hash(token::generate()?.reveal()).to_hex(),
            created: self.clock.now(),
            access: ClientAccess::Oauth { client_id: client_id.to_owned() },
        };
        let mut clients = snapshot.clients.clone();
        let added = Arc::new(ClientState::new(entry.clone()));
        clients.push(Arc::clone(&added));
        self.write(&clients, &entry, "added", ControlKeyChange { new: None, old: None }).await?;
        self.snapshot.store(Arc::new(ClientList { clients, rejected: None }));
        Ok(Some((Arc::clone(&added.entry), true)))
    }

    /// Ends the sessions, calls and connections of a client, because tokens of it were revoked. It may come back with
    /// a valid one.
    pub(crate) async fn reset(&self, client: &ClientId) {
        let _guard = self.write_lock.lock().await;
        let mut clients = self.snapshot.load().clients.clone();
        let Some(slot) = clients.iter_mut().find(|other| other.entry.id == *client) else { return };
        let before = Arc::clone(slot);
        *slot = Arc::new(before.rotated((*before.entry).clone()));
        self.snapshot.store(Arc::new(ClientList { clients, rejected: None }));
        self.disconnect(&before, DisconnectReason::Rotated);
    }

    /// Adds a client. Its token is returned and not stored. If the stored list was rejected, the
    /// first client that is added starts a new list.
    ///
    /// # Errors
    /// When the name is taken or invalid, the stored list can't be verified because the keychain is locked, or
    /// the change can't be persisted. The list is unchanged then.
    pub async fn add(&self, name: impl Into<String>) -> Result<(ClientEntry, Secret), UserError> {
        let _guard = self.write_lock.lock().await;
        self.retry_locked().await?;
        let snapshot = self.snapshot.load_full();
        let name = validate_name(&name.into())?;
        check_free(&name, snapshot.clients.iter().map(|other| other.entry.name.as_str()))?;
        let token = token::generate()?;
        let entry = ClientEntry {
            id: ClientId::from_random(u64::from_le_bytes(token::random()?)),
            name,
            token_sha256: TokenDigest::hash(token.reveal()).to_hex(),
            created: self.clock.now(),
            access: ClientAccess::Token,
        };
        let mut clients = snapshot.clients.clone();
        clients.push(Arc::new(ClientState::new(entry.clone())));
        let keys = ControlKeyChange { new: Some(ControlKey::of_client_token(&token)), old: None };
        self.write(&clients, &entry, "added", keys).await?;
        self.snapshot.store(Arc::new(ClientList { clients, rejected: None }));
        Ok((entry, token))
    }

    /// Checks the names of clients that are to be added together. Nothing changes.
    ///
    /// # Errors
    /// When one of them is taken or invalid.
    pub fn check_names(&self, names: &[&str]) -> Result<(), UserError> {
        let snapshot = self.snapshot.load();
        for (at, name) in names.iter().enumerate() {
            let name = validate_name(name)?;
            let known = snapshot.clients.iter().map(|other| other.entry.name.as_str());
            check_free(&name, known.chain(names.iter().take(at).copied()))?;
        }
        Ok(())
    }

    /// Gives a client (id or name) a new token. The old token becomes invalid, and the client's sessions and
    /// calls end.
    ///
    /// # Errors
    /// When there is no such client, it connects by OAuth, or the change can't be persisted; then the old token stays
    /// valid.
    pub async fn rotate(&self, client: &str) -> Result<(ClientEntry, Secret), UserError> {
        let _guard = self.write_lock.lock().await;
        let (mut clients, at) = self.find(client)?;
        let before = Arc::clone(clients.get(at).ok_or_else(|| unknown_client(client))?);
        if before.entry.access != ClientAccess::Token {
            return Err(UserError::new(
                ErrorCode::BadRequest,
                message!("error.gateway.oauthClient", name = &before.entry.name),
            )
            .with_hint(message!("error.gateway.oauthClientHint")));
        }
        let token = token::generate()?;
        let entry = ClientEntry {
            token_sha256: TokenDigest::hash(token.reveal()).to_hex(),
            created: self.clock.now(),
            ..(*before.entry).clone()
        };
        if let Some(slot) = clients.get_mut(at) {
            *slot = Arc::new(before.rotated(entry.clone()));
        }
        let old = Some(before.entry.token_sha256.clone());
        let keys = ControlKeyChange { new: Some(ControlKey::of_client_token(&token)), old };
        self.write(&clients, &entry, "rotated", keys).await?;
        self.snapshot.store(Arc::new(ClientList { clients, rejected: None }));
        self.disconnect(&before, DisconnectReason::Rotated);
        Ok((entry, token))
    }

    /// Revokes a client (id or name) and ends its sessions and calls immediately.
    ///
    /// # Errors
    /// When there is no such client, or when the change can't be persisted. In the second case the client is
    /// revoked in memory all the same, but may have access again after the next start; the error says so.
    pub async fn revoke(&self, client: &str) -> Result<ClientEntry, UserError> {
        let _guard = self.write_lock.lock().await;
        let (mut clients, at) = self.find(client)?;
        let before = clients.remove(at);
        let entry = (*before.entry).clone();
        self.snapshot.store(Arc::new(ClientList { clients: clients.clone(), rejected: None }));
        self.disconnect(&before, DisconnectReason::Revoked);
        self.oauth_tokens.end_client(&entry.id).await;
        let keys = ControlKeyChange { new: None, old: Some(entry.token_sha256.clone()) };
        self.write(&clients, &entry, "revoked", keys).await.map_err(|error| {
            UserError::new(error.code, message!("error.gateway.revokedUnsaved", name = &entry.name))
                .with_cause(error.to_string())
                .with_hint(message!("error.gateway.revokedUnsavedHint"))
        })?;
        Ok(entry)
    }

    /// All clients, for display.
    pub fn list(&self) -> Vec<ClientView> {
        self.snapshot.load().clients.iter().map(|client| client.view()).collect()
    }

    /// A client by its id or name.
    pub fn get(&self, client: &str) -> Option<Arc<ClientEntry>> {
        let (clients, at) = self.find(client).ok()?;
        clients.get(at).map(|found| Arc::clone(&found.entry))
    }

    /// The error for the user if the stored list was rejected.
    pub fn load_error(&self) -> Option<UserError> {
        self.snapshot.load().rejected.as_ref().map(rejected)
    }

    /// Records that a client was seen outside the gateway: its token came with a command on the control socket.
    pub fn record_seen(&self, client: &ClientId) {
        let snapshot = self.snapshot.load();
        if let Some(found) = snapshot.clients.iter().find(|other| other.entry.id == *client) {
            found.mark_seen(self.clock.now());
        }
    }

    /// Sets the callback for revoked and rotated clients. Used by the gateway.
    pub(crate) fn on_client_disconnect(&self, listener: DisconnectListener) {
        *self.on_client_disconnect.lock() = Some(listener);
    }

    fn disconnect(&self, client: &ClientState, reason: DisconnectReason) {
        client.disconnected.cancel();
        let listener = self.on_client_disconnect.lock().clone();
        if let Some(listener) = listener {
            listener(&client.entry.id, reason);
        }
    }

    fn find(&self, client: &str) -> Result<(Vec<Arc<ClientState>>, usize), UserError> {
        let clients = self.snapshot.load().clients.clone();
        let at = clients
            .iter()
            .position(|other| other.entry.id.as_str() == client)
            .or_else(|| clients.iter().position(|other| display_name::is_same(&other.entry.name, client)))
            .ok_or_else(|| unknown_client(client))?;
        Ok((clients, at))
    }

    /// A list that couldn't be verified because the keychain was locked or unreadable may be intact. It is
    /// loaded again before anything overwrites it.
    async fn retry_locked(&self) -> Result<(), UserError> {
        let locked = matches!(
            self.snapshot.load().rejected,
            Some(SealError::Locked { .. } | SealError::Unreadable { .. })
        );
        if !locked {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        match blocking(move || Ok(Self::load(&store))).await? {
            Ok(snapshot) => self.snapshot.store(Arc::new(snapshot)),
            Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => {
                return Err(rejected(&error));
            }
            Err(error) => {
                self.snapshot.store(Arc::new(ClientList { clients: Vec::new(), rejected: Some(error) }))
            }
        }
        Ok(())
    }

    /// Persists a change: first the audit entry, then the key for the control socket, then the list.
    async fn write(
        &self,
        clients: &[Arc<ClientState>],
        changed: &ClientEntry,
        what: &str,
        keys: ControlKeyChange,
    ) -> Result<(), UserError> {
        let entries: Vec<ClientEntry> = clients.iter().map(|client| (*client.entry).clone()).collect();
        let event = AuditEvent::ClientChanged {
            client: changed.id.clone(),
            name: changed.name.clone(),
            what: what.to_owned(),
        };
        let (store, digest) = (Arc::clone(&self.store), changed.token_sha256.clone());
        blocking(move || {
            store.audit().append(event)?;
            let ControlKeyChange { new, old } = keys;
            if let Some(key) = &new {
                store.control_keys().keep_client(&digest, key).map_err(StoreError::from)?;
            }
            // `overwrite` may replace a rejected list: each change of this list is made by the operator.
            let saved = store.clients().overwrite(&entries);
            let unused = if saved.is_ok() { old } else { new.map(|_| digest) };
            if let Some(Err(error)) = unused.map(|digest| store.control_keys().forget_client(&digest)) {
                tracing::warn!(%error, "an unused key of the control socket could not be deleted");
            }
            Ok(saved?)
        })
        .await
    }
}

/// Changes to the keys of the control socket that belong to a change of the list.
struct ControlKeyChange {
    /// The key derived from the client's new token.
    new: Option<ControlKey>,
    /// SHA-256 of the token that is no longer valid.
    old: Option<String>,
}

fn rejected(error: &SealError) -> UserError {
    let cause = UserError::from(error.clone());
    let hint = match error {
        SealError::Locked { .. } | SealError::Unreadable { .. } => {
            message!("error.gateway.clientsUnreadableHint")
        }
        SealError::MissingKey { .. }
        | SealError::BadMac { .. }
        | SealError::OldCopy { .. }
        | SealError::Gone { .. } => message!("error.gateway.clientsAgainHint"),
    };
    UserError::new(cause.code, message!("error.gateway.clientsUnverified"))
        .with_cause(cause.message)
        .with_hint(hint)
}

/// A name that no client has, and that resembles this one.
fn free_name(clients: &[Arc<ClientState>], wanted: &str) -> String {
    let base = display_name::validate(wanted).unwrap_or(UNNAMED);
    let is_free = |name: &String| {
        let mut known = clients.iter().map(|other| &other.entry.name).chain([&chat_client().name]);
        !known.any(|other| display_name::is_taken_by(name, other))
    };
    let numbered = (2_u32..).map(|number| format!("{base} {number}"));
    std::iter::once(base.to_owned()).chain(numbered).find(is_free).unwrap_or_else(|| base.to_owned())
}

fn unknown_client(client: &str) -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.gateway.noClient", name = client))
}

/// That no other client has a name, or one that people would take for it. Gatehouse's own conversations have one too.
fn check_free<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Result<(), UserError> {
    let mut taken = others.chain([chat_client().name.as_str()]);
    if taken.any(|other| display_name::is_taken_by(name, other)) {
        return Err(UserError::new(ErrorCode::NameTaken, message!("error.gateway.nameTaken", name = name))
            .with_hint(message!("error.gateway.nameTakenHint")));
    }
    Ok(())
}

fn validate_name(name: &str) -> Result<String, UserError> {
    display_name::validate(name).map(str::to_owned).ok_or_else(|| {
        UserError::new(ErrorCode::BadRequest, message!("error.gateway.badName"))
            .with_cause(message!("error.gateway.badNameCause"))
    })
}
