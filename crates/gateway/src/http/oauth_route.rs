//! The paths of the authorization server, where clients of the MCP revisions with authorization look for them.

use crate::http::route::{self, Route, RouteTransport};

/// Metadata of a protected resource (RFC 9728); the path of an endpoint may follow.
pub(crate) const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Metadata of the authorization server (RFC 8414).
const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";

pub(crate) const AUTHORIZE: &str = "/oauth/authorize";
pub(crate) const WAIT: &str = "/oauth/wait";
pub(crate) const TOKEN: &str = "/oauth/token";
pub(crate) const REGISTER: &str = "/oauth/register";
pub(crate) const REVOKE: &str = "/oauth/revoke";

/// What a path of the authorization server is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OAuthRoute {
    /// Metadata of this endpoint.
    ProtectedResource(Route),
    AuthorizationServer,
    Authorize,
    /// The page that waits for the user's answer.
    Wait,
    Token,
    Register,
    Revoke,
    /// A well-known address that isn't served. Clients try several, so it isn't answered like a wrong path.
    UnknownMetadata,
}

impl OAuthRoute {
    /// Takes a path apart; `None` if it is no path of the authorization server.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        match path {
            AUTHORIZE => return Some(Self::Authorize),
            WAIT => return Some(Self::Wait),
            TOKEN => return Some(Self::Token),
            REGISTER => return Some(Self::Register),
            REVOKE => return Some(Self::Revoke),
            AUTHORIZATION_SERVER => return Some(Self::AuthorizationServer),
            PROTECTED_RESOURCE => return Some(Self::ProtectedResource(Route::all_servers())),
            _ => {}
        }
        if let Some(endpoint) = path.strip_prefix(PROTECTED_RESOURCE)
            && let Some(route) = endpoint_route(endpoint)
        {
            return Some(Self::ProtectedResource(route));
        }
        path.starts_with("/.well-known/").then_some(Self::UnknownMetadata)
    }
}

/// The endpoint that a path is for. What is posted for an event stream is no endpoint of its own, and the REST tool API is
/// one with that for all servers.
pub(crate) fn endpoint_route(path: &str) -> Option<Route> {
    match Route::parse(path)? {
        Route { transport: RouteTransport::SseMessages | RouteTransport::Rest(_), .. } => None,
        route => Some(route),
    }
}

/// The address of the metadata of an endpoint.
pub(crate) fn metadata_address(origin: &str, path: &str) -> String {
    let route = endpoint_route(path).unwrap_or_else(Route::all_servers);
    format!("{origin}{PROTECTED_RESOURCE}{}", route::path_of(&route))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_paths_of_authorization_server() {
        let one =
            |server: &str| Route { server: Some(server.into()), transport: RouteTransport::StreamableHttp };
        let sse = Route { server: None, transport: RouteTransport::SseStream };
        for (path, expected) in [
            (
                "/.well-known/oauth-protected-resource",
                Some(OAuthRoute::ProtectedResource(Route::all_servers())),
            ),
            (
                "/.well-known/oauth-protected-resource/mcp",
                Some(OAuthRoute::ProtectedResource(Route::all_servers())),
            ),
            ("/.well-known/oauth-protected-resource/sse", Some(OAuthRoute::ProtectedResource(sse))),
            (
                "/.well-known/oauth-protected-resource/servers/my%20files/mcp",
                Some(OAuthRoute::ProtectedResource(one("my files"))),
            ),
            ("/.well-known/oauth-protected-resource/messages", Some(OAuthRoute::UnknownMetadata)),
            ("/.well-known/oauth-protected-resource/other", Some(OAuthRoute::UnknownMetadata)),
            ("/.well-known/oauth-authorization-server", Some(OAuthRoute::AuthorizationServer)),
            ("/.well-known/oauth-authorization-server/mcp", Some(OAuthRoute::UnknownMetadata)),
            ("/.well-known/openid-configuration", Some(OAuthRoute::UnknownMetadata)),
            ("/oauth/authorize", Some(OAuthRoute::Authorize)),
            ("/oauth/wait", Some(OAuthRoute::Wait)),
            ("/oauth/token", Some(OAuthRoute::Token)),
            ("/oauth/register", Some(OAuthRoute::Register)),
            ("/oauth/revoke", Some(OAuthRoute::Revoke)),
            ("/oauth/token/", None),
            ("/oauth", None),
            ("/authorize", None),
            ("/mcp", None),
            ("/", None),
        ] {
            assert_eq!(OAuthRoute::parse(path), expected, "{path}");
        }
    }

    #[test]
    fn names_metadata_of_endpoint() {
        for (path, metadata) in [
            ("/mcp", "/mcp"),
            ("/mcp/", "/mcp"),
            ("/sse", "/sse"),
            ("/messages", "/mcp"),
            ("/other", "/mcp"),
            ("/v1/tools", "/mcp"),
            ("/servers/a%22b%20c/mcp", "/servers/a%22b%20c/mcp"),
            ("/servers/a\"b/mcp", "/servers/a%22b/mcp"),
            ("/servers/time/sse", "/servers/time/sse"),
        ] {
            let expected = format!("http://h{PROTECTED_RESOURCE}{metadata}");
            assert_eq!(metadata_address("http://h", path), expected, "{path}");
        }
    }
}
