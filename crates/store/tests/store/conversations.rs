//! Conversations: what is saved comes back, is found by its words, and is gone once it is removed.

use gatehouse_model::chat::{
    ChatBlock, ChatMessage, ChatMessageState, ChatRole, ConversationSettings, ToolCallBlock, ToolCallState,
};
use gatehouse_model::{ConversationId, Timestamp};
use gatehouse_store::{ConversationStore, SavedBlock};

use crate::fixture::StoreFixture;

fn message(id: &str, role: ChatRole, state: ChatMessageState) -> ChatMessage {
    ChatMessage {
        id: id.into(),
        role,
        at: Timestamp(5),
        blocks: Vec::new(),
        state,
        error: None,
        model: None,
        usage: None,
    }
}

fn block(place: u32, shown: ChatBlock, kept: Option<&str>) -> SavedBlock {
    SavedBlock { place, shown, kept: kept.map(ToOwned::to_owned) }
}

fn text(text: &str) -> ChatBlock {
    ChatBlock::Text { text: text.to_owned() }
}

fn call(state: ToolCallState) -> ChatBlock {
    ChatBlock::ToolCall(ToolCallBlock {
        id: "call-1".into(),
        tool: "files__read".into(),
        title: "Read a file".into(),
        server: Some("files".into()),
        class: None,
        arguments: "{}".into(),
        repaired_from: None,
        state,
        approval: None,
        call: None,
        verdict: None,
        started: Timestamp(6),
        took_ms: None,
        waited_ms: None,
        result: None,
    })
}

fn ask(store: &ConversationStore, conversation: &ConversationId, id: &str, words: &str, at: i64) {
    let message = message(id, ChatRole::User, ChatMessageState::Done);
    store.save(conversation, &message, &[block(0, text(words), None)], Timestamp(at)).unwrap();
}

fn found(store: &ConversationStore, query: &str) -> Vec<(String, Option<String>)> {
    let list = store.list(Some(query)).unwrap();
    list.into_iter().map(|found| (found.id.to_string(), found.excerpt)).collect()
}

#[test]
fn saves_messages_block_by_block() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let conversations = store.conversations();
    let id = ConversationId::new("cnv-1");
    assert!(conversations.load(&id).unwrap().is_none());
    conversations.create(&id, &ConversationSettings::default(), Timestamp(1)).unwrap();
    ask(conversations, &id, "msg-1", "What  is in\nnotes.txt?", 2);
    let mut reply = message("msg-2", ChatRole::Assistant, ChatMessageState::Running);
    let blocks =
        [block(0, text("Let me"), None), block(1, call(ToolCallState::Running), Some(r#"{"round":1}"#))];
    conversations.save(&id, &reply, &blocks, Timestamp(3)).unwrap();
    reply.state = ChatMessageState::Done;
    let done = call(ToolCallState::Done);
    conversations.save(&id, &reply, &[block(1, done.clone(), Some(r#"{"round":2}"#))], Timestamp(4)).unwrap();
    let stored = conversations.load(&id).unwrap().unwrap();
    assert_eq!(
        (stored.title.as_str(), stored.created, stored.updated),
        ("What is in notes.txt?", Timestamp(1), Timestamp(4))
    );
    let [question, answer] = &stored.messages[..] else { panic!("{:?}", stored.messages) };
    assert_eq!(question.message.blocks, [text("What  is in\nnotes.txt?")]);
    assert_eq!(answer.message.blocks, [text("Let me"), done]);
    assert_eq!(answer.kept, [None, Some(r#"{"round":2}"#.to_owned())]);
    assert_eq!(answer.message.state, ChatMessageState::Done);
}

#[test]
fn finds_conversations_by_words_and_title() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let conversations = store.conversations();
    let (one, two) = (ConversationId::new("cnv-1"), ConversationId::new("cnv-2"));
    let titled =
        ConversationSettings { title: Some("100% Übung".into()), ..ConversationSettings::default() };
    conversations.create(&one, &ConversationSettings::default(), Timestamp(1)).unwrap();
    conversations.create(&two, &titled, Timestamp(2)).unwrap();
    let long = format!("{} The needle is here. {}", "hay ".repeat(40), "hay ".repeat(40));
    ask(conversations, &one, "msg-1", &long, 3);
    let reply = message("msg-2", ChatRole::Assistant, ChatMessageState::Done);
    conversations
        .save(
            &one,
            &reply,
            &[block(0, call(ToolCallState::Done), None), block(1, text("打开文件"), None)],
            Timestamp(4),
        )
        .unwrap();
    let [(id, Some(excerpt))] = &found(conversations, "NEEDLE hay")[..] else { panic!("not found") };
    assert_eq!(id, "cnv-1");
    assert!(excerpt.contains("hay") && excerpt.chars().count() < 140, "{excerpt}");
    for (query, ids) in [
        ("needl", vec!["cnv-1"]),
        ("read a file", vec!["cnv-1"]),
        ("文件", vec!["cnv-1"]),
        ("üb 100%", vec!["cnv-2"]),
        ("100_ üb", vec![]),
        ("needle missing", vec![]),
        ("needle\" OR x", vec![]),
        ("***", vec![]),
    ] {
        let found: Vec<String> = found(conversations, query).into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, ids, "{query}");
    }
    let all: Vec<String> =
        conversations.list(None).unwrap().into_iter().map(|found| found.id.to_string()).collect();
    assert_eq!(all, ["cnv-1", "cnv-2"], "the latest first");
    assert_eq!(conversations.list(Some("  ")).unwrap().len(), 2);
}

#[test]
fn an_edited_message_takes_the_place_of_all_after_it() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let conversations = store.conversations();
    let (id, other) = (ConversationId::new("cnv-1"), ConversationId::new("cnv-2"));
    conversations.create(&id, &ConversationSettings::default(), Timestamp(1)).unwrap();
    conversations.create(&other, &ConversationSettings::default(), Timestamp(1)).unwrap();
    ask(conversations, &id, "msg-1", "first words", 2);
    ask(conversations, &other, "msg-2", "elsewhere", 2);
    ask(conversations, &id, "msg-3", "second words", 3);
    assert!(!conversations.truncate(&other, &"msg-1".into()).unwrap(), "a message of another one");
    assert!(conversations.truncate(&id, &"msg-1".into()).unwrap());
    assert!(found(conversations, "words").is_empty());
    ask(conversations, &id, "msg-4", "third words", 4);
    let stored = conversations.load(&id).unwrap().unwrap();
    assert_eq!((stored.title.as_str(), stored.messages.len()), ("third words", 1));
    assert_eq!(found(conversations, "elsewhere").len(), 1);
    let titled = ConversationSettings { title: Some(" Mine ".into()), ..ConversationSettings::default() };
    assert!(conversations.set_settings(&id, &titled).unwrap());
    assert_eq!(conversations.load(&id).unwrap().unwrap().title, "Mine");
}

#[test]
fn what_ran_when_gatehouse_ended_has_stopped() {
    let fixture = StoreFixture::new();
    let id = ConversationId::new("cnv-1");
    let store = fixture.open();
    store.conversations().create(&id, &ConversationSettings::default(), Timestamp(1)).unwrap();
    let reply = message("msg-1", ChatRole::Assistant, ChatMessageState::Running);
    let blocks = [
        block(0, text("a word"), None),
        block(1, call(ToolCallState::Done), None),
        block(2, call(ToolCallState::Waiting), None),
        block(3, call(ToolCallState::Writing), None),
    ];
    store.conversations().save(&id, &reply, &blocks, Timestamp(2)).unwrap();
    drop(store);
    let store = fixture.open();
    let stored = store.conversations().load(&id).unwrap().unwrap();
    let message = &stored.messages[0].message;
    assert_eq!(message.state, ChatMessageState::Stopped);
    let states: Vec<ToolCallState> = message
        .blocks
        .iter()
        .filter_map(|block| if let ChatBlock::ToolCall(call) = block { Some(call.state) } else { None })
        .collect();
    assert_eq!(states, [ToolCallState::Done, ToolCallState::Cancelled, ToolCallState::Cancelled]);
    assert_eq!(found(store.conversations(), "word").len(), 1, "it can be searched now");
}

#[test]
fn nothing_is_left_of_a_removed_conversation() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let conversations = store.conversations();
    let id = ConversationId::new("cnv-1");
    conversations.create(&id, &ConversationSettings::default(), Timestamp(1)).unwrap();
    ask(conversations, &id, "msg-1", "words", 2);
    assert!(conversations.remove(&id).unwrap());
    assert!(!conversations.remove(&id).unwrap());
    ask(conversations, &id, "msg-2", "words that came too late", 3);
    assert!(found(conversations, "words").is_empty() && conversations.load(&id).unwrap().is_none());
    assert!(!conversations.set_settings(&id, &ConversationSettings::default()).unwrap());
    drop(store);
    let database = rusqlite::Connection::open(fixture.path("conversations.db")).unwrap();
    for table in ["conversations", "messages", "blocks"] {
        let rows: u32 =
            database.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let mode = std::fs::metadata(fixture.path("conversations.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(store);
}
