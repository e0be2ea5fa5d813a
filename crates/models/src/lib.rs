//! Model providers: the tool formats of the providers both ways ([`adapters`]), streaming clients for their APIs
//! ([`providers`]), and conversations in which a model uses tools ([`chat`]). Beside conversations, a model writes answers to
//! sampling requests ([`sampling`]) and gives opinions about calls ([`risk_opinion`]).
//!
//! Nothing here reaches a server or decides about a call: tools are called through the [`chat::ToolRunner`] that the
//! caller supplies, and providers only at the address that the user entered.

pub mod adapters;
pub mod chat;
pub mod exchange;
pub mod providers;
pub mod risk_opinion;
pub mod sampling;
