//! Redirect URIs: where the browser takes a code. Only programs on this computer get one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Maximum length, in bytes.
const MAX_BYTES: usize = 1024;

/// A redirect URI on loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientRedirectUri(Url);

impl ClientRedirectUri {
    /// Parses an address; `None` unless it is http on a loopback address or `localhost`, without a fragment or a user.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_BYTES)?;
        let is_loopback = match url.host()? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address == Ipv4Addr::LOCALHOST,
            Host::Ipv6(address) => address == Ipv6Addr::LOCALHOST,
        };
        let is_plain = url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
        (is_loopback && is_plain && url.scheme() == "http").then_some(Self(url))
    }

    /// Whether this is a registered address, on any port: a program may get another one each time it listens
    /// (RFC 8252).
    pub(crate) fn is_covered_by(&self, registered: &Self) -> bool {
        let parts = |url: &Url| {
            (url.host_str().map(str::to_owned), url.path().to_owned(), url.query().map(str::to_owned))
        };
        parts(&self.0) == parts(&registered.0)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Where the receiver of the code listens: its address, unless it is `localhost`, and its port.
    pub(crate) fn target(&self) -> Option<(Option<IpAddr>, u16)> {
        let ip = match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
        };
        Some((ip, self.0.port_or_known_default()?))
    }

    /// The address with more parameters.
    pub(crate) fn with_params(&self, params: &[(&str, &str)]) -> String {
        let mut url = self.0.clone();
        url.query_pairs_mut().extend_pairs(params);
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_over_http() {
        for (text, valid) in [
            ("http://127.0.0.1/", true),
            ("http://127.0.0.1:33418/callback?a=b", true),
            ("http://localhost:6274/oauth/callback", true),
            ("http://LOCALHOST/cb", true),
            ("http://[::1]:1/cb", true),
            ("https://localhost/cb", false),
            ("http://127.0.0.2/", false),
            ("http://localhost./", false),
            ("http://x.localhost/", false),
            ("http://localhost.evil.example/", false),
            ("http://localhost@evil.example/", false),
            ("http://user@localhost/", false),
            ("http://localhost/#part", false),
            ("https://vscode.dev/redirect", false),
            ("cursor://anysphere/callback", false),
            ("javascript:alert(1)", false),
            ("/callback", false),
            ("", false),
        ] {
            assert_eq!(ClientRedirectUri::parse(text).is_some(), valid, "{text}");
        }
    }

    #[test]
    fn any_port_of_registered_address() {
        let uri = |text| ClientRedirectUri::parse(text).unwrap();
        let registered = uri("http://127.0.0.1:80/callback?a=1");
        for (asked, covered) in [
            ("http://127.0.0.1:80/callback?a=1", true),
            ("http://127.0.0.1:51234/callback?a=1", true),
            ("http://localhost:51234/callback?a=1", false),
            ("http://127.0.0.1:51234/other?a=1", false),
            ("http://127.0.0.1:51234/callback", false),
            ("http://127.0.0.1:51234/callback?a=1&b=2", false),
        ] {
            assert_eq!(uri(asked).is_covered_by(&registered), covered, "{asked}");
        }
    }

    #[test]
    fn adds_parameters_to_those_that_are_there() {
        let uri = ClientRedirectUri::parse("http://localhost:1/cb?keep=1").unwrap();
        assert_eq!(
            uri.with_params(&[("code", "a b"), ("state", "x&y")]),
            "http://localhost:1/cb?keep=1&code=a+b&state=x%26y"
        );
    }
}
