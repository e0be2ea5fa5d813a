//! Sign-in to remote MCP servers with OAuth (AUTH-1 to AUTH-9): discovery, the browser flow, and tokens,
//! which are stored, renewed, upgraded with scopes and revoked. Connections only see the [`TokenSource`]
//! trait.
//!
//! A token is only handed out for the server, generation and resource that it was issued for. Tokens, codes,
//! verifiers and secrets are never logged and never part of an event or error. The browser is only opened if
//! the caller states that the user asked for it.

mod background_tasks;
mod client;
mod client_documents;
mod discovery;
mod error;
mod grants;
mod http_client;
mod id_token;
mod login;
mod oauth_error;
mod session;
mod settings;
mod sign_ins;
mod token_source;
mod tokens;

pub use client_documents::fetch_client_document;
pub use discovery::www_authenticate::issuer_hint;
pub use error::AuthError;
pub use session::token_store::secret_keys;
pub use sign_ins::{SignInDeps, SignIns};
pub use token_source::{AuthRecovery, AuthRejection, NoSignIn, TokenSource};
