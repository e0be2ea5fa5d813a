//! The environment of a server's process: the PATH of the user's login shell, proxy settings, the
//! few variables that programs need to work, and the variables of the server's settings (SRV-9). The
//! program itself is found by `program_resolver`.
//!
//! The rest of Gatehouse's environment is withheld: it may contain secrets that are not meant for a
//! server.

mod login_shell;
pub(crate) mod mirrors;
mod program_resolver;
mod runtimes;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_common::user_environment::{self, PROXIES};
use tokio::sync::OnceCell;

/// Variables that are passed on if set.
const INHERITED: &[&str] = &[
    "HOME",
    "LOGNAME",
    "USER",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "DOCKER_HOST",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMDATA",
    "PROCESSOR_ARCHITECTURE",
];
/// Prefixes of variables that are passed on: locale, folders, and the package managers' registries.
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_", "NPM_CONFIG_", "PIP_", "UV_"];

/// The environment of the user's login shell. Loaded once, when the first server needs it.
#[derive(Clone, Default)]
pub(crate) struct UserEnvironment {
    found: Arc<OnceCell<Arc<ProcessEnvironment>>>,
}

/// The environment that every server process gets, without the variables of its settings.
#[derive(Debug)]
pub(crate) struct ProcessEnvironment {
    variables: BTreeMap<OsString, OsString>,
    /// Where programs are searched for; also in `variables`.
    path: OsString,
    home: PathBuf,
}

impl UserEnvironment {
    /// Runs the login shell on the first call.
    pub(crate) async fn get(&self) -> Arc<ProcessEnvironment> {
        Arc::clone(
            self.found
                .get_or_init(|| async {
                    Arc::new(ProcessEnvironment::assemble(login_shell::read_environment().await))
                })
                .await,
        )
    }
}

/// Says which programs a server could be started with.
pub struct ProgramLookup(Option<Arc<ProcessEnvironment>>);

impl ProgramLookup {
    /// Without an environment nothing is found.
    pub(crate) fn new(environment: Option<Arc<ProcessEnvironment>>) -> Self {
        Self(environment)
    }

    /// Whether a program is found by its name. Looks at the disk.
    #[must_use]
    pub fn has(&self, program: &str) -> bool {
        self.0.as_ref().is_some_and(|env| env.resolve_program(program, &env.home, None).is_ok())
    }
}

impl ProcessEnvironment {
    fn assemble(shell: BTreeMap<String, OsString>) -> Self {
        let mut variables = user_environment::variables();
        variables.retain(|name, _| name.to_str().is_some_and(is_inherited));
        // Gatehouse's own proxy variables take precedence over those of the login shell.
        for name in PROXIES {
            if let Some(value) = user_environment::variable(name).or_else(|| shell.get(name).cloned()) {
                variables.insert(name.into(), value);
            }
        }
        let home = home();
        let path = program_resolver::search_path(
            shell.get("PATH").cloned().or_else(|| std::env::var_os("PATH")),
            &home,
        );
        variables.insert("PATH".into(), path.clone());
        Self { variables, path, home }
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.variables.get(OsStr::new(name)).and_then(|value| value.to_str()).map(ToOwned::to_owned)
    }

    /// The environment of a process: this, overridden by `own`.
    pub(crate) fn with_variables<'a>(
        &self,
        own: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(OsString, OsString)> {
        let mut variables = self.variables.clone();
        for (name, value) in own {
            variables.insert(name.into(), value.into());
        }
        variables.into_iter().collect()
    }
}

fn is_inherited(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    INHERITED.contains(&upper.as_str()) || INHERITED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
}

fn home() -> PathBuf {
    std::env::home_dir()
        .filter(|home| home.is_dir())
        .unwrap_or_else(|| PathBuf::from(std::path::MAIN_SEPARATOR_STR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherits_only_listed_variables() {
        for name in
            ["HOME", "LC_ALL", "npm_config_registry", "XDG_RUNTIME_DIR", "UV_INDEX_URL", "SSL_CERT_FILE"]
        {
            assert!(is_inherited(name), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GATEHOUSE_CHILD", "LD_PRELOAD", "SUDO_USER"] {
            assert!(!is_inherited(name), "{name}");
        }
    }

    #[test]
    fn proxies_come_from_the_login_shell_where_gatehouse_has_none() {
        let of = |name: &str| format!("http://{name}.example");
        let shell = PROXIES.map(|name| (name.to_owned(), OsString::from(of(name)))).into();
        let found = ProcessEnvironment::assemble(shell);
        for name in PROXIES {
            let own = user_environment::variable(name).map(|value| value.into_string().unwrap());
            assert_eq!(found.get(name), Some(own.unwrap_or_else(|| of(name))), "{name}");
        }
    }

    #[test]
    fn configured_variables_override() {
        let found = ProcessEnvironment {
            variables: BTreeMap::from([("LANG".into(), "C".into())]),
            path: "/bin".into(),
            home: "/".into(),
        };
        let env = found.with_variables([("LANG", "de_DE"), ("KEY", "v")].into_iter());
        assert_eq!(env, [("KEY".into(), "v".into()), ("LANG".into(), "de_DE".into())]);
    }
}
