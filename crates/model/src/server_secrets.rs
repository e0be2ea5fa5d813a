//! Which fields of a transport refer to secrets, and where those secrets are sent.

use std::collections::BTreeMap;

use crate::server::Transport;

/// How a value refers to a secret.
const REFERENCE: &str = "${secret:";

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
        let sign_in = sign_in.map(|(name, value)| (format!("signIn/{name}"), value));
        fields.chain(sign_in).filter(|(_, value)| value.contains(REFERENCE)).collect()
    }

    /// Whether both send their secrets to the same destination: the same program with the same arguments
    /// in the same folder, or the same kind of transport with the same URL.
    #[must_use]
    pub fn has_same_secret_destination(&self, other: &Self) -> bool {
        match self {
            Self::Stdio { command, args, cwd, env: _, streams: _ } => {
                matches!(other, Self::Stdio { command: c, args: a, cwd: d, .. } if (c, a, d) == (command, args, cwd))
            }
            Self::Auto(remote) => matches!(other, Self::Auto(to) if to.url == remote.url),
            Self::Http(remote) => matches!(other, Self::Http(to) if to.url == remote.url),
            Self::Sse(remote) => matches!(other, Self::Sse(to) if to.url == remote.url),
            Self::Ws(remote) => matches!(other, Self::Ws(to) if to.url == remote.url),
            // It has no field that could refer to one.
            Self::Builtin { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Builtin, Remote};

    #[test]
    fn secrets_stay_with_program_and_address() {
        let stdio =
            |command: &str, args: &[&str], cwd: Option<&str>, env: &[(&str, &str)]| Transport::Stdio {
                command: command.into(),
                args: args.iter().map(|&arg| arg.into()).collect(),
                env: env.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
                cwd: cwd.map(Into::into),
                streams: Default::default(),
            };
        let remote = || Remote::at("https://a.example/mcp");
        let headers = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let program = stdio("a", &["x"], None, &[]);
        for (before, after, same) in [
            (&program, stdio("a", &["x"], None, &[("MORE", "1")]), true),
            (&program, stdio("b", &["x"], None, &[]), false),
            (&program, stdio("a", &["y"], None, &[]), false),
            (&program, stdio("a", &["x"], Some("/tmp"), &[]), false),
            (&program, Transport::Http(remote()), false),
            (&Transport::Http(remote()), Transport::Http(Remote { headers, ..remote() }), true),
            (&Transport::Http(remote()), Transport::Http(Remote::at("https://b.example/mcp")), false),
            (&Transport::Http(remote()), Transport::Sse(remote()), false),
            (&Transport::Auto(remote()), Transport::Auto(remote()), true),
            (&Transport::Sse(remote()), Transport::Sse(remote()), true),
            (&Transport::Ws(remote()), Transport::Ws(remote()), true),
            (
                &Transport::Builtin { builtin: Builtin::Time },
                Transport::Builtin { builtin: Builtin::Time },
                false,
            ),
        ] {
            assert_eq!(before.has_same_secret_destination(&after), same, "{before:?} {after:?}");
        }
    }
}
