//! Finds out how a server is signed in to: its own metadata says for which resource and with whom,
//! and the authorization server's says where. One candidate that does not work is no reason to give
//! up; one that lies is.

use gatehouse_model::sign_in::SignInEndpoints;
use gatehouse_model::{ErrorCode, Problem};
use url::Url;

use crate::AuthError;
use crate::address::{covers, resource};
use crate::challenge::Challenge;
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::web::{Web, WebError, host};

/// Most authorization servers of one resource that are tried.
const MOST_ISSUERS: usize = 4;

/// How a server is signed in to.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What tokens are asked for.
    pub(crate) resource: String,
    /// The scopes that the resource knows.
    pub(crate) scopes: Vec<String>,
    /// The authorization server.
    pub(crate) server: ServerMetadata,
    /// Whether the user named the endpoints, so that no document tells the issuer.
    pub(crate) by_hand: bool,
}

/// What the server itself says.
struct Resource {
    identifier: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// Asks the server and its authorization server.
pub(crate) async fn discover(web: &Web, server: &Url, challenge: &Challenge) -> Result<Found, AuthError> {
    let mut trouble = None;
    let Some(own) = ask_resource(web, server, challenge, &mut trouble).await? else {
        return without_metadata(web, server, trouble).await;
    };
    let mut issuers = own.issuers.iter().take(MOST_ISSUERS);
    let Some(first) = issuers.next() else { return without_metadata(web, server, None).await };
    let mut found = ask_issuer(web, first).await;
    for issuer in issuers {
        if found.is_ok() {
            break;
        }
        found = ask_issuer(web, issuer).await;
    }
    Ok(Found { resource: own.identifier, scopes: own.scopes, server: found?, by_hand: false })
}

/// The issuers that the server takes tokens of by now; `None` where it does not say.
pub(crate) async fn issuers(web: &Web, server: &Url, challenge: &Challenge) -> Option<Vec<String>> {
    let found = ask_resource(web, server, challenge, &mut None).await.ok().flatten()?;
    (!found.issuers.is_empty()).then_some(found.issuers)
}

/// The metadata of an authorization server, whose identifier has to be in it.
pub(crate) async fn ask_issuer(web: &Web, issuer: &str) -> Result<ServerMetadata, AuthError> {
    let base = Url::parse(issuer)
        .map_err(|_| unusable("The server names an authorization server whose address cannot be read."))?;
    web.check(&base).map_err(|error| refused(&error))?;
    find_metadata(web, &base, &[issuer.to_owned()])
        .await?
        .ok_or_else(|| unusable(&format!("{} does not say how to sign in: it has no metadata.", host(&base))))
}

/// Endpoints that the user entered.
pub(crate) fn by_hand(server: &Url, entered: &SignInEndpoints) -> Result<Found, AuthError> {
    let read = |address: &str| {
        Url::parse(address.trim()).map_err(|_| unusable("An endpoint in the settings cannot be read."))
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
    Ok(Found { resource: resource(server), scopes: Vec::new(), server: server_metadata, by_hand: true })
}

/// A server of before there was metadata of resources: its own origin is the authorization server.
async fn without_metadata(web: &Web, server: &Url, trouble: Option<WebError>) -> Result<Found, AuthError> {
    let origin = server.origin().ascii_serialization();
    let base = Url::parse(&origin).map_err(|_| unusable("The server's address cannot be read."))?;
    let issuers = [origin.clone(), format!("{origin}/")];
    let found = match web.check(&base) {
        Ok(()) => find_metadata(web, &base, &issuers).await?,
        Err(error) => return Err(refused(&error)),
    };
    match (found, trouble) {
        (Some(found), _) => {
            Ok(Found { resource: resource(server), scopes: Vec::new(), server: found, by_hand: false })
        }
        (None, Some(trouble)) => Err(refused(&trouble)),
        (None, None) => {
            Err(unusable(&format!("{} does not say how to sign in: it has no metadata.", host(&base))))
        }
    }
}

/// Asks the resource. `Ok(None)` when it has no metadata; what went wrong on the way is left behind.
async fn ask_resource(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
    trouble: &mut Option<WebError>,
) -> Result<Option<Resource>, AuthError> {
    let mut candidates: Vec<Url> = challenge.metadata.iter().cloned().collect();
    for known in [well_known(server, "oauth-protected-resource"), root(server, "oauth-protected-resource")] {
        if let Some(known) = known.filter(|known| !candidates.contains(known)) {
            candidates.push(known);
        }
    }
    for candidate in candidates {
        match web.get::<ResourceMetadata>(&candidate).await {
            Ok(found) if covers(&found.resource, server) => {
                return Ok(Some(Resource {
                    identifier: found.resource,
                    issuers: found.authorization_servers,
                    scopes: crate::challenge::scopes(&found.scopes_supported.unwrap_or_default().join(" ")),
                }));
            }
            Ok(_) => {
                return Err(unusable(
                    "The server's metadata is that of another resource. Signing in would hand your token to \
                     somebody else.",
                ));
            }
            Err(WebError::Status { status, .. }) if status < 500 && status != 429 => {}
            Err(error) => {
                tracing::debug!(%error, "metadata of a resource could not be had");
                trouble.get_or_insert(error);
            }
        }
    }
    Ok(None)
}

/// Looks for metadata in the order of the specification. What names another issuer is not used.
async fn find_metadata(
    web: &Web,
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
    let (mut trouble, mut lied) = (None, false);
    for candidate in candidates {
        match web.get::<ServerMetadata>(&candidate).await {
            Ok(found) if issuers.contains(&found.issuer) => {
                check_endpoints(web, &found)?;
                return Ok(Some(found));
            }
            Ok(_) => lied = true,
            Err(WebError::Status { status, .. }) if status < 500 && status != 429 => {}
            Err(error) => {
                tracing::debug!(%error, "metadata of an authorization server could not be had");
                trouble.get_or_insert(error);
            }
        }
    }
    if lied {
        return Err(unusable(&format!(
            "The metadata at {} is that of another authorization server. It is not trusted.",
            host(base)
        )));
    }
    trouble.map_or(Ok(None), |error| Err(refused(&error)))
}

fn check_endpoints(web: &Web, found: &ServerMetadata) -> Result<(), AuthError> {
    let endpoints = [
        &found.authorization_endpoint,
        &found.token_endpoint,
        &found.registration_endpoint,
        &found.revocation_endpoint,
    ];
    for endpoint in endpoints.into_iter().flatten() {
        web.check(endpoint).map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// The well-known address that is put before a path; `None` where there is no path.
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

/// A fault of the web as what it means for the sign-in.
pub(crate) fn refused(error: &WebError) -> AuthError {
    if error.is_temporary() {
        return AuthError::Unreachable(error.to_string());
    }
    unusable(&error.to_string())
}

/// Something that cannot be used, in a sentence.
pub(crate) fn unusable(why: &str) -> AuthError {
    AuthError::Refused(Problem::new(ErrorCode::Refused, "The sign-in did not work.").why(why))
}
