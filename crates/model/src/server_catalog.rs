//! Resources, prompts and results of servers as shown to users (SRV-14, TOOL-5). Hidden characters are
//! removed from names and texts; URIs are as the server wrote them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::error::UserError;
use crate::grant::Verdict;
use crate::id::CallId;
use crate::server::DeclaredCapabilities;

/// What a server offers beside its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerCatalog {
    pub declared: DeclaredCapabilities,
    /// Its instructions for the model.
    pub instructions: Option<String>,
    /// Its resources, in its order.
    pub resources: Vec<ResourceView>,
    /// Its resource templates, in its order.
    pub templates: Vec<TemplateView>,
    /// Its prompts, in its order.
    pub prompts: Vec<PromptView>,
    /// URIs that the user watches.
    pub watched: Vec<String>,
    /// Why its resources and templates are an error: only in strict mode, and when it did not declare
    /// them (SRV-13).
    pub resources_problem: Option<UserError>,
    /// Why its prompts are an error: only in strict mode, and when it did not declare them (SRV-13).
    pub prompts_problem: Option<UserError>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResourceView {
    pub uri: String,
    /// Its title, else its name.
    pub title: String,
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its size in bytes, where the server says so.
    #[ts(type = "number | null")]
    pub size: Option<u64>,
}

/// A resource template (RFC 6570).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TemplateView {
    pub uri_template: String,
    /// The variables in it, in its order.
    pub variables: Vec<String>,
    /// Its title, else its name.
    pub title: String,
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptView {
    /// Name on the server.
    pub name: String,
    /// Its title, else its name.
    pub title: String,
    pub description: Option<String>,
    /// Its arguments, in its order.
    pub arguments: Vec<PromptArgument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    pub name: String,
    /// Its title, else its name.
    pub title: String,
    pub description: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

/// What is completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CompletionTarget {
    /// An argument of a prompt.
    Prompt {
        /// Name on the server.
        name: String,
    },
    /// A variable of a resource template.
    Template { uri_template: String },
}

/// Values that an argument can have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most 100.
    pub values: Vec<String>,
    /// How many there are in all, where the server says so.
    #[ts(type = "number | null")]
    pub total: Option<u64>,
    pub has_more: bool,
}

/// What a server gave, as it is shown. The whole of it is kept for a while and can be saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResultView {
    /// By what `results.save` finds it.
    pub id: String,
    /// How the request ended.
    pub end: ResultStatus,
    /// Its parts, in their order.
    pub parts: Vec<ResultPart>,
    /// `structuredContent` as JSON text, cut like a text.
    pub structured: Option<TruncatedText>,
    /// What does not fit the tool's `outputSchema`; such a result counts as failed here.
    pub unfit: Option<String>,
    /// `_meta` as JSON text, where there is one.
    pub meta: Option<String>,
    /// Bytes of the result.
    #[ts(type = "number")]
    pub bytes: u64,
    /// How long it took without the time spent waiting for a person, in milliseconds.
    pub took_ms: u32,
    /// Time spent waiting for a person, in milliseconds.
    pub waited_ms: u32,
    /// The call that it was, where it came to one.
    pub call: Option<CallId>,
    /// What decided, where it came to a call.
    pub verdict: Option<Verdict>,
    /// The messages to and from the server, oldest first. There are none of a built-in server.
    pub messages: Vec<WireMessage>,
}

/// A message as it stood on the wire, without the server's secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WireMessage {
    /// Whether it went to the server.
    pub sent: bool,
    pub text: TruncatedText,
}

/// How a request for the user ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "end", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ResultStatus {
    /// With a result.
    Ok,
    /// With a result that has `isError`.
    ToolError,
    /// With an error of the protocol.
    Error {
        #[ts(type = "number")]
        code: i64,
        message: String,
    },
}

/// A text that may be only the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TruncatedText {
    /// The text, or its beginning.
    pub text: String,
    /// Bytes of the whole, where this is only the beginning.
    #[ts(type = "number | null")]
    pub whole_bytes: Option<u64>,
}

/// One part of what a server gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResultPart {
    /// `user` or `assistant`, for the messages of a prompt.
    pub role: Option<String>,
    pub content: ResultContent,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ResultContent {
    Text {
        text: TruncatedText,
        /// The resource that it is, where it is one.
        uri: Option<String>,
        /// Its media type, where it is said.
        mime_type: Option<String>,
    },
    /// Something else than text: an image, a sound, a file.
    Binary {
        /// Its media type.
        mime_type: String,
        /// Its bytes in base64 (RFC 4648); absent where there are too many to show.
        data: Option<String>,
        /// How many bytes it has.
        #[ts(type = "number")]
        bytes: u64,
        /// The resource that it is, where it is one.
        uri: Option<String>,
    },
    /// A resource that can be read.
    Link {
        uri: String,
        /// Its title, else its name.
        title: String,
        /// Its media type.
        mime_type: Option<String>,
    },
    /// Something of a kind that is not known.
    Other {
        /// As JSON text.
        json: TruncatedText,
    },
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SavedFile {
    pub path: String,
}
