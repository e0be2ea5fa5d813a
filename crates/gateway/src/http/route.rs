//! The paths that the gateway serves. A path that isn't one of them is not found; none is corrected, decoded twice
//! or compared loosely, so that no two programs can read one path as two servers.

use hyper::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::rest::endpoint::RestEndpoint;

/// The path of the endpoint for all servers.
pub(crate) const ALL_SERVERS: &str = "/mcp";

/// The same for clients that speak only HTTP+SSE.
pub(crate) const ALL_SERVERS_SSE: &str = "/sse";

/// The path of the endpoint for one server. `NAME` stands for its percent-encoded name.
pub(crate) const ONE_SERVER: &str = "/servers/NAME/mcp";

/// A path, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The name of the only server that the path is for.
    pub(crate) server: Option<String>,
    pub(crate) transport: RouteTransport,
}

/// What a path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteTransport {
    /// Streamable HTTP: `mcp`
    StreamableHttp,
    /// The event stream of HTTP+SSE (2024-11-05): `sse`
    SseStream,
    /// The messages of HTTP+SSE: `messages`
    SseMessages,
    /// The REST tool API, which is only for all servers: `v1/…`
    Rest(RestEndpoint),
}

/// What stays as it is in the name of a server in a path.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Route {
    /// The endpoint for all servers.
    pub(crate) fn all_servers() -> Self {
        Self { server: None, transport: RouteTransport::StreamableHttp }
    }

    /// Takes a path apart. One slash at its end is accepted.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let inside = path.strip_prefix('/')?;
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let (server, last) = match inside.strip_prefix("servers/") {
            None => (None, inside),
            Some(rest) => {
                let (name, last) = rest.split_once('/')?;
                (Some(decode(name)?), last)
            }
        };
        let transport = match last {
            "mcp" => RouteTransport::StreamableHttp,
            "sse" => RouteTransport::SseStream,
            "messages" => RouteTransport::SseMessages,
            other => RouteTransport::Rest(RestEndpoint::at(other).filter(|_| server.is_none())?),
        };
        Some(Self { server, transport })
    }
}

/// The path of a route, in its normal spelling.
pub(crate) fn path_of(Route { server, transport }: &Route) -> String {
    let last = match transport {
        RouteTransport::StreamableHttp => "mcp",
        RouteTransport::SseStream => "sse",
        RouteTransport::SseMessages => "messages",
        RouteTransport::Rest(endpoint) => endpoint.path(),
    };
    match server {
        None => format!("/{last}"),
        Some(name) => format!("/servers/{}/{last}", utf8_percent_encode(name, NAME)),
    }
}

/// Decodes one segment once; `None` if an escape is incomplete or the result isn't UTF-8.
fn decode(segment: &str) -> Option<String> {
    let is_escape = |digits: &str| {
        digits.get(..2).is_some_and(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    if !segment.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(segment).decode_utf8().ok().map(Into::into)
}

/// The path to which a client of HTTP+SSE posts its messages, for the path of its stream.
pub(crate) fn messages_path(stream_path: &str) -> String {
    let stream_path = stream_path.strip_suffix('/').unwrap_or(stream_path);
    format!("{}messages", stream_path.strip_suffix("sse").unwrap_or(stream_path))
}

/// The session that a message of HTTP+SSE is for: `sessionId` in the query.
pub(crate) fn session_id(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_paths_apart() {
        use RouteTransport::{Rest, SseMessages, SseStream, StreamableHttp};
        for (path, server, transport) in [
            ("/mcp", None, StreamableHttp),
            ("/mcp/", None, StreamableHttp),
            ("/sse", None, SseStream),
            ("/messages", None, SseMessages),
            ("/v1/tools", None, Rest(RestEndpoint::Tools)),
            ("/v1/tools/", None, Rest(RestEndpoint::Tools)),
            ("/v1/tools/call", None, Rest(RestEndpoint::ToolCall)),
            ("/v1/openapi.json", None, Rest(RestEndpoint::OpenApi)),
            ("/servers/files/mcp", Some("files"), StreamableHttp),
            ("/servers/files/mcp/", Some("files"), StreamableHttp),
            ("/servers/files/sse", Some("files"), SseStream),
            ("/servers/files/messages", Some("files"), SseMessages),
            ("/servers/my%20files/mcp", Some("my files"), StreamableHttp),
            ("/servers/%E6%96%87/mcp", Some("文"), StreamableHttp),
            // Decoded once: these are names, which no server has.
            ("/servers/a%252Fb/mcp", Some("a%2Fb"), StreamableHttp),
            ("/servers/a%2fb/mcp", Some("a/b"), StreamableHttp),
            ("/servers/../mcp", Some(".."), StreamableHttp),
            ("/servers/%2e%2e/mcp", Some(".."), StreamableHttp),
            ("/servers/files%00/mcp", Some("files\0"), StreamableHttp),
            ("/servers//mcp", Some(""), StreamableHttp),
        ] {
            let route = Route { server: server.map(str::to_owned), transport };
            assert_eq!(Route::parse(path).as_ref(), Some(&route), "{path}");
            assert_eq!(Route::parse(&path_of(&route)), Some(route), "{path}");
        }
    }

    #[test]
    fn knows_no_other_path() {
        for path in [
            "",
            "/",
            "mcp",
            "//mcp",
            "/mcp//",
            "/MCP",
            "/mcp/x",
            "/%6dcp",
            "/servers",
            "/servers/",
            "/servers/mcp",
            "/servers/files",
            "/servers/files/",
            "/servers/files/MCP",
            "/Servers/files/mcp",
            "/servers/files/x/mcp",
            "/servers/a/../b/mcp",
            "/servers/files/mcp/../../mcp",
            "/servers/%/mcp",
            "/servers/%zz/mcp",
            "/servers/a%2/mcp",
            "/v1",
            "/v1/",
            "/v1/tools/calls",
            "/v1/tools//call",
            "/V1/tools",
            "/v1/%74ools",
            "/servers/files/v1/tools",
            "/servers/%ff/mcp",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }

    #[test]
    fn names_path_for_messages() {
        assert_eq!(messages_path("/sse"), "/messages");
        assert_eq!(messages_path("/sse/"), "/messages");
        assert_eq!(messages_path("/servers/a%20b/sse"), "/servers/a%20b/messages");
    }
}
