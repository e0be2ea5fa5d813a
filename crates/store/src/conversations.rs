//! Conversations with models: `conversations.db`, searched by words.
//!
//! The rows aren't sealed, because they allow nothing: whoever can write files can at most change what a model reads, and
//! each call that it then wants is judged like any other. What the caller saves has no secret of a server in it; nothing
//! here looks for one.

use std::path::Path;

use gatehouse_model::chat::{
    ChatBlock, ChatMessage, ChatMessageState, ChatRole, ConversationSettings, ConversationSummary,
    ToolCallState,
};
use gatehouse_model::{ConversationId, MessageId, Timestamp};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::data_folder::database;
use crate::error::StoreError;
use crate::full_text;

/// Most conversations in a list.
const MAX_LISTED: u32 = 1_000;
/// Longest title that is made of the first message, in characters.
const MAX_OPENING_CHARS: usize = 80;
/// Characters of an excerpt before and after the word that was searched for.
const EXCERPT_CHARS: usize = 60;

/// A conversation as it was saved.
#[derive(Clone, Debug)]
pub struct StoredConversation {
    pub id: ConversationId,
    /// The title that the user gave, else the beginning of the first message.
    pub title: String,
    pub settings: ConversationSettings,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Oldest first.
    pub messages: Vec<StoredMessage>,
}

/// A message as it was saved.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    pub message: ChatMessage,
    /// What was kept with each of its blocks besides what is shown.
    pub kept: Vec<Option<String>>,
}

/// A block of a message, to be saved.
#[derive(Clone, Debug)]
pub struct SavedBlock {
    /// Its place in the message, from 0.
    pub place: u32,
    pub shown: ChatBlock,
    /// What the writer needs of it besides, as JSON.
    pub kept: Option<String>,
}

/// The conversations of one data folder. All calls block on the disk.
pub struct ConversationStore {
    database: Mutex<Connection>,
}

impl ConversationStore {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let database = database::open(path, database::CONVERSATIONS_MIGRATIONS)?;
        // Survives a crash of Gatehouse.
        database.pragma_update(None, "synchronous", "NORMAL")?;
        database.pragma_update(None, "foreign_keys", true)?;
        let store = Self { database: Mutex::new(database) };
        store.stop_running()?;
        Ok(store)
    }

    /// Adds a conversation without messages.
    pub fn create(
        &self,
        id: &ConversationId,
        settings: &ConversationSettings,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let title = title_of(settings);
        self.database.lock().execute(
            "INSERT INTO conversations (id, title, settings, created, updated) VALUES (?1, ?2, ?3, ?4, ?4)",
            params![id.as_str(), title, serde_json::to_string(settings)?, at.0],
        )?;
        Ok(())
    }

    /// Changes the settings of a conversation. Returns whether there is one.
    pub fn set_settings(
        &self,
        id: &ConversationId,
        settings: &ConversationSettings,
    ) -> Result<bool, StoreError> {
        let changed = self.database.lock().execute(
            "UPDATE conversations SET title = ?2, settings = ?3 WHERE id = ?1",
            params![id.as_str(), title_of(settings), serde_json::to_string(settings)?],
        )?;
        Ok(changed == 1)
    }

    /// Removes a conversation with its messages. Returns whether there was one.
    pub fn remove(&self, id: &ConversationId) -> Result<bool, StoreError> {
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        transaction.execute(
            "DELETE FROM messages_text WHERE rowid IN (SELECT number FROM messages WHERE conversation = ?1)",
            [id.as_str()],
        )?;
        let removed = transaction.execute("DELETE FROM conversations WHERE id = ?1", [id.as_str()])?;
        transaction.commit()?;
        Ok(removed == 1)
    }

    /// The conversations, the latest first; with words to search for, those that have all of them in their title or in one
    /// message, with a piece of text around the first.
    pub fn list(&self, query: Option<&str>) -> Result<Vec<ConversationSummary>, StoreError> {
        let database = self.database.lock();
        let words = query.map(str::trim).filter(|text| !text.is_empty());
        let Some(words) = words else {
            let mut all = database.prepare_cached(
                "SELECT id, title, opening, settings, updated FROM conversations ORDER BY updated DESC LIMIT ?1",
            )?;
            let rows = all.query_map([MAX_LISTED], summary)?;
            return rows.map(|row| Ok(row??)).collect();
        };
        let Some(fts) = full_text::query(words, |_| None) else { return Ok(Vec::new()) };
        let mut found = database.prepare_cached(
            "SELECT id, title, opening, settings, updated, message FROM conversations
             LEFT JOIN (
                 SELECT conversation, MAX(number) AS message FROM messages
                 WHERE number IN (SELECT rowid FROM messages_text WHERE messages_text MATCH ?1)
                 GROUP BY conversation
             ) ON conversation = id
             ORDER BY updated DESC",
        )?;
        let rows = found.query_map([fts], |row| Ok((summary(row)?, row.get::<_, Option<i64>>(5)?)))?;
        let lowered = words.to_lowercase();
        let mut list = Vec::new();
        for row in rows {
            let (read, message) = row?;
            let mut conversation = read?;
            let title = conversation.title.to_lowercase();
            match message {
                Some(message) => conversation.excerpt = excerpt(&message_text(&database, message)?, words),
                None if lowered.split_whitespace().all(|word| title.contains(word)) => {}
                None => continue,
            }
            list.push(conversation);
            if list.len() == MAX_LISTED as usize {
                break;
            }
        }
        Ok(list)
    }

    /// A conversation with all of its messages; `None` if there is none with this id.
    pub fn load(&self, id: &ConversationId) -> Result<Option<StoredConversation>, StoreError> {
        let database = self.database.lock();
        let head = database
            .prepare_cached(
                "SELECT id, title, opening, settings, updated, created FROM conversations WHERE id = ?1",
            )?
            .query_row([id.as_str()], |row| {
                Ok((summary(row)?, row.get::<_, String>(3)?, row.get::<_, i64>(5)?))
            })
            .optional()?;
        let Some((summary, settings, created)) = head else { return Ok(None) };
        let ConversationSummary { id, title, updated, .. } = summary?;
        let mut messages: Vec<(i64, StoredMessage)> = database
            .prepare_cached("SELECT number, head FROM messages WHERE conversation = ?1 ORDER BY number")?
            .query_map([id.as_str()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?
            .map(|row| {
                let (number, head) = row?;
                Ok((number, StoredMessage { message: serde_json::from_str(&head)?, kept: Vec::new() }))
            })
            .collect::<Result<_, StoreError>>()?;
        for (number, message) in &mut messages {
            for (shown, kept) in read_blocks(&database, *number)? {
                message.message.blocks.push(shown);
                message.kept.push(kept);
            }
        }
        Ok(Some(StoredConversation {
            id,
            title,
            settings: serde_json::from_str(&settings)?,
            created: Timestamp(created),
            updated,
            messages: messages.into_iter().map(|(_, message)| message).collect(),
        }))
    }

    /// Saves a message with those of its blocks that are new or changed; a new message is the last one. The blocks in
    /// `message` are not looked at. What can be searched is brought up to date once the message no longer runs. Does
    /// nothing if the conversation was removed.
    pub fn save(
        &self,
        conversation: &ConversationId,
        message: &ChatMessage,
        blocks: &[SavedBlock],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let is_running = message.state == ChatMessageState::Running;
        let head = serde_json::to_string(&head_of(message))?;
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        let opening = (message.role == ChatRole::User).then(|| opening_of(blocks)).flatten();
        let is_there = transaction.execute(
            "UPDATE conversations SET updated = MAX(updated, ?2), opening = COALESCE(opening, ?3) WHERE id = ?1",
            params![conversation.as_str(), at.0, opening],
        )?;
        if is_there == 0 {
            return Ok(());
        }
        transaction
            .prepare_cached(
                "INSERT INTO messages (conversation, id, head, is_running) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET head = excluded.head, is_running = excluded.is_running",
            )?
            .execute(params![conversation.as_str(), message.id.as_str(), head, is_running])?;
        let number: i64 = transaction
            .prepare_cached("SELECT number FROM messages WHERE id = ?1")?
            .query_row([message.id.as_str()], |row| row.get(0))?;
        for block in blocks {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO blocks (message, place, shown, kept) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![number, block.place, serde_json::to_string(&block.shown)?, block.kept])?;
        }
        if !is_running {
            index(&transaction, number)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Deletes a message and all after it. Returns whether it was there.
    pub fn truncate(&self, conversation: &ConversationId, from: &MessageId) -> Result<bool, StoreError> {
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        let number: Option<i64> = transaction
            .query_row(
                "SELECT number FROM messages WHERE conversation = ?1 AND id = ?2",
                params![conversation.as_str(), from.as_str()],
                |row| row.get(0),
            )
            .optional()?;
        let Some(number) = number else { return Ok(false) };
        for delete in [
            "DELETE FROM messages_text WHERE rowid IN
             (SELECT number FROM messages WHERE conversation = ?1 AND number >= ?2)",
            "DELETE FROM messages WHERE conversation = ?1 AND number >= ?2",
        ] {
            transaction.execute(delete, params![conversation.as_str(), number])?;
        }
        // The title is made of the message that comes in place of the first one.
        transaction.execute(
            "UPDATE conversations SET opening = NULL
             WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1)",
            [conversation.as_str()],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// Marks what ran when Gatehouse ended as stopped.
    fn stop_running(&self) -> Result<(), StoreError> {
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        let running: Vec<(i64, String)> = transaction
            .prepare("SELECT number, head FROM messages WHERE is_running")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (number, head) in running {
            let mut message: ChatMessage = serde_json::from_str(&head)?;
            message.state = ChatMessageState::Stopped;
            transaction.execute(
                "UPDATE messages SET head = ?2, is_running = 0 WHERE number = ?1",
                params![number, serde_json::to_string(&message)?],
            )?;
            for (place, (shown, _)) in read_blocks(&transaction, number)?.into_iter().enumerate() {
                let ChatBlock::ToolCall(mut call) = shown else { continue };
                if !is_open(call.state) {
                    continue;
                }
                call.state = ToolCallState::Cancelled;
                transaction.execute(
                    "UPDATE blocks SET shown = ?3 WHERE message = ?1 AND place = ?2",
                    params![
                        number,
                        i64::try_from(place).unwrap_or(i64::MAX),
                        serde_json::to_string(&ChatBlock::ToolCall(call))?
                    ],
                )?;
            }
            index(&transaction, number)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Whether a call has not ended yet.
fn is_open(state: ToolCallState) -> bool {
    match state {
        ToolCallState::Writing | ToolCallState::Waiting | ToolCallState::Running => true,
        ToolCallState::Done | ToolCallState::Failed | ToolCallState::Denied | ToolCallState::Cancelled => {
            false
        }
    }
}

/// The message without its blocks.
fn head_of(message: &ChatMessage) -> ChatMessage {
    ChatMessage {
        id: message.id.clone(),
        role: message.role,
        at: message.at,
        blocks: Vec::new(),
        state: message.state,
        error: message.error.clone(),
        model: message.model.clone(),
        usage: message.usage,
    }
}

/// The title that the user gave.
fn title_of(settings: &ConversationSettings) -> Option<&str> {
    settings.title.as_deref().map(str::trim).filter(|title| !title.is_empty())
}

/// The beginning of the first text of a message, on one line.
fn opening_of(blocks: &[SavedBlock]) -> Option<String> {
    let text = blocks.iter().find_map(|block| match &block.shown {
        ChatBlock::Text { text } => Some(text.as_str()),
        ChatBlock::Reasoning { .. } | ChatBlock::Image { .. } | ChatBlock::ToolCall(_) => None,
    })?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = match line.char_indices().nth(MAX_OPENING_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line,
    };
    (!cut.is_empty()).then_some(cut)
}

/// The conversation of a row with the columns `id, title, opening, settings, updated`.
fn summary(row: &Row<'_>) -> rusqlite::Result<Result<ConversationSummary, serde_json::Error>> {
    let id: String = row.get(0)?;
    let (title, opening): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
    let (settings, updated): (String, i64) = (row.get(3)?, row.get(4)?);
    Ok(serde_json::from_str(&settings).map(|settings: ConversationSettings| ConversationSummary {
        id: ConversationId::new(id),
        title: title.or(opening).unwrap_or_default(),
        updated: Timestamp(updated),
        model: settings.model,
        is_running: false,
        excerpt: None,
    }))
}

/// The blocks of a message in their order, each with what was kept with it.
fn read_blocks(database: &Connection, message: i64) -> Result<Vec<(ChatBlock, Option<String>)>, StoreError> {
    let mut blocks =
        database.prepare_cached("SELECT shown, kept FROM blocks WHERE message = ?1 ORDER BY place")?;
    let rows = blocks.query_map([message], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    rows.map(|row| {
        let (shown, kept) = row?;
        Ok((serde_json::from_str(&shown)?, kept))
    })
    .collect()
}

/// What can be searched of a message: its texts, and the titles of the tools that were called.
fn message_text(database: &Connection, message: i64) -> Result<String, StoreError> {
    let mut text = String::new();
    for (shown, _) in read_blocks(database, message)? {
        let part = match &shown {
            ChatBlock::Text { text } => text.as_str(),
            ChatBlock::ToolCall(call) => call.title.as_str(),
            ChatBlock::Reasoning { .. } | ChatBlock::Image { .. } => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
    Ok(text)
}

fn index(transaction: &Transaction<'_>, message: i64) -> Result<(), StoreError> {
    let text = message_text(transaction, message)?;
    transaction.execute("DELETE FROM messages_text WHERE rowid = ?1", [message])?;
    transaction.execute(
        "INSERT INTO messages_text (rowid, text) VALUES (?1, ?2)",
        params![message, full_text::index_text(&text)],
    )?;
    Ok(())
}

/// The text around the first of the words, on one line; its beginning if none is found as it was written.
fn excerpt(text: &str, words: &str) -> Option<String> {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    if line.is_empty() {
        return None;
    }
    // Compared letter by letter, so that a letter whose lower case has another length shifts nothing.
    let lower = |c: &char| c.to_lowercase().next().unwrap_or(*c);
    let lowered: Vec<char> = line.iter().map(lower).collect();
    let place = |word: &str| {
        let word: Vec<char> = word.chars().map(|c| lower(&c)).collect();
        lowered.windows(word.len().max(1)).position(|window| *window == *word)
    };
    let at = words.split_whitespace().filter_map(place).min().unwrap_or(0);
    let (from, to) = (at.saturating_sub(EXCERPT_CHARS), (at + EXCERPT_CHARS).min(line.len()));
    let cut: String = line.get(from..to)?.iter().collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    Some(format!("{before}{}{after}", cut.trim()))
}
