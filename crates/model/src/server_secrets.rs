//! Which fields of a transport refer to secrets, and where those secrets are sent.

use std::collections::BTreeMap;

use crate::server::Transport;

/// How a value refers to a secret.
const REFERENCE: &str = "${secret:";

/// What the names of the fields of a sign-in begin with.
const SIGN_IN: &str = "signIn/";

impl Transport {
    /// The fields whose values refer to secrets, with those values: `env/NAME`, `headers/NAME`,
    /// `signIn/secret`, `signIn/companySecret` and `signIn/key`.
    #[must_use]
    pub fn secret_references(&self) -> BTreeMap<String, &str> {
        let (place, values) = match self {
            Self::Stdio { env, .. } => ("env", env),
            Self::Auto(remote) | Self::Http(remote) | Self::Sse(remote) | Self::Ws(remote) => {
                ("headers", &remote.headers)
            }
            Self::Builtin { .. } => return BTreeMap::new(),
        };
        let fields = values.iter().map(|(name, value)| (format!("{place}/{name}"), value.as_str()));
        let sign_in = self.remote().into_iter().flat_map(|remote| remote.sign_in.secrets());
        let sign_in = sign_in.map(|(name, value)| (format!("{SIGN_IN}{name}"), value));
        fields.chain(sign_in).filter(|(_, value)| value.contains(REFERENCE)).collect()
    }

    /// Whether both would send the secret of a field to the same destination, so that a stored one may be
    /// used for either. `field` is named as by [`Transport::secret_references`].
    ///
    /// For a program that is itself with everything it is started with: arguments, folder, streams, and all
    /// variables, since any of them can load other code or name another address (`LD_PRELOAD`,
    /// `HTTPS_PROXY`, `API_URL`). A header goes to the URL. A secret of the sign-in goes to the token
    /// endpoint, which is found through the URL, the endpoints and the method with its issuer.
    #[must_use]
    pub fn has_same_secret_destination(&self, other: &Self, field: &str) -> bool {
        if let Self::Stdio { .. } = self {
            return self == other;
        }
        // A built-in server has no field that could refer to a secret.
        let (Some(from), Some(to)) = (self.remote(), other.remote()) else { return false };
        let is_sign_in = field.starts_with(SIGN_IN);
        self.has_same_recipient(other) && (!is_sign_in || from.sign_in.has_same_token_endpoint(&to.sign_in))
    }

    /// Whether both start the same program, with the same arguments in the same folder, or have the same URL: a credential
    /// that is written into the settings in plain text stays only then in an edit that doesn't show it. Variables may
    /// change, unlike for stored secrets: programs have them beside credentials all the time, and the edit shows them.
    #[must_use]
    pub fn has_same_recipient(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Stdio { command, args, cwd, .. },
                Self::Stdio { command: other_command, args: other_args, cwd: other_cwd, .. },
            ) => command == other_command && args == other_args && cwd == other_cwd,
            _ => match (self.remote(), other.remote()) {
                (Some(from), Some(to)) => self.kind() == other.kind() && from.url == to.url,
                _ => false,
            },
        }
    }

    /// Whether the stored secret of a field stays in use when a server that was reached as `before` is
    /// reached as `self`: the field refers to the same secret, which goes to the same destination.
    #[must_use]
    pub fn keeps_secret(&self, before: &Self, field: &str) -> bool {
        before.has_same_secret_destination(self, field)
            && before.secret_references().get(field) == self.secret_references().get(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Builtin, Remote, StdioStreams};
    use crate::sign_in::{RegisteredClient, SignInEndpoints, SignInMethod, SignInSettings};

    fn stdio(command: &str, args: &[&str], cwd: Option<&str>, env: &[(&str, &str)]) -> Transport {
        Transport::Stdio {
            command: command.into(),
            args: args.iter().map(|&arg| arg.into()).collect(),
            env: env.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
            cwd: cwd.map(Into::into),
            streams: StdioStreams::default(),
        }
    }

    #[test]
    fn secrets_stay_with_program_and_all_that_it_is_started_with() {
        let key = ("KEY", "${secret:KEY}");
        let program = stdio("a", &["x"], None, &[key, ("PLAIN", "1")]);
        let mut piped = program.clone();
        if let Transport::Stdio { streams, .. } = &mut piped {
            *streams = StdioStreams::Pipes;
        }
        for (after, same) in [
            (program.clone(), true),
            (stdio("b", &["x"], None, &[key, ("PLAIN", "1")]), false),
            (stdio("a", &["y"], None, &[key, ("PLAIN", "1")]), false),
            (stdio("a", &["x"], Some("/tmp"), &[key, ("PLAIN", "1")]), false),
            (piped, false),
            (stdio("a", &["x"], None, &[key, ("PLAIN", "2")]), false),
            (stdio("a", &["x"], None, &[key]), false),
            (stdio("a", &["x"], None, &[key, ("PLAIN", "1"), ("LD_PRELOAD", "/tmp/evil.so")]), false),
            (stdio("a", &["x"], None, &[key, ("PLAIN", "1"), ("LD_PRELOAD", "${secret:evil}")]), false),
            (Transport::Http(Remote::at("https://a.example/mcp")), false),
        ] {
            assert_eq!(program.has_same_secret_destination(&after, "env/KEY"), same, "{after:?}");
        }
    }

    #[test]
    fn credentials_in_plain_text_stay_with_program_or_address() {
        let key = ("KEY", "1");
        let program = stdio("a", &["x"], Some("/srv"), &[key]);
        let here = Remote::at("https://a.example/mcp");
        for (before, after, same) in [
            (program.clone(), stdio("a", &["x"], Some("/srv"), &[key, ("MODE", "fast")]), true),
            (program.clone(), stdio("b", &["x"], Some("/srv"), &[key]), false),
            (program.clone(), stdio("a", &["y"], Some("/srv"), &[key]), false),
            (program.clone(), stdio("a", &["x", "y"], Some("/srv"), &[key]), false),
            (program.clone(), stdio("a", &["x"], None, &[key]), false),
            (program, Transport::Http(here.clone()), false),
            (Transport::Http(here.clone()), Transport::Http(here.clone()), true),
            (Transport::Http(here.clone()), Transport::Sse(here.clone()), false),
            (Transport::Http(here.clone()), Transport::Http(Remote::at("https://b.example/mcp")), false),
            (Transport::Http(here), Transport::Builtin { builtin: Builtin::Time }, false),
        ] {
            assert_eq!(before.has_same_recipient(&after), same, "{before:?} {after:?}");
        }
    }

    #[test]
    fn secrets_stay_with_address_and_those_of_sign_in_with_token_endpoint() {
        let remote = |url: &str, sign_in: &SignInSettings| Remote {
            sign_in: sign_in.clone(),
            headers: [("X-Key".to_owned(), "${secret:X-Key}".to_owned())].into(),
            ..Remote::at(url)
        };
        let endpoints = |token: &str| {
            Some(SignInEndpoints {
                authorize: "https://a.example/authorize".into(),
                token: token.into(),
                revoke: None,
            })
        };
        let enterprise = |issuer: &str, secret: &str| SignInMethod::Enterprise {
            issuer: issuer.into(),
            client: "c".into(),
            secret: Some(secret.into()),
        };
        let client = |secret: &str| {
            Some(RegisteredClient { id: "c".into(), secret: Some(secret.into()), method: None })
        };
        let sign_in = SignInSettings {
            client: client("${secret:client}"),
            endpoints: endpoints("https://a.example/token"),
            with: enterprise("https://i.example", "${secret:company}"),
            ..SignInSettings::default()
        };
        let here = "https://a.example/mcp";
        let before = Transport::Http(remote(here, &sign_in));
        let with = |sign_in: SignInSettings| Transport::Http(remote(here, &sign_in));
        let more_headers =
            Remote { headers: [("X-More".to_owned(), "1".to_owned())].into(), ..remote(here, &sign_in) };
        for (after, header, of_sign_in) in [
            (before.clone(), true, true),
            (Transport::Http(more_headers), true, true),
            (Transport::Http(remote("https://b.example/mcp", &sign_in)), false, false),
            (Transport::Sse(remote(here, &sign_in)), false, false),
            (stdio("a", &[], None, &[]), false, false),
            (
                with(SignInSettings { endpoints: endpoints("https://b.example/token"), ..sign_in.clone() }),
                true,
                false,
            ),
            (with(SignInSettings { endpoints: None, ..sign_in.clone() }), true, false),
            (
                with(SignInSettings {
                    with: enterprise("https://evil.example", "${secret:company}"),
                    ..sign_in.clone()
                }),
                true,
                false,
            ),
            (with(SignInSettings { with: SignInMethod::Browser, ..sign_in.clone() }), true, false),
            (with(SignInSettings { with: SignInMethod::ClientSecret, ..sign_in.clone() }), true, false),
            // Other secrets, scopes or a redirect change nothing of where a secret is sent.
            (
                with(SignInSettings {
                    client: client("${secret:other}"),
                    with: enterprise("https://i.example", "${secret:other}"),
                    scopes: vec!["files:read".into()],
                    redirect: Some("http://127.0.0.1:8976/callback".into()),
                    ..sign_in.clone()
                }),
                true,
                true,
            ),
        ] {
            assert_eq!(before.has_same_secret_destination(&after, "headers/X-Key"), header, "{after:?}");
            for field in ["signIn/secret", "signIn/companySecret", "signIn/key"] {
                assert_eq!(
                    before.has_same_secret_destination(&after, field),
                    of_sign_in,
                    "{field} {after:?}"
                );
            }
        }
        for (one, other) in [
            (Transport::Auto(remote(here, &sign_in)), Transport::Auto(remote(here, &sign_in))),
            (Transport::Sse(remote(here, &sign_in)), Transport::Sse(remote(here, &sign_in))),
            (Transport::Ws(remote(here, &sign_in)), Transport::Ws(remote(here, &sign_in))),
        ] {
            assert!(one.has_same_secret_destination(&other, "headers/X-Key"), "{one:?}");
        }
        let time = Transport::Builtin { builtin: Builtin::Time };
        assert!(!time.has_same_secret_destination(&time, "env/KEY"));
    }
}
