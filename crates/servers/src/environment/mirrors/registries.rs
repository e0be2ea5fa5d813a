//! The mirrors of package registries that the user or the administrator has listed in a
//! `registries.json`: `{"npm": ["https://…"], "pypi": ["https://…"]}`. The administrator's file replaces
//! the user's. A file that cannot be read or is not valid counts as an empty one, so that the package
//! manager's own registry is used.

use std::io;
use std::path::{Path, PathBuf};

use gatehouse_model::settings::is_registry_address;
use serde::Deserialize;

use super::PackageEcosystem;

const FILE_NAME: &str = "registries.json";
/// Longest file that is read, in bytes.
const LONGEST_FILE: usize = 64 * 1024;
/// Most mirrors of one ecosystem: all of them are measured at the same time.
const MOST_MIRRORS: usize = 16;

/// The files that may list mirrors.
pub(super) struct RegistryFiles {
    managed: PathBuf,
    own: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MirrorLists {
    npm: Vec<String>,
    pypi: Vec<String>,
}

impl RegistryFiles {
    /// The files in the administrator's folder and in the data folder.
    pub(super) fn in_folders(managed: &Path, data_dir: &Path) -> Self {
        Self { managed: managed.join(FILE_NAME), own: data_dir.join(FILE_NAME) }
    }

    /// The listed mirrors, best read right before they are used.
    pub(super) async fn mirrors(&self, kind: PackageEcosystem) -> Vec<String> {
        for path in [&self.managed, &self.own] {
            match tokio::fs::read(path).await.and_then(|bytes| parse(&bytes)) {
                Ok(lists) => {
                    return match kind {
                        PackageEcosystem::Npm => lists.npm,
                        PackageEcosystem::Pypi => lists.pypi,
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(%error, path = %path.display(), "the list of mirrors is not used");
                    return Vec::new();
                }
            }
        }
        Vec::new()
    }
}

fn parse(bytes: &[u8]) -> io::Result<MirrorLists> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if bytes.len() > LONGEST_FILE {
        return Err(invalid(format!("it is longer than {LONGEST_FILE} bytes")));
    }
    let lists: MirrorLists = serde_json::from_slice(bytes)?;
    for list in [&lists.npm, &lists.pypi] {
        if list.len() > MOST_MIRRORS {
            return Err(invalid(format!("it lists more than {MOST_MIRRORS} mirrors")));
        }
        if let Some(wrong) = list.iter().find(|address| !is_registry_address(address)) {
            return Err(invalid(format!("{wrong:?} is not the address of a registry")));
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_lists_of_addresses_only() {
        let parsed = parse(br#"{"npm":["https://a.example/npm/"]}"#).unwrap();
        assert_eq!((parsed.npm, parsed.pypi), (vec!["https://a.example/npm/".to_owned()], Vec::new()));
        assert_eq!(parse(b"{}").unwrap(), MirrorLists::default());
        let many = format!(r#"{{"npm":[{}]}}"#, [r#""https://a.example/""#; MOST_MIRRORS + 1].join(","));
        let long = format!(r#"{{"npm":["https://a.example/{}"]}}"#, "a".repeat(LONGEST_FILE));
        for wrong in [
            "",
            "[]",
            r#"{"npm":"https://a.example/"}"#,
            r#"{"npm":["ftp://a.example/"]}"#,
            r#"{"pypi":["a.example"]}"#,
            r#"{"nmp":["https://a.example/"]}"#,
            many.as_str(),
            long.as_str(),
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
