//! The way through the browser: the address that the user visits, and what is made of the code that
//! comes back. State and proof key serve this one way and are gone with it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, Secret};
use oauth2::{CsrfToken, PkceCodeChallenge};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::AuthError;
use crate::callback::{Answered, Desk, Expected};
use crate::discovery::{refused, unusable};
use crate::grant::{Client, Form, GrantError, Granted, TokenEndpoint};
use crate::listener::Door;
use crate::metadata::ServerMetadata;
use crate::web::Web;

/// How long the browser may take to fetch its last page.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// A code grant that is about to be asked for.
pub(crate) struct CodeGrant {
    /// Makes the requests.
    pub(crate) web: Web,
    /// The authorization server.
    pub(crate) server: ServerMetadata,
    /// Whether its issuer is known from a document.
    pub(crate) known: bool,
    /// Who asks.
    pub(crate) client: Client,
    /// What for.
    pub(crate) resource: Option<String>,
    /// With which scopes; none means that nothing is said of scopes.
    pub(crate) scopes: Vec<String>,
}

/// A code grant whose answer is waited for.
pub(crate) struct Pending {
    grant: CodeGrant,
    door: Door,
    /// Where the answer is handed in.
    pub(crate) desk: Arc<Desk>,
    answer: oneshot::Receiver<Answered>,
    verifier: Secret,
    /// The word that the id token has to repeat.
    pub(crate) nonce: Secret,
    /// The address that the user has to visit.
    pub(crate) address: Url,
}

/// Where tokens came from, beside themselves.
pub(crate) struct Asked {
    /// The code grant that they are from.
    pub(crate) grant: CodeGrant,
    /// The word that the id token has to repeat.
    pub(crate) nonce: Secret,
}

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Somebody gave up.
    Cancelled,
    /// The time is over.
    TooLate,
}

impl CodeGrant {
    /// Makes the address that leads to this door.
    pub(crate) fn ask(self, door: Door) -> Result<Pending, AuthError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random_len(32);
        let nonce = CsrfToken::new_random();
        let mut address = authorize_endpoint(&self.web, &self.server)?.clone();
        {
            let mut query = address.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &door.told)
                .append_pair("state", state.secret())
                .append_pair("code_challenge", challenge.as_str())
                .append_pair("code_challenge_method", "S256");
            if let Some(resource) = &self.resource {
                query.append_pair("resource", resource);
            }
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(" "));
            }
            let asks = |scope: &str| self.scopes.iter().any(|asked| asked == scope);
            if asks("openid") {
                query.append_pair("nonce", nonce.secret());
            }
            if asks("offline_access") {
                // OpenID Connect gives it only where the user was asked.
                query.append_pair("prompt", "consent");
            }
        }
        let expected = Expected {
            redirect: door.redirect.clone(),
            state: Secret::new(state.secret()),
            issuer: self.known.then(|| self.server.issuer.clone()),
            names_issuer: self.server.names_itself(),
        };
        let (desk, answer) = Desk::open(expected);
        Ok(Pending {
            grant: self,
            door,
            desk: Arc::new(desk),
            answer,
            verifier: Secret::new(verifier.into_secret()),
            nonce: Secret::new(nonce.secret()),
            address,
        })
    }

    async fn exchange(
        &self,
        code: &Secret,
        verifier: &Secret,
        redirect: &str,
        clock: &dyn Clock,
    ) -> Result<Granted, GrantError> {
        let url = token_endpoint(&self.server).map_err(|error| GrantError::Unusable(error.to_string()))?;
        let endpoint = TokenEndpoint { web: &self.web, url, issuer: &self.server.issuer, clock };
        let mut form: Form = vec![
            ("grant_type", Secret::new("authorization_code")),
            ("code", code.clone()),
            ("redirect_uri", Secret::new(redirect)),
            ("code_verifier", verifier.clone()),
        ];
        form.extend(self.resource.as_deref().map(|resource| ("resource", Secret::new(resource))));
        endpoint.ask(&self.client, form).await
    }
}

/// Where the user signs in, if that is as safe as it has to be.
pub(crate) fn authorize_endpoint<'a>(web: &Web, server: &'a ServerMetadata) -> Result<&'a Url, AuthError> {
    if !server.has_s256() {
        return Err(unusable(
            "The authorization server does not say that it protects sign-ins with PKCE (S256). Without \
             that another program could take the answer of your browser.",
        ));
    }
    let endpoint = server.authorization_endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| unusable("The authorization server has no page to sign in at."))?;
    web.check(endpoint).map_err(|error| refused(&error))?;
    token_endpoint(server)?;
    Ok(endpoint)
}

/// Where tokens come from.
pub(crate) fn token_endpoint(server: &ServerMetadata) -> Result<&Url, AuthError> {
    server
        .token_endpoint
        .as_ref()
        .ok_or_else(|| unusable("The authorization server does not say where tokens are."))
}

impl Pending {
    /// Waits for the answer, makes tokens of it, and hands them to `keep`, which says whether it came to
    /// a good end. Then the browser is told, and nothing listens any more.
    ///
    /// # Errors
    /// Why no answer came; then `keep` was never called.
    pub(crate) async fn run<F, D>(
        self,
        (deadline, cancel): (Instant, &CancellationToken),
        clock: &dyn Clock,
        keep: F,
    ) -> Result<(), NoAnswer>
    where
        F: FnOnce(Asked, Result<Granted, GrantError>) -> D,
        D: Future<Output = bool>,
    {
        let Self { grant, door, desk, answer, verifier, nonce, .. } = self;
        let told = door.told.clone();
        let serving = door.serve(Arc::clone(&desk));
        tokio::pin!(serving);
        let answered = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(NoAnswer::Cancelled),
            answered = answer => answered.map_err(|_| NoAnswer::Cancelled)?,
            () = tokio::time::sleep_until(deadline) => return Err(NoAnswer::TooLate),
            () = &mut serving => return Err(NoAnswer::Cancelled),
        };
        let finish = async {
            let granted = match answered.outcome {
                Ok(code) => grant.exchange(&code, &verifier, &told, clock).await,
                Err(error) => Err(error),
            };
            let good = keep(Asked { grant, nonce }, granted).await;
            if answered.told.send(good).is_err() {
                tracing::debug!("the browser is gone already");
            }
            desk.closing.cancel();
        };
        tokio::join!(finish, async {
            // Whoever begins anew need not wait until the browser has its page.
            tokio::select! {
                () = &mut serving => {}
                () = async {
                    desk.closing.cancelled().await;
                    tokio::time::timeout(LAST_PAGE, cancel.cancelled()).await.ok();
                } => tracing::debug!("the browser did not take its last page"),
            }
        });
        Ok(())
    }
}
