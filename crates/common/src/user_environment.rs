//! The environment as the user gave it to Gatehouse.
//!
//! The window's process runs with an allowlist of variables, since the libraries in it read others to
//! load code (PERM-16). The withheld variables are kept under names that mean nothing to a library, so
//! that servers and their settings can still use them (SRV-9). In processes that withhold nothing, this
//! is the process's environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};

/// Proxy settings. Programs read them in either case.
pub const PROXIES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];

/// How the value of a variable begins that Gatehouse set for its own window: servers don't get it.
const SET_BY_GATEHOUSE: &str = "set-by-gatehouse";

/// Whether Gatehouse set a variable to this value for its own window.
fn is_set_by_gatehouse(value: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(SET_BY_GATEHOUSE.as_bytes())
}

/// Prefix of the name of a withheld variable.
const WITHHELD: &str = "GATEHOUSE_USER_";

/// The name under which a withheld variable is kept.
#[must_use]
pub fn kept_as(name: &str) -> String {
    format!("{WITHHELD}{name}")
}

/// The value of a variable.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !is_set_by_gatehouse(value)).or_else(|| env::var_os(kept_as(name)))
}

/// All variables under their own names.
#[must_use]
pub fn variables() -> BTreeMap<OsString, OsString> {
    restored(env::vars_os())
}

fn restored(given: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    let (kept, mut all): (BTreeMap<_, _>, BTreeMap<_, _>) =
        given.partition(|(name, _)| own_name(name).is_some());
    all.retain(|_, value| !is_set_by_gatehouse(value));
    for (name, value) in kept {
        if let Some(own) = own_name(&name) {
            all.entry(own.into()).or_insert(value);
        }
    }
    all
}

/// The original name of a withheld variable.
fn own_name(name: &OsStr) -> Option<&str> {
    name.to_str()?.strip_prefix(WITHHELD).filter(|own| !own.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_withheld_is_found_under_its_own_name() {
        let given = [
            ("PATH", "/bin"),
            ("GATEHOUSE_USER_TOKEN", "t"),
            ("GATEHOUSE_USER_PATH", "/wrong"),
            ("GATEHOUSE_USER_", "x"),
            ("GATEHOUSE_LOG", "info"),
            ("RENDERER", SET_BY_GATEHOUSE),
            ("DRIVER", "set-by-gatehouse,off"),
        ];
        let found = restored(given.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let wanted = [("GATEHOUSE_LOG", "info"), ("GATEHOUSE_USER_", "x"), ("PATH", "/bin"), ("TOKEN", "t")];
        assert_eq!(found, wanted.map(|(name, value)| (name.into(), value.into())).into());
        assert_eq!(own_name(OsStr::new(&kept_as("A"))), Some("A"));
    }
}
