//! Commands about model providers and conversations with their models.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::table::commands;
use super::values::{ExportedConversation, RequestSecret};
use crate::chat::{ChatImage, Conversation, ConversationSettings, ConversationSummary};
use crate::id::{ConversationId, MessageId, ProviderId};
use crate::provider::{ModelChoice, ModelInfo, ModelsView, ProviderDraft, ProviderView};

commands! {
    model_commands {
        /// The model providers, and what their models are used for.
        "models.show" ModelsShow {} -> ModelsView, Operator: "It tells which providers the user has.";
        /// Adds a provider. A key goes to the secret store, bound to the provider and its address.
        "models.addProvider" ModelsAddProvider {
            draft: ProviderDraft,
            #[serde(default)]
            key: Option<RequestSecret>,
        } -> ProviderView, Operator: "It keeps a secret, and opens an address to what conversations contain.";
        /// Changes a provider. The key is deleted if its address changes and no new key is given.
        "models.setProvider" ModelsSetProvider {
            provider: ProviderId,
            draft: ProviderDraft,
            /// A new key; empty to delete it, as before where absent.
            #[serde(default)]
            key: Option<RequestSecret>,
        } -> ProviderView, Operator: "It replaces a secret, and opens an address to what conversations contain.";
        /// Removes a provider with its key. Conversations with its models stay and can go on with another model.
        "models.removeProvider" ModelsRemoveProvider {
            provider: ProviderId,
        } -> (), Operator: "It destroys a secret.";
        /// The models that a provider lists.
        "models.list" ModelsList {
            provider: ProviderId,
            /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> Vec<ModelInfo>, Operator: "It sends the key to the provider.";
        /// Sets what models are used for beside conversations.
        "models.assign" ModelsAssign {
            /// For sampling requests; none where absent.
            sampling: Option<ModelChoice>,
            /// For opinions about calls; none where absent.
            opinion: Option<ModelChoice>,
        } -> (), Operator: "It sends what servers and clients want to a provider.";

        /// The conversations, newest first; with a query, those that have its words.
        "chat.list" ChatList {
            #[serde(default)]
            query: Option<String>,
        } -> Vec<ConversationSummary>, Operator: "It shows what the user wrote.";
        "chat.show" ChatShow {
            conversation: ConversationId,
        } -> Conversation, Operator: "It shows what the user wrote.";
        "chat.create" ChatCreate {
            settings: ConversationSettings,
        } -> Conversation, Operator: "It begins a conversation that can call tools.";
        /// Changes the settings of a conversation; they count from the next turn on.
        "chat.set" ChatSet {
            conversation: ConversationId,
            settings: ConversationSettings,
        } -> (), Operator: "It chooses which tools a model gets.";
        "chat.remove" ChatRemove {
            conversation: ConversationId,
        } -> (), Operator: "It destroys a conversation.";
        /// Sends a message and begins the model's turn; its reply comes as events.
        "chat.send" ChatSend {
            conversation: ConversationId,
            text: String,
            #[serde(default)]
            images: Vec<ChatImage>,
            /// The user's message that this one takes the place of; it and all after it are deleted.
            #[serde(default)]
            replaces: Option<MessageId>,
        } -> (), Operator: "It lets a model call tools.";
        /// Deletes what the model wrote last, and lets it write again. A reply that ended at the limit of rounds is
        /// continued instead.
        "chat.retry" ChatRetry {
            conversation: ConversationId,
        } -> (), Operator: "It lets a model call tools.";
        /// Stops the turn that is under way, with its tool calls, and waits until it has stopped.
        "chat.stop" ChatStop {
            conversation: ConversationId,
        } -> (), Operator: "It ends what the user began.";
        /// A conversation as Markdown.
        "chat.export" ChatExport {
            conversation: ConversationId,
            /// Whether it is also written to a file in the user's folder of downloads.
            #[serde(default)]
            save: bool,
        } -> ExportedConversation, Operator: "It shows what the user wrote, and can write a file.";
    }
}
