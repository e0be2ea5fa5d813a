//! Opens the SQLite databases of a data folder.
//!
//! `ledger.db` contains what must never be lost (audit, sealed records, tool definitions, the names of stored
//! secrets), `activity.db` the call records, `sessions.db` what clients' sessions need after a restart, and
//! `conversations.db` the conversations with models. They are separate so that a flood of calls, sessions or messages
//! never delays a decision. All use a write-ahead log. It is synced on every commit, except for the sessions and the
//! conversations.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::folder;
use crate::error::StoreError;

pub(crate) const LEDGER: &str = "ledger.db";
pub(crate) const ACTIVITY: &str = "activity.db";
pub(crate) const SESSIONS: &str = "sessions.db";
pub(crate) const CONVERSATIONS: &str = "conversations.db";

/// One schema migration. The steps are applied in order, each once.
pub(crate) type SqlMigration = &'static str;

/// Opens a database, makes it owner-only, and migrates it to the current schema.
pub(crate) fn open(path: &Path, migrations: &[SqlMigration]) -> Result<Connection, StoreError> {
    folder::create_owner_only(path)?;
    let mut connection = connect(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let shape: usize =
        transaction.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? as usize;
    if shape > migrations.len() {
        return Err(newer_version_error(path));
    }
    for step in &migrations[shape..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", u32::try_from(migrations.len()).unwrap_or(u32::MAX))?;
    transaction.commit()?;
    Ok(connection)
}

/// Opens another connection to a database that was prepared by [`open`].
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn newer_version_error(path: &Path) -> StoreError {
    use gatehouse_model::{ErrorCode, UserError, message};
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    StoreError::Config(
        UserError::new(ErrorCode::NewerVersion, message!("error.store.databaseNewer", name = &*name))
            .with_hint(message!("error.store.databaseNewerHint")),
    )
}

/// Schema of `ledger.db`.
pub(crate) const LEDGER_MIGRATIONS: &[SqlMigration] = &[
    "
CREATE TABLE sealed (
    name    TEXT PRIMARY KEY,
    counter INTEGER NOT NULL,
    body    BLOB NOT NULL,
    mac     BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    event TEXT NOT NULL,
    hash  BLOB NOT NULL,
    mac   BLOB
);
CREATE TABLE audit_head (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    base_seq  INTEGER NOT NULL,
    base_hash BLOB NOT NULL,
    seq       INTEGER NOT NULL,
    hash      BLOB NOT NULL,
    mac       BLOB
);
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
WHEN OLD.mac IS NOT NULL OR NEW.seq <> OLD.seq OR NEW.at <> OLD.at
    OR NEW.event <> OLD.event OR NEW.hash <> OLD.hash
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_keeps_its_tail BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT base_seq FROM audit_head)
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

CREATE TABLE definitions (
    fingerprint TEXT PRIMARY KEY,
    definition  TEXT NOT NULL
) WITHOUT ROWID;
",
    "
CREATE TABLE kept_secrets (
    place  TEXT NOT NULL,
    secret TEXT NOT NULL,
    PRIMARY KEY (place, secret)
) WITHOUT ROWID;
",
    // Names without a seal are not believed; each is listed anew when its secret is kept the next time.
    "
DROP TABLE kept_secrets;
CREATE TABLE kept_secrets (
    place  TEXT NOT NULL,
    secret TEXT NOT NULL,
    mac    BLOB NOT NULL,
    PRIMARY KEY (place, secret)
) WITHOUT ROWID;
",
];

/// Schema of `activity.db`. The row id of a call starts with its time, so that ids sort by time, also in the
/// full-text index.
pub(crate) const ACTIVITY_MIGRATIONS: &[SqlMigration] = &[
    "
CREATE TABLE calls (
    id     INTEGER PRIMARY KEY,
    client TEXT NOT NULL,
    server TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX calls_by_client ON calls (client);
CREATE INDEX calls_by_server ON calls (server);
CREATE VIRTUAL TABLE calls_text USING fts5 (
    tool, arguments, result, content = '', contentless_delete = 1, detail = full
);
",
    "
CREATE TABLE used (
    server TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (server, name)
) WITHOUT ROWID;
INSERT OR IGNORE INTO used (server, name)
SELECT server, CASE json_extract(record, '$.subject.kind')
    WHEN 'tool'       THEN json_extract(record, '$.subject.name')
    WHEN 'resource'   THEN 'resource:' || json_extract(record, '$.subject.uri')
    WHEN 'prompt'     THEN 'prompt:' || json_extract(record, '$.subject.name')
    WHEN 'completion' THEN 'completion:' || json_extract(record, '$.subject.reference')
    END AS called
FROM calls
WHERE json_extract(record, '$.verdict.decision') = 'allow' AND called IS NOT NULL;
",
    "
CREATE TABLE rule_used (
    rule TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO rule_used (rule, at)
SELECT json_extract(record, '$.verdict.rule.grant') AS decided, MAX(json_extract(record, '$.at'))
FROM calls
WHERE json_extract(record, '$.verdict.rule.rule')
    IN ('explicit_deny', 'conditioned_grant', 'timed_grant', 'always_grant')
    AND decided IS NOT NULL
GROUP BY decided;
",
    "
CREATE TABLE programs (
    client  TEXT NOT NULL,
    program TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (client, program)
) WITHOUT ROWID;
",
    // Until then only the user called as this client.
    "
UPDATE calls SET record = json_set(record, '$.byUser', json('true')) WHERE client = 'gatehouse';
",
    // The index and the statistics are filled from the records when they are opened the next time.
    "
DROP INDEX IF EXISTS calls_by_client;
DROP INDEX IF EXISTS calls_by_server;
DROP TABLE IF EXISTS calls_text;
CREATE VIRTUAL TABLE calls_text USING fts5 (
    tool, arguments, result, filters, content = '', contentless_delete = 1, detail = full
);
DROP TABLE IF EXISTS call_kinds;
CREATE TABLE call_kinds (
    kind    INTEGER PRIMARY KEY,
    client  TEXT NOT NULL,
    server  TEXT NOT NULL,
    tool    TEXT NOT NULL,
    outcome TEXT NOT NULL,
    last    INTEGER NOT NULL,
    UNIQUE (server, client, tool, outcome)
);
DROP TABLE IF EXISTS call_minutes;
CREATE TABLE call_minutes (
    at         INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    took_ms    INTEGER NOT NULL,
    slowest_ms INTEGER NOT NULL,
    PRIMARY KEY (at, kind)
) WITHOUT ROWID;
DROP TABLE IF EXISTS call_hours;
CREATE TABLE call_hours (
    at         INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    took_ms    INTEGER NOT NULL,
    slowest_ms INTEGER NOT NULL,
    PRIMARY KEY (at, kind)
) WITHOUT ROWID;
DROP TABLE IF EXISTS rule_calls;
CREATE TABLE rule_calls (
    rule  TEXT NOT NULL,
    tool  TEXT NOT NULL,
    calls INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    PRIMARY KEY (rule, tool)
) WITHOUT ROWID;
DROP TABLE IF EXISTS servers_seen;
CREATE TABLE servers_seen (
    server TEXT PRIMARY KEY,
    at     INTEGER NOT NULL
) WITHOUT ROWID;
DROP TABLE IF EXISTS statistics_since;
CREATE TABLE statistics_since (at INTEGER NOT NULL);
",
    // The index is filled again; what begins with two or three letters is kept in it.
    "
DROP TABLE IF EXISTS calls_terms;
DROP TABLE calls_text;
CREATE VIRTUAL TABLE calls_text USING fts5 (
    tool, arguments, result, filters, content = '', contentless_delete = 1, detail = full, prefix = '2 3'
);
CREATE VIRTUAL TABLE calls_terms USING fts5vocab (calls_text, instance);
",
];

/// Schema of `sessions.db`. A session without `state` has ended. Sessions of a client that were opened at the time in
/// `forgotten` or before can't be resumed, since their rows were deleted.
pub(crate) const SESSIONS_MIGRATIONS: &[SqlMigration] = &["
CREATE TABLE sessions (
    client TEXT NOT NULL,
    nonce  TEXT NOT NULL,
    opened INTEGER NOT NULL,
    state  TEXT,
    PRIMARY KEY (client, nonce)
) WITHOUT ROWID;
CREATE INDEX sessions_by_time ON sessions (client, opened);
CREATE TABLE forgotten (
    client TEXT PRIMARY KEY,
    opened INTEGER NOT NULL
) WITHOUT ROWID;
"];

/// Schema of `conversations.db`. `title` is the user's, `opening` the beginning of the first message. `head` is a message
/// without its blocks, and `kept` what the next request to the model needs besides what is shown.
pub(crate) const CONVERSATIONS_MIGRATIONS: &[SqlMigration] = &["
CREATE TABLE conversations (
    id       TEXT PRIMARY KEY,
    title    TEXT,
    opening  TEXT,
    settings TEXT NOT NULL,
    created  INTEGER NOT NULL,
    updated  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX conversations_by_time ON conversations (updated);
CREATE TABLE messages (
    number       INTEGER PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    id           TEXT NOT NULL UNIQUE,
    head         TEXT NOT NULL,
    is_running   INTEGER NOT NULL
);
CREATE INDEX messages_by_conversation ON messages (conversation, number);
CREATE INDEX messages_running ON messages (number) WHERE is_running;
CREATE TABLE blocks (
    message INTEGER NOT NULL REFERENCES messages (number) ON DELETE CASCADE,
    place   INTEGER NOT NULL,
    shown   TEXT NOT NULL,
    kept    TEXT,
    PRIMARY KEY (message, place)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE messages_text USING fts5 (
    text, content = '', contentless_delete = 1, detail = full, tokenize = 'unicode61 remove_diacritics 2'
);
"];
