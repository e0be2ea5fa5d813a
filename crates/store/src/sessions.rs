//! What sessions of clients need after a restart: the key that seals their ids, what their clients don't send again, and
//! which of them have ended.
//!
//! The rows aren't sealed, because they allow nothing: a session can only be resumed with its sealed id and its
//! client's token, and its subscriptions are evaluated by the policy again. Whoever can write files can at most make a
//! client open another session, or bring back an ended one of a client whose token they have.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientEntry, ClientId, Clock, Timestamp};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::data_folder::database;
use crate::error::{SecretError, StoreError};
use crate::sealed::context::{RowKey, SealContext};

/// A session that was opened longer ago than this can't be resumed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum number of rows per client. The row of the session that was opened first is deleted first. As it may have been
/// that of an ended session, no session that was opened before can be resumed then.
const MAX_ROWS_PER_CLIENT: u32 = 10_000;

/// The table that the key is for; part of the name of the key.
const TABLE: &str = "sessions";

/// Identifies a session in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSessionId {
    pub client: ClientId,
    /// Random text, unique for each session.
    pub nonce: String,
    /// When the client opened the session.
    pub opened: Timestamp,
}

/// What a client sends once in a session and doesn't repeat after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedSession {
    /// The log level that it set.
    pub log_level: Option<LogLevel>,
    /// The resources that it subscribed to, by the URIs that it uses.
    pub subscriptions: Vec<String>,
}

/// Seals the ids of sessions, for one data folder and one owner.
pub struct SessionSeal(RowKey);

impl SessionSeal {
    /// The HMAC-SHA256 of a session's id. It depends on the client and its present token, so that the id is worthless to
    /// other clients and once the client gets a new token.
    pub fn mac(&self, client: &ClientEntry, id: &str) -> [u8; 32] {
        self.0.mac(&columns(client, id))
    }

    /// Whether a MAC is that of a session's id.
    pub fn is_mac_valid(&self, client: &ClientEntry, id: &str, mac: &[u8]) -> bool {
        self.0.is_mac_valid(&columns(client, id), mac)
    }
}

fn columns<'a>(client: &'a ClientEntry, id: &'a str) -> [&'a str; 3] {
    [client.id.as_str(), &client.token_sha256, id]
}

/// The sessions of one data folder. All calls block on the disk.
pub struct SessionStore {
    seals: SealContext,
    clock: Arc<dyn Clock>,
    database: Mutex<Connection>,
}

impl SessionStore {
    pub(crate) fn open(path: &Path, seals: &SealContext, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let database = database::open(path, database::SESSIONS_MIGRATIONS)?;
        // Survives a crash of Gatehouse. What a power failure loses is of no use, since it ends the clients too.
        database.pragma_update(None, "synchronous", "NORMAL")?;
        let store = Self { seals: seals.clone(), clock, database: Mutex::new(database) };
        store.delete_expired()?;
        Ok(store)
    }

    /// The key that seals the ids of sessions. It is made if there is none. Blocks on the secret store.
    ///
    /// # Errors
    /// When the secret store doesn't answer, or has something else there; also when the system gives no random bytes.
    pub fn seal(&self) -> Result<SessionSeal, SecretError> {
        self.seals.row_key_or_new(TABLE).map(SessionSeal)
    }

    /// What was saved of a session, empty if nothing was. `None` if the session can't be resumed: it has ended, or is too
    /// old to tell.
    pub fn load(&self, session: &SavedSessionId) -> Result<Option<SavedSession>, StoreError> {
        if session.opened < self.oldest() {
            return Ok(None);
        }
        let (client, opened) = (session.client.as_str(), session.opened.0);
        let database = self.database.lock();
        let is_forgotten = database
            .prepare_cached("SELECT 1 FROM forgotten WHERE client = ?1 AND opened >= ?2")?
            .exists(params![client, opened])?;
        if is_forgotten {
            return Ok(None);
        }
        let state: Option<Option<String>> = database
            .prepare_cached("SELECT state FROM sessions WHERE client = ?1 AND nonce = ?2")?
            .query_row(params![client, session.nonce], |row| row.get(0))
            .optional()?;
        Ok(match state {
            None => Some(SavedSession::default()),
            Some(None) => None,
            Some(Some(text)) => Some(serde_json::from_str(&text)?),
        })
    }

    /// Saves what a session needs after a restart. Does nothing if it has ended.
    pub fn save(&self, session: &SavedSessionId, state: &SavedSession) -> Result<(), StoreError> {
        self.write(session, Some(&serde_json::to_string(state)?))
    }

    /// Records that a session has ended, so that it is never resumed.
    pub fn end(&self, session: &SavedSessionId) -> Result<(), StoreError> {
        self.write(session, None)
    }

    fn write(&self, session: &SavedSessionId, state: Option<&str>) -> Result<(), StoreError> {
        let client = session.client.as_str();
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        transaction
            .prepare_cached(
                "INSERT INTO sessions (client, nonce, opened, state) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET state = excluded.state WHERE sessions.state IS NOT NULL",
            )?
            .execute(params![client, session.nonce, session.opened.0, state])?;
        let surplus: Option<i64> = transaction
            .prepare_cached(
                "SELECT opened FROM sessions WHERE client = ?1 ORDER BY opened DESC LIMIT 1 OFFSET ?2",
            )?
            .query_row(params![client, MAX_ROWS_PER_CLIENT], |row| row.get(0))
            .optional()?;
        if let Some(opened) = surplus {
            transaction
                .prepare_cached(
                    "INSERT INTO forgotten (client, opened) VALUES (?1, ?2)
                     ON CONFLICT DO UPDATE SET opened = MAX(opened, excluded.opened)",
                )?
                .execute(params![client, opened])?;
            transaction
                .prepare_cached("DELETE FROM sessions WHERE client = ?1 AND opened <= ?2")?
                .execute(params![client, opened])?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn delete_expired(&self) -> Result<(), StoreError> {
        let (oldest, database) = (self.oldest().0, self.database.lock());
        database.execute("DELETE FROM sessions WHERE opened < ?1", [oldest])?;
        database.execute("DELETE FROM forgotten WHERE opened < ?1", [oldest])?;
        Ok(())
    }

    /// Sessions that were opened before this time can't be resumed.
    fn oldest(&self) -> Timestamp {
        let age = i64::try_from(MAX_AGE.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.clock.now().0.saturating_sub(age))
    }
}
