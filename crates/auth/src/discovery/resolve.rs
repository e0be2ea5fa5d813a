//! Discovery: the server's protected-resource metadata (RFC 9728) names the resource and its authorization
//! servers, whose metadata (RFC 8414, OpenID Connect Discovery) names the endpoints. A candidate URL that
//! doesn't work is skipped; metadata for another resource or issuer is an error.

use gatehouse_model::message;
use gatehouse_model::sign_in::SignInEndpoints;
use url::Url;

use super::metadata::{ResourceMetadata, ServerMetadata};
use super::resource_identifier::{covers, resource};
use super::www_authenticate::{self, Challenge};
use crate::error::{AuthError, unusable};
use crate::http_client::{AuthHttpClient, HttpError, host};

/// Maximum number of authorization servers tried per resource.
const MAX_ISSUERS: usize = 4;

/// How to sign in to a server.
#[derive(Clone, Debug)]
pub(crate) struct DiscoveredServer {
    /// The resource identifier for token requests.
    pub(crate) resource: String,
    /// The scopes that the resource supports.
    pub(crate) scopes: Vec<String>,
    pub(crate) server: ServerMetadata,
    /// Whether the user entered the endpoints, so that no metadata document confirms the issuer.
    pub(crate) is_from_settings: bool,
}

/// Result of the protected-resource metadata.
struct ProtectedResource {
    identifier: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// Determines how to sign in to a server: from the endpoints that the user entered, otherwise by discovery.
pub(crate) async fn find(
    web: &AuthHttpClient,
    server: &Url,
    entered: Option<&SignInEndpoints>,
    challenge: &Challenge,
) -> Result<DiscoveredServer, AuthError> {
    match entered {
        Some(entered) => from_settings(server, entered),
        None => discover(web, server, challenge).await,
    }
}

/// The authorization endpoint, if the server is safe to use: it must support PKCE with S256, have allowed
/// URLs, and have a token endpoint.
pub(crate) fn authorize_endpoint<'a>(
    web: &AuthHttpClient,
    server: &'a ServerMetadata,
) -> Result<&'a Url, AuthError> {
    if !server.has_s256() {
        return Err(unusable(message!("error.auth.cause.noPkce")));
    }
    let endpoint = server.authorization_endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| unusable(message!("error.auth.cause.noPage")))?;
    web.check(endpoint)?;
    token_endpoint(server)?;
    Ok(endpoint)
}

pub(crate) fn token_endpoint(server: &ServerMetadata) -> Result<&Url, AuthError> {
    server.token_endpoint.as_ref().ok_or_else(|| unusable(message!("error.auth.cause.noTokenEndpoint")))
}

async fn discover(
    web: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
) -> Result<DiscoveredServer, AuthError> {
    let mut first_error = None;
    let Some(own) = fetch_resource_metadata(web, server, challenge, &mut first_error).await? else {
        return discover_from_origin(web, server, first_error).await;
    };
    let mut issuers = own.issuers.iter().take(MAX_ISSUERS);
    let Some(first) = issuers.next() else { return discover_from_origin(web, server, None).await };
    let mut found = fetch_server_metadata(web, first).await;
    for issuer in issuers {
        if found.is_ok() {
            break;
        }
        found = fetch_server_metadata(web, issuer).await;
    }
    Ok(DiscoveredServer {
        resource: own.identifier,
        scopes: own.scopes,
        server: found?,
        is_from_settings: false,
    })
}

/// The issuers that the server currently accepts tokens from; `None` if it doesn't say.
pub(crate) async fn issuers(
    web: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
) -> Option<Vec<String>> {
    let found = fetch_resource_metadata(web, server, challenge, &mut None).await.ok().flatten()?;
    (!found.issuers.is_empty()).then_some(found.issuers)
}

/// Fetches the metadata of an authorization server. Its `issuer` must be identical to the given one (RFC 8414
/// section 3.3).
pub(crate) async fn fetch_server_metadata(
    web: &AuthHttpClient,
    issuer: &str,
) -> Result<ServerMetadata, AuthError> {
    let base = Url::parse(issuer).map_err(|_| unusable(message!("error.auth.cause.badIssuer")))?;
    web.check(&base)?;
    find_metadata(web, &base, &[issuer.to_owned()])
        .await?
        .ok_or_else(|| unusable(message!("error.auth.cause.noMetadata", host = host(&base))))
}

/// Uses endpoints that the user entered.
fn from_settings(server: &Url, entered: &SignInEndpoints) -> Result<DiscoveredServer, AuthError> {
    let read = |address: &str| {
        Url::parse(address.trim()).map_err(|_| unusable(message!("error.auth.cause.badEndpoint")))
    };
    let authorize = read(&entered.authorize)?;
    let server_metadata = ServerMetadata {
        issuer: authorize.origin().ascii_serialization(),
        token_endpoint: Some(read(&entered.token)?),
        revocation_endpoint: entered.revoke.as_deref().map(read).transpose()?,
        authorization_endpoint: Some(authorize),
        registration_endpoint: None,
        scopes_supported: None,
        grant_types_supported: None,
        token_endpoint_auth_methods_supported: None,
        code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
        authorization_response_iss_parameter_supported: None,
        client_id_metadata_document_supported: None,
    };
    Ok(DiscoveredServer {
        resource: resource(server),
        scopes: Vec::new(),
        server: server_metadata,
        is_from_settings: true,
    })
}

/// Fallback for servers without protected-resource metadata (MCP before 2025-06-18): the server's own origin
/// is the authorization server.
async fn discover_from_origin(
    web: &AuthHttpClient,
    server: &Url,
    first_error: Option<HttpError>,
) -> Result<DiscoveredServer, AuthError> {
    let origin = server.origin().ascii_serialization();
    let base = Url::parse(&origin).map_err(|_| unusable(message!("error.auth.cause.badServerAddress")))?;
    let issuers = [origin.clone(), format!("{origin}/")];
    web.check(&base)?;
    let found = find_metadata(web, &base, &issuers).await?;
    match (found, first_error) {
        (Some(found), _) => Ok(DiscoveredServer {
            resource: resource(server),
            scopes: Vec::new(),
            server: found,
            is_from_settings: false,
        }),
        (None, Some(first_error)) => Err(first_error.into()),
        (None, None) => Err(unusable(message!("error.auth.cause.noMetadata", host = host(&base)))),
    }
}

/// Fetches the protected-resource metadata. `Ok(None)` if there is none; the first network error on the way
/// is stored in `first_error`.
async fn fetch_resource_metadata(
    web: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
    first_error: &mut Option<HttpError>,
) -> Result<Option<ProtectedResource>, AuthError> {
    let mut candidates: Vec<Url> = challenge.metadata.iter().cloned().collect();
    for known in [well_known(server, "oauth-protected-resource"), root(server, "oauth-protected-resource")] {
        if let Some(known) = known.filter(|known| !candidates.contains(known)) {
            candidates.push(known);
        }
    }
    for candidate in candidates {
        match web.get::<ResourceMetadata>(&candidate).await {
            Ok(found) if covers(&found.resource, server) => {
                return Ok(Some(ProtectedResource {
                    identifier: found.resource,
                    issuers: found.authorization_servers,
                    scopes: www_authenticate::scopes(&found.scopes_supported.unwrap_or_default().join(" ")),
                }));
            }
            Ok(_) => {
                return Err(unusable(message!("error.auth.cause.otherResource")));
            }
            Err(HttpError::Status { status, .. }) if status < 500 && status != 429 => {}
            Err(error) => {
                tracing::debug!(%error, "metadata of a resource could not be had");
                first_error.get_or_insert(error);
            }
        }
    }
    Ok(None)
}

/// Tries the well-known locations in the order of the specification. Metadata that names another issuer isn't
/// used; if no other is found, that is an error.
async fn find_metadata(
    web: &AuthHttpClient,
    base: &Url,
    issuers: &[String],
) -> Result<Option<ServerMetadata>, AuthError> {
    let mut candidates = Vec::new();
    candidates.extend(well_known(base, "oauth-authorization-server"));
    candidates.extend(well_known(base, "openid-configuration"));
    if base.path().trim_end_matches('/').is_empty() {
        candidates.extend(
            [root(base, "oauth-authorization-server"), root(base, "openid-configuration")]
                .into_iter()
                .flatten(),
        );
    } else {
        let mut appended = base.clone();
        appended.set_path(&format!("{}/.well-known/openid-configuration", base.path().trim_end_matches('/')));
        candidates.push(appended);
    }
    let (mut first_error, mut is_mismatched) = (None, false);
    for candidate in candidates {
        match web.get::<ServerMetadata>(&candidate).await {
            Ok(found) if issuers.contains(&found.issuer) => {
                check_endpoints(web, &found)?;
                return Ok(Some(found));
            }
            Ok(_) => is_mismatched = true,
            Err(HttpError::Status { status, .. }) if status < 500 && status != 429 => {}
            Err(error) => {
                tracing::debug!(%error, "metadata of an authorization server could not be had");
                first_error.get_or_insert(error);
            }
        }
    }
    if is_mismatched {
        return Err(unusable(message!("error.auth.cause.otherIssuer", host = host(base))));
    }
    first_error.map_or(Ok(None), |error| Err(AuthError::from(error)))
}

fn check_endpoints(web: &AuthHttpClient, found: &ServerMetadata) -> Result<(), AuthError> {
    let endpoints = [
        &found.authorization_endpoint,
        &found.token_endpoint,
        &found.registration_endpoint,
        &found.revocation_endpoint,
    ];
    for endpoint in endpoints.into_iter().flatten() {
        web.check(endpoint)?;
    }
    Ok(())
}

/// The well-known URL with the path inserted after it (RFC 8414 section 3.1); `None` if there is no path.
fn well_known(url: &Url, name: &str) -> Option<Url> {
    let path = url.path().trim_end_matches('/');
    if path.is_empty() {
        return None;
    }
    let mut known = url.clone();
    known.set_path(&format!("/.well-known/{name}{path}"));
    Some(known)
}

fn root(url: &Url, name: &str) -> Option<Url> {
    url.join(&format!("/.well-known/{name}")).ok()
}
