//! Conversations with a model as commands (UI-8).

use std::sync::Arc;

use gatehouse_model::UserError;
use gatehouse_model::chat::{Conversation, ConversationSummary};
use gatehouse_model::command::{
    ChatCreate, ChatExport, ChatList, ChatRemove, ChatRetry, ChatSend, ChatSet, ChatShow, ChatStop,
    ExportedConversation,
};

use super::AppState;
use crate::disk_work::on_disk;
use crate::downloads;

/// What an exported conversation without a title is called.
const EXPORT_NAME: &str = "conversation";

pub(super) async fn list(state: &AppState, wanted: ChatList) -> Result<Vec<ConversationSummary>, UserError> {
    state.chats.list(wanted.query).await
}

pub(super) async fn show(state: &AppState, wanted: &ChatShow) -> Result<Conversation, UserError> {
    state.chats.show(&wanted.conversation).await
}

pub(super) async fn create(state: &AppState, wanted: ChatCreate) -> Result<Conversation, UserError> {
    state.chats.create(wanted.settings).await
}

pub(super) async fn set(state: &AppState, wanted: ChatSet) -> Result<(), UserError> {
    state.chats.set(&wanted.conversation, wanted.settings).await
}

pub(super) async fn remove(state: &AppState, wanted: &ChatRemove) -> Result<(), UserError> {
    state.chats.remove(&wanted.conversation).await
}

pub(super) async fn send(state: &AppState, wanted: ChatSend) -> Result<(), UserError> {
    let ChatSend { conversation, text, images, replaces } = wanted;
    state.chats.send(&conversation, text, images, replaces).await
}

pub(super) async fn retry(state: &AppState, wanted: &ChatRetry) -> Result<(), UserError> {
    state.chats.retry(&wanted.conversation).await
}

pub(super) async fn stop(state: &AppState, wanted: &ChatStop) -> Result<(), UserError> {
    state.chats.stop(&wanted.conversation).await;
    Ok(())
}

pub(super) async fn export(
    state: &Arc<AppState>,
    wanted: &ChatExport,
) -> Result<ExportedConversation, UserError> {
    let (title, markdown) = state.chats.export(&wanted.conversation).await?;
    if !wanted.save {
        return Ok(ExportedConversation { markdown, path: None });
    }
    let folder = state.downloads.clone();
    let has_name = title.chars().any(|c| c.is_ascii_alphanumeric());
    let name = if has_name { title } else { EXPORT_NAME.to_owned() };
    let saving = on_disk(move || {
        downloads::save(&folder, &name, "md", markdown.as_bytes()).map(|saved| (markdown, saved.path))
    });
    let (markdown, path) = saving.await??;
    Ok(ExportedConversation { markdown, path: Some(path) })
}
