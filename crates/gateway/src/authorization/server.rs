//! The authorization server: from a client's request, over the user's answer, to tokens, their refresh and their end.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{ClientAccessRequest, PeerProcess};
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, ClientAccess, Clock, Message, MessageParam, Secret, UserError,
    UserText, message,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authorization::client_id::{self, ClientDocuments, ClientIdentifier};
use crate::authorization::client_metadata::ClientMetadata;
use crate::authorization::codes::{AllowedAccess, AuthorizationCodes, PkceChallenge, TakenCode};
use crate::authorization::consents::{ConsentOutcome, Consents, PolledConsent, TooManyConsents};
use crate::authorization::oauth_error::OAuthError;
use crate::authorization::params::OAuthParams;
use crate::authorization::redirect_uri::ClientRedirectUri;
use crate::clients::oauth_tokens::{AccessGrant, IssuedTokens, RefreshToken};
use crate::clients::registry::ClientRegistry;
use crate::clients::token;
use crate::tool_service::ToolService;

/// How long the outcome of a consent waits for its page.
const OUTCOME_LIFETIME: Duration = Duration::from_secs(60);

/// Name of a client that gives itself none.
const UNNAMED: &str = "OAuth client";

/// Which endpoint of the gateway a request is for: the name of its only server, or none for all servers. An error if it
/// is for something else.
pub(crate) type RequestedResource = Result<Option<String>, OAuthError>;

/// A request of a browser that a client sent here.
pub(crate) struct AuthorizeRequest {
    pub(crate) params: OAuthParams,
    /// What the parameter `resource` names.
    pub(crate) resource: RequestedResource,
    /// The origin under which the browser reached the gateway.
    pub(crate) issuer: String,
    /// The program that made the connection.
    pub(crate) seen_from: Option<PeerProcess>,
    /// The program that listens at the redirect URI.
    pub(crate) receiver: Option<PeerProcess>,
}

/// What the browser gets.
#[derive(Debug)]
pub(crate) enum AuthorizeResponse {
    /// The page with this random id, which waits for the outcome.
    Wait(Secret),
    Ended(ConsentOutcome),
}

/// A request to the token endpoint.
pub(crate) struct TokenRequest {
    pub(crate) params: OAuthParams,
    /// What the parameter `resource` names; `None` if there is none.
    pub(crate) resource: Option<RequestedResource>,
}

/// Dependencies of the authorization server.
pub(crate) struct AuthorizationDeps {
    pub(crate) clients: Arc<ClientRegistry>,
    pub(crate) tool_service: Arc<dyn ToolService>,
    pub(crate) documents: Arc<dyn ClientDocuments>,
    pub(crate) ask: Arc<dyn AskUser>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

pub(crate) struct AuthorizationServer {
    deps: AuthorizationDeps,
    consents: Consents,
    codes: AuthorizationCodes,
    /// One exchange at a time, so that a code or a refresh token can't be used twice at once.
    exchange: tokio::sync::Mutex<()>,
}

/// A client that asks for access, as far as it is known.
enum AskingClient {
    Known(ClientMetadata),
    Document(url::Url),
}

/// Everything about one request that doesn't depend on who the client is.
struct AccessRequest {
    client_id: String,
    /// As the client wrote it.
    redirect_text: String,
    redirect_uri: ClientRedirectUri,
    state: Option<String>,
    issuer: String,
    /// What is allowed if the user says so, or what is wrong with the request.
    wanted: Result<WantedAccess, OAuthError>,
    seen_from: Option<PeerProcess>,
    receiver: Option<PeerProcess>,
}

struct WantedAccess {
    challenge: PkceChallenge,
    server: Option<String>,
}

impl AccessRequest {
    /// Reads a request. The error is shown to the person, because there is nowhere safe to send it.
    fn read(request: AuthorizeRequest) -> Result<Self, Message> {
        let AuthorizeRequest { params, resource, issuer, seen_from, receiver } = request;
        let unreadable = |error: OAuthError| {
            message!("page.authorize.badRequest", reason = error.description.into_owned())
        };
        let client_id = params.require("client_id").map_err(unreadable)?.to_owned();
        let redirect_text = params.require("redirect_uri").map_err(unreadable)?.to_owned();
        let redirect_uri =
            ClientRedirectUri::parse(&redirect_text).ok_or_else(|| message!("page.authorize.notLoopback"))?;
        let state = params.get("state").map_err(unreadable)?.map(str::to_owned);
        let wanted = read_wanted(&params, resource);
        Ok(Self { client_id, redirect_text, redirect_uri, state, issuer, wanted, seen_from, receiver })
    }

    /// Path of the program that opened it, as far as it is known.
    fn program(&self) -> Option<&str> {
        self.seen_from.as_ref().map(|seen| seen.program.path.as_str())
    }

    /// Sends the browser to the client, with a code or an error.
    fn redirect(&self, params: &[(&str, &str)]) -> ConsentOutcome {
        let mut all = params.to_vec();
        if let Some(state) = &self.state {
            all.push(("state", state.as_str()));
        }
        all.push(("iss", self.issuer.as_str()));
        ConsentOutcome::Redirect(Secret::new(self.redirect_uri.with_params(&all)))
    }

    fn refuse(&self, error: &OAuthError) -> ConsentOutcome {
        self.redirect(&[("error", error.code), ("error_description", &*error.description)])
    }
}

fn read_wanted(params: &OAuthParams, resource: RequestedResource) -> Result<WantedAccess, OAuthError> {
    if params.require("response_type")? != "code" {
        return Err(OAuthError::new("unsupported_response_type", "response_type must be \"code\"."));
    }
    if params.get("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(OAuthError::invalid_request("response_mode must be \"query\"."));
    }
    let challenge = params.require("code_challenge")?;
    if params.get("code_challenge_method")? != Some("S256") {
        return Err(OAuthError::invalid_request("code_challenge_method must be \"S256\"."));
    }
    let challenge = PkceChallenge::parse(challenge)
        .ok_or_else(|| OAuthError::invalid_request("code_challenge is no SHA-256 in base64url."))?;
    Ok(WantedAccess { challenge, server: resource? })
}

impl AuthorizationServer {
    pub(crate) fn new(deps: AuthorizationDeps) -> Self {
        Self {
            deps,
            consents: Consents::default(),
            codes: AuthorizationCodes::default(),
            exchange: tokio::sync::Mutex::default(),
        }
    }

    /// Begins to ask the user whether a client may have access.
    pub(crate) fn authorize(self: &Arc<Self>, request: AuthorizeRequest) -> AuthorizeResponse {
        match self.try_authorize(request) {
            Ok(page) => AuthorizeResponse::Wait(page),
            Err(outcome) => AuthorizeResponse::Ended(outcome),
        }
    }

    fn try_authorize(self: &Arc<Self>, request: AuthorizeRequest) -> Result<Secret, ConsentOutcome> {
        let request = AccessRequest::read(request).map_err(ConsentOutcome::Refused)?;
        let client = match ClientIdentifier::parse(&request.client_id) {
            Some(ClientIdentifier::Registered(metadata)) => {
                check(&request, &metadata)?;
                AskingClient::Known(metadata)
            }
            Some(ClientIdentifier::Document(address)) => AskingClient::Document(address),
            None => return Err(ConsentOutcome::Refused(message!("page.authorize.unknownClient"))),
        };
        let page = token::generate().map_err(|error| request.refuse(&OAuthError::not_stored(&error)))?;
        let begun = self.consents.begin(page.reveal(), &request.client_id, request.program());
        let consent =
            begun.map_err(|TooManyConsents| ConsentOutcome::Refused(message!("page.authorize.tooMany")))?;
        let (server, own_page) = (Arc::clone(self), page.clone());
        self.deps.tasks.spawn(async move {
            let stop = server.deps.stop.clone();
            let outcome = tokio::select! {
                biased;
                () = stop.cancelled() => ConsentOutcome::Refused(message!("page.authorize.ended")),
                () = consent.superseded.cancelled() => {
                    ConsentOutcome::Refused(message!("page.authorize.superseded"))
                }
                () = consent.abandoned() => ConsentOutcome::Refused(message!("page.authorize.ended")),
                outcome = server.decide(client, request) => outcome,
            };
            let is_superseded = consent.superseded.is_cancelled();
            consent.end(outcome);
            // Nothing is kept of superseded ones, since a client can make as many as it likes.
            if !is_superseded {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(OUTCOME_LIFETIME) => {}
                }
            }
            server.consents.forget(own_page.reveal());
        });
        Ok(page)
    }

    /// Waits a little for the outcome of a request.
    pub(crate) async fn poll(&self, page: &str) -> PolledConsent {
        self.consents.poll(page).await
    }

    async fn decide(&self, client: AskingClient, request: AccessRequest) -> ConsentOutcome {
        let metadata = match client {
            AskingClient::Known(metadata) => metadata,
            AskingClient::Document(address) => match self.fetch_metadata(address, &request).await {
                Ok(metadata) => metadata,
                Err(outcome) => return outcome,
            },
        };
        let wanted = match &request.wanted {
            Ok(wanted) => wanted,
            Err(error) => return request.refuse(error),
        };
        let name = if metadata.name.is_empty() { UNNAMED.to_owned() } else { metadata.name };
        let known = self.deps.clients.oauth_client(&request.client_id);
        let access_request = ApprovalRequest::Client(ClientAccessRequest {
            says: name.clone(),
            client_id: request.client_id.clone(),
            // As it is used, not as the client wrote it: that could look like another address.
            redirect_uri: request.redirect_uri.as_str().to_owned(),
            server: wanted.server.clone(),
            known_as: known.map(|client| client.name.clone()),
            resembles: self.deps.clients.resembling(&name, &request.client_id),
            seen_from: request.seen_from.clone(),
            receiver: request.receiver.clone(),
        });
        match self.deps.ask.ask(access_request).await {
            ApprovalAnswer::Accept { .. } => {}
            ApprovalAnswer::Deny { .. } | ApprovalAnswer::Decline => {
                self.consents.record_denial(request.program());
                return request.refuse(&OAuthError::access_denied());
            }
            ApprovalAnswer::Allow { .. } | ApprovalAnswer::Cancel => {
                return request.refuse(&OAuthError::access_denied());
            }
        }
        let known = self.deps.clients.oauth_client(&request.client_id);
        let allowed = AllowedAccess {
            name,
            client_id: request.client_id.clone(),
            known: known.map(|client| client.id.clone()),
            redirect_uri: request.redirect_text.clone(),
            challenge: wanted.challenge.clone(),
            server: wanted.server.clone(),
        };
        match self.codes.issue(allowed, self.deps.clock.now()) {
            Ok(code) => request.redirect(&[("code", code.reveal())]),
            Err(error) => request.refuse(&OAuthError::not_stored(&error)),
        }
    }

    /// The metadata in the client's document, if they allow this request.
    async fn fetch_metadata(
        &self,
        address: url::Url,
        request: &AccessRequest,
    ) -> Result<ClientMetadata, ConsentOutcome> {
        let document = self.deps.documents.fetch(address.to_string()).await.map_err(|reason| {
            let reason = match reason {
                UserText::Message(reason) => MessageParam::Message(*reason),
                UserText::Plain(reason) => reason.into(),
            };
            ConsentOutcome::Refused(message!("page.authorize.noDocument", reason = reason))
        })?;
        let metadata = client_id::read_document(&document, &address).map_err(|error| {
            let reason = error.description.into_owned();
            ConsentOutcome::Refused(message!("page.authorize.badDocument", reason = reason))
        })?;
        check(request, &metadata)?;
        Ok(metadata)
    }

    /// Serves the token endpoint. Runs to its end even if the client goes away.
    pub(crate) async fn token(self: &Arc<Self>, request: TokenRequest) -> Result<IssuedTokens, OAuthError> {
        let server = Arc::clone(self);
        let done = self.deps.tasks.spawn(async move { server.try_token(request).await }).await;
        done.unwrap_or_else(|error| {
            tracing::error!(%error, "a token request ended unexpectedly");
            Err(OAuthError::new("server_error", "The request ended unexpectedly."))
        })
    }

    async fn try_token(
        &self,
        TokenRequest { params, resource }: TokenRequest,
    ) -> Result<IssuedTokens, OAuthError> {
        if params.get("client_secret")?.is_some() || params.get("client_assertion")?.is_some() {
            return Err(OAuthError::new("invalid_client", "Only public clients are served."));
        }
        let _guard = self.exchange.lock().await;
        match params.require("grant_type")? {
            "authorization_code" => self.redeem_code(&params, resource).await,
            "refresh_token" => self.refresh(&params, resource).await,
            _ => Err(OAuthError::new(
                "unsupported_grant_type",
                "grant_type must be authorization_code or refresh_token.",
            )),
        }
    }

    async fn redeem_code(
        &self,
        params: &OAuthParams,
        resource: Option<RequestedResource>,
    ) -> Result<IssuedTokens, OAuthError> {
        let client_id = params.require("client_id")?;
        let redirect_uri = params.require("redirect_uri")?;
        let verifier = params.require("code_verifier")?;
        let code = params.require("code")?;
        let unknown =
            || OAuthError::invalid_grant("The code has expired, was used before, or was never issued.");
        let allowed = match self.codes.take(code, self.deps.clock.now()) {
            TakenCode::Fresh(allowed) => allowed,
            TakenCode::Used { family } => {
                if let Some(family) = family {
                    tracing::warn!(
                        family,
                        "a code was used twice, so the tokens that came from it are revoked"
                    );
                    self.end_family(&family).await;
                }
                return Err(unknown());
            }
            TakenCode::Unknown => return Err(unknown()),
        };
        if allowed.client_id != client_id || allowed.redirect_uri != redirect_uri {
            return Err(OAuthError::invalid_grant("The code is for another client or redirect URI."));
        }
        if !allowed.challenge.is_met_by(verifier) {
            return Err(OAuthError::invalid_grant("The code_verifier does not fit the code."));
        }
        check_resource(resource, allowed.server.as_deref())?;
        let admitted =
            self.deps.clients.admit_oauth(&allowed.name, &allowed.client_id, allowed.known.as_ref()).await;
        let admitted = admitted.map_err(|error: UserError| OAuthError::not_stored(&error))?;
        let (client, is_new) = admitted.ok_or_else(unknown)?;
        if is_new {
            self.deps.tool_service.client_added(&client);
        }
        let grant = AccessGrant { client: client.id.clone(), server: allowed.server };
        let issued = self.deps.clients.oauth_tokens.issue(grant).await;
        let issued = issued.map_err(|error| OAuthError::not_stored(&error))?;
        self.codes.record_family(code, &issued.family);
        tracing::info!(client = %client.id, "a client got access by OAuth");
        Ok(issued)
    }

    async fn refresh(
        &self,
        params: &OAuthParams,
        resource: Option<RequestedResource>,
    ) -> Result<IssuedTokens, OAuthError> {
        let client_id = params.require("client_id")?;
        let unknown =
            || OAuthError::invalid_grant("The refresh token has expired, was revoked, or was never issued.");
        let tokens = &self.deps.clients.oauth_tokens;
        let family = match tokens.find_refresh(params.require("refresh_token")?).ok_or_else(unknown)? {
            RefreshToken::Current(family) => family,
            RefreshToken::Used(family) => {
                tracing::warn!(client = %family.client, "a refresh token was used twice, so its tokens are revoked");
                self.end_family(&family.id).await;
                return Err(unknown());
            }
        };
        let client = self.deps.clients.get(family.client.as_str()).ok_or_else(unknown)?;
        if !matches!(&client.access, ClientAccess::Oauth { client_id: own } if own == client_id) {
            return Err(OAuthError::invalid_grant("The refresh token is another client's."));
        }
        check_resource(resource, family.server.as_deref())?;
        let renewed = tokens.rotate(&family).await.map_err(|error| OAuthError::not_stored(&error))?;
        renewed.ok_or_else(unknown)
    }

    /// Serves the revocation endpoint: both tokens of the family end, and with them the connections of the client. That a
    /// token is not known is no error (RFC 7009).
    pub(crate) async fn revoke(self: &Arc<Self>, params: &OAuthParams) -> Result<(), OAuthError> {
        let token = params.require("token")?;
        if let Some(family) = self.deps.clients.oauth_tokens.family_of(token) {
            let server = Arc::clone(self);
            let done = self.deps.tasks.spawn(async move { server.end_family(&family.id).await }).await;
            if let Err(error) = done {
                tracing::error!(%error, "a revocation ended unexpectedly");
            }
        }
        Ok(())
    }

    async fn end_family(&self, family: &str) {
        if let Some(client) = self.deps.clients.oauth_tokens.end_family(family).await {
            self.deps.clients.reset(&client).await;
        }
    }
}

/// Checks a request against the metadata of its client.
fn check(request: &AccessRequest, metadata: &ClientMetadata) -> Result<(), ConsentOutcome> {
    if !metadata.allows(&request.redirect_uri) {
        return Err(ConsentOutcome::Refused(message!("page.authorize.otherRedirect")));
    }
    match &request.wanted {
        Ok(_) => Ok(()),
        Err(error) => Err(request.refuse(error)),
    }
}

/// Checks that the resource of a token request, if it has one, is what access was allowed for.
fn check_resource(resource: Option<RequestedResource>, allowed: Option<&str>) -> Result<(), OAuthError> {
    let Some(resource) = resource else { return Ok(()) };
    if resource?.as_deref() == allowed { Ok(()) } else { Err(OAuthError::invalid_target()) }
}
