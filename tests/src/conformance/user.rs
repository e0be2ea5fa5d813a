//! The user of the conformance client: agrees to everything, and signs in with a headless browser.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gatehouse_auth::{SignInDeps, SignIns};
use gatehouse_model::sign_in::{RegisteredClient, SignInMethod, SignInSettings, SignInState};
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, AuditEvent, AuditLog, BoxFuture, Event, EventSink, OpenUrl,
    Secret, ServerConfig, SystemClock, UserError,
};
use gatehouse_store::{SecretKey, SecretStore};
use serde_json::Value;
use tokio::sync::watch;

use crate::http;

/// URL of a Client ID Metadata Document that the suite knows.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Time limit of a sign-in.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);

/// Counts changes of the sign-in and of the connection.
#[derive(Clone, Default)]
pub(super) struct ChangeCounters {
    sign_in: watch::Sender<u64>,
    status: watch::Sender<u64>,
}

impl EventSink for ChangeCounters {
    fn emit(&self, event: Event) {
        match event {
            Event::SignInChanged { .. } => self.sign_in.send_modify(|count| *count += 1),
            Event::StatusChanged { .. } => self.status.send_modify(|count| *count += 1),
            _ => {}
        }
    }
}

/// No audit log: the suite only checks the protocol.
struct NoAudit;

impl AuditLog for NoAudit {
    fn append(&self, _: AuditEvent) -> BoxFuture<'_, Result<(), UserError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Follows redirects of an authorization server, as a browser with an open session does.
struct Browser;

impl OpenUrl for Browser {
    fn open(&self, url: &str) -> Result<(), String> {
        let visit = || -> Result<()> {
            let sent = http::send("GET", url, &[], b"")?;
            let to = sent.header("location");
            let to = to.with_context(|| format!("HTTP {} and nowhere to go", sent.status))?;
            http::send("GET", to, &[], b"").map(drop)
        };
        visit().map_err(|error| format!("{error:#}"))
    }
}

struct AcceptingUser;

impl AskUser for AcceptingUser {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async { ApprovalAnswer::Accept { content: None } })
    }
}

/// Signs in when required.
pub(super) struct User {
    pub(super) sign_ins: SignIns,
    changes: ChangeCounters,
}

impl User {
    pub(super) fn new(
        secrets: Arc<dyn SecretStore>,
        events: &ChangeCounters,
        folder: &std::path::Path,
    ) -> Self {
        let sign_ins = SignIns::new(SignInDeps {
            secrets,
            clock: Arc::new(SystemClock),
            audit: Arc::new(NoAudit),
            events: Arc::new(events.clone()),
            open: Arc::new(Browser),
            data_dir: folder.to_owned(),
        });
        sign_ins.set_approver(Arc::new(AcceptingUser));
        sign_ins.set_client_document(Some(DOCUMENT.to_owned()));
        Self { sign_ins, changes: events.clone() }
    }

    /// Signs in, and returns when the sign-in is completed.
    pub(super) async fn sign_in(&self, server: &Arc<ServerConfig>) -> Result<()> {
        let mut changes = self.changes.sign_in.subscribe();
        self.sign_ins.begin(Arc::clone(server), true).await?;
        let done = async {
            loop {
                match self.sign_ins.state(Arc::clone(server)).await {
                    SignInState::In { .. } => return Ok(()),
                    SignInState::Out { problem: Some(problem) } => bail!(problem),
                    SignInState::Out { problem: None } => bail!("the sign-in was given up"),
                    SignInState::Waiting { .. } => changes.changed().await?,
                }
            }
        };
        tokio::time::timeout(STEP_TIMEOUT, done).await.context("the sign-in never ended")?
    }

    /// Subscribes to changes of the connection.
    pub(super) fn next_status(&self) -> watch::Receiver<u64> {
        self.changes.status.subscribe()
    }
}

/// The data that the suite passes to a scenario.
pub(super) fn context() -> Value {
    let text = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Secrets that settings refer to: the field and the value of each.
type EnteredSecrets = Vec<(&'static str, String)>;

/// The sign-in settings for a scenario's server, and their secrets.
pub(super) fn settings(scenario: &str, context: &Value) -> Result<(SignInSettings, EnteredSecrets)> {
    let mut secrets = EnteredSecrets::new();
    let text = |name: &str| context[name].as_str().with_context(|| format!("no {name} is named"));
    let mut settings = SignInSettings::default();
    let entered = matches!(
        scenario,
        "auth/pre-registration"
            | "auth/client-credentials-basic"
            | "auth/client-credentials-jwt"
            | "auth/enterprise-managed-authorization"
    );
    if entered {
        let secret = context["client_secret"].as_str();
        if let Some(secret) = secret {
            secrets.push(("signIn/secret", secret.to_owned()));
        }
        settings.client = Some(RegisteredClient {
            id: text("client_id")?.to_owned(),
            secret: secret.map(|_| "${secret:client}".to_owned()),
            method: None,
        });
    }
    settings.with = match scenario {
        "auth/client-credentials-basic" => SignInMethod::ClientSecret,
        "auth/client-credentials-jwt" => {
            secrets.push(("signIn/key", text("private_key_pem")?.to_owned()));
            let algorithm = text("signing_algorithm")?.to_owned();
            SignInMethod::ClientKey { key: "${secret:key}".to_owned(), algorithm }
        }
        "auth/enterprise-managed-authorization" => SignInMethod::Enterprise {
            issuer: text("idp_issuer")?.to_owned(),
            client: text("idp_client_id")?.to_owned(),
            secret: None,
        },
        _ => SignInMethod::Browser,
    };
    Ok((settings, secrets))
}

/// Stores a secret for a field of a server.
pub(super) fn store_secret(
    secrets: &dyn SecretStore,
    server: &ServerConfig,
    field: &str,
    secret: &str,
) -> Result<()> {
    let key = SecretKey::for_server_field(&server.binding(), field);
    Ok(secrets.set(&key, &Secret::new(secret))?)
}
