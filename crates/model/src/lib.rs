//! The types that all parts of Gatehouse share: ids, server configuration and status, rules and
//! verdicts, approval requests, events, commands, errors, and the texts of the core with their catalogs.
//!
//! No I/O, no tasks, no windows, and no clock that is read without being asked. These types are sent
//! over the control socket and into the web view, so a secret never has a plain field in any of them
//! (see [`secret::Secret`]).

pub mod app;
pub mod approval;
mod approved_versions;
pub mod binding;
pub mod bundle;
pub mod chat;
pub mod client;
pub mod command;
pub mod composed_secret;
pub mod configuration;
pub mod connection;
pub mod error;
pub mod event;
pub mod grant;
pub mod health;
pub mod id;
pub mod import;
mod language;
pub mod message;
mod message_format;
pub mod messages;
pub mod ports;
pub mod profile;
pub mod provider;
pub mod record;
pub mod registry;
pub mod secret;
pub mod server;
pub mod server_catalog;
pub mod server_problem;
mod server_secrets;
pub mod settings;
pub mod sign_in;
pub mod simulation;
pub mod statistics;
pub mod status;
pub mod subject;
pub mod text;
pub mod time;
pub mod tool;
pub mod verdict_trace;

pub use app::App;
pub use approval::{
    ApprovalAnswer, ApprovalRequest, CallApprovalRequest, GrantChoice, OfferedChoice, OfferedCondition,
    PendingApproval, SubmittedAnswer,
};
pub use approved_versions::{ApprovedVersions, MAX_APPROVED_VERSIONS};
pub use binding::ServerBinding;
pub use client::{ClientAccess, ClientEntry, ClientView, OAuthTokenFamily};
pub use error::{ErrorCode, UserError};
pub use event::{Event, EventEnvelope};
pub use grant::{
    AccessClass, AccessClassification, Decision, Grant, Lifetime, Rule, RuleAuthor, RuleEffect, Scope,
    Verdict,
};
pub use id::{
    ApprovalId, CallHash, CallId, ClientId, ConversationId, Fingerprint, Generation, GrantId, IdentityHash,
    MessageId, ProfileId, ProviderId, RemovalId, ServerId, SessionId,
};
pub use message::{Message, MessageParam};
pub use ports::{AskUser, AuditLog, BoxFuture, EventSink, OpenUrl};
pub use profile::{Profile, ProfileSettings, ProfileView};
pub use record::{AuditEntry, AuditEntryView, AuditEvent, CallRecord};
pub use secret::Secret;
pub use server::{ServerConfig, Transport};
pub use settings::{CallLimits, Settings, ToolNaming};
pub use status::{ServerStatus, StatusCause};
pub use text::UserText;
pub use time::{Clock, SystemClock, Timestamp};
pub use tool::{OmittedTool, ToolView};
