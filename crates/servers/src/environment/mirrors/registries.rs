//! The mirrors of package registries that the administrator has listed in a `registries.json`:
//! `{"npm": ["https://…"], "pypi": ["https://…"]}`. A file that cannot be read or is not valid counts as an
//! empty one, so that the package manager's own registry is used.
//!
//! Packages are programs that run with the user's rights, so a file that other programs of the user can
//! write must never say where they come from: it counts only if it belongs to the administrator and nobody
//! else can write it. Where that cannot be checked, as on Windows, it isn't used. A user names a registry
//! in the settings, which are sealed.

use std::io;
use std::path::{Path, PathBuf};

use gatehouse_model::settings::is_registry_address;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::PackageEcosystem;

const FILE_NAME: &str = "registries.json";
/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;
/// Most mirrors of one ecosystem: all of them are measured at the same time.
const MOST_MIRRORS: usize = 16;

/// The file that may list mirrors.
pub(super) struct RegistryFile {
    path: PathBuf,
    /// User id that the file must belong to.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has user ids"))]
    pub(super) owner: u32,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MirrorLists {
    npm: Vec<String>,
    pypi: Vec<String>,
}

impl RegistryFile {
    /// The file in the administrator's folder.
    pub(super) fn in_folder(managed: &Path) -> Self {
        Self { path: managed.join(FILE_NAME), owner: 0 }
    }

    /// The listed mirrors, best read right before they are used.
    pub(super) async fn mirrors(&self, kind: PackageEcosystem) -> Vec<String> {
        match self.read().await.and_then(|bytes| parse(&bytes)) {
            Ok(lists) => match kind {
                PackageEcosystem::Npm => lists.npm,
                PackageEcosystem::Pypi => lists.pypi,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, path = %self.path.display(), "the list of mirrors is not used");
                Vec::new()
            }
        }
    }

    #[cfg(unix)]
    async fn read(&self) -> io::Result<Vec<u8>> {
        use std::os::unix::fs::MetadataExt;

        use tokio::io::AsyncReadExt;

        let file = tokio::fs::File::open(&self.path).await?;
        let metadata = file.metadata().await?;
        if !metadata.is_file() || metadata.uid() != self.owner || metadata.mode() & 0o022 != 0 {
            return Err(invalid("it isn't a file that only the administrator can write".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    #[cfg(not(unix))]
    async fn read(&self) -> io::Result<Vec<u8>> {
        std::future::ready(Err(io::ErrorKind::NotFound.into())).await
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn parse(bytes: &[u8]) -> io::Result<MirrorLists> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST_FILE {
        return Err(invalid(format!("it is longer than {LONGEST_FILE} bytes")));
    }
    let members: Map<String, Value> = serde_json::from_slice(bytes)?;
    let lists: MirrorLists = serde_json::from_value(Value::Object(members))?;
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
        let long = format!(r#"{{"npm":["https://a.example/{}"]}}"#, "a".repeat(64 * 1024));
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
