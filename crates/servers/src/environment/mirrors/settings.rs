//! Detects whether the user has configured a registry. If so, it is not overridden: a company's
//! registry must not be bypassed.

use std::path::{Path, PathBuf};

use super::PackageEcosystem;

/// Longest settings file that is read, in bytes.
const LONGEST_FILE: u64 = 1024 * 1024;

/// Folders of settings files, apart from the user's own.
#[derive(Clone, Copy)]
pub(super) struct SettingsFolders<'a> {
    /// The folder that the server runs in.
    pub(super) own: &'a Path,
    /// The folder of system-wide settings.
    pub(super) system: &'a Path,
}

/// Whether an environment variable configures a registry.
pub(super) fn is_set_by_variable(kind: PackageEcosystem, user: &dyn Fn(&str) -> Option<String>) -> bool {
    let names: &[&str] = match kind {
        PackageEcosystem::Npm => &["npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER"],
        PackageEcosystem::Pypi => &[
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_NO_INDEX",
            "PIP_CONFIG_FILE",
            "UV_INDEX",
            "UV_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "UV_EXTRA_INDEX_URL",
            "UV_NO_INDEX",
            "UV_CONFIG_FILE",
        ],
    };
    names.iter().any(|name| user(name).is_some_and(|value| !value.trim().is_empty()))
}

/// Whether one of the settings files that the tools read configures a registry.
pub(super) async fn is_set_in_file(
    kind: PackageEcosystem,
    user: &(dyn Fn(&str) -> Option<String> + Sync),
    folders: SettingsFolders<'_>,
) -> bool {
    for path in files(kind, user, folders) {
        if tokio::fs::metadata(&path).await.is_ok_and(|found| found.is_file() && found.len() <= LONGEST_FILE)
            && let Ok(bytes) = tokio::fs::read(&path).await
            && has_registry_key(kind, &String::from_utf8_lossy(&bytes))
        {
            tracing::debug!(path = %path.display(), "the user's own registry is left alone");
            return true;
        }
    }
    false
}

fn files(
    kind: PackageEcosystem,
    user: &dyn Fn(&str) -> Option<String>,
    folders: SettingsFolders<'_>,
) -> Vec<PathBuf> {
    let place = |name: &str| user(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = place("HOME").or_else(|| place("USERPROFILE"));
    let at_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let configs = place("XDG_CONFIG_HOME").or_else(|| at_home(".config"));
    let roaming = place("APPDATA");
    let mut files = Vec::new();
    match kind {
        PackageEcosystem::Npm => {
            for name in [".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", "bunfig.toml"] {
                files.extend(at_home(name));
                files.push(folders.own.join(name));
            }
            files.extend(["npm_config_userconfig", "NPM_CONFIG_USERCONFIG"].into_iter().filter_map(place));
            files.extend(configs.map(|configs| configs.join("pnpm/rc")));
            files.push(folders.system.join("npmrc"));
        }
        PackageEcosystem::Pypi => {
            for base in configs.iter().chain(&roaming) {
                for name in ["pip/pip.conf", "pip/pip.ini", "uv/uv.toml"] {
                    files.push(base.join(name));
                }
            }
            for name in [".pip/pip.conf", "pip/pip.ini", "Library/Application Support/pip/pip.conf"] {
                files.extend(at_home(name));
            }
            files.extend(place("VIRTUAL_ENV").map(|environment| environment.join("pip.conf")));
            files.extend(["uv.toml", "pyproject.toml"].map(|name| folders.own.join(name)));
            files.extend(["pip.conf", "uv/uv.toml"].map(|name| folders.system.join(name)));
        }
    }
    files
}

fn has_registry_key(kind: PackageEcosystem, text: &str) -> bool {
    let keys: &[&str] = match kind {
        PackageEcosystem::Npm => &["registry", "npmRegistryServer"],
        PackageEcosystem::Pypi => &[
            "index-url",
            "extra-index-url",
            "default-index",
            "index",
            "no-index",
            "[[index]]",
            "[[tool.uv.index]]",
        ],
    };
    text.lines().any(|line| {
        let key = line.trim().split(|letter: char| letter == '=' || letter == ':' || letter.is_whitespace());
        key.into_iter()
            .next()
            .is_some_and(|key| keys.contains(&key.trim_matches('"').replace('_', "-").as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_configured_registries() {
        let table = [
            (PackageEcosystem::Npm, "registry=https://r.example/", true),
            (PackageEcosystem::Npm, "a=b\n  registry = https://r.example/\n", true),
            (PackageEcosystem::Npm, "registry \"https://r.example/\"", true),
            (PackageEcosystem::Npm, "npmRegistryServer: \"https://r.example\"", true),
            (PackageEcosystem::Npm, "[install]\nregistry = \"https://r.example\"", true),
            (PackageEcosystem::Npm, "@scope:registry=https://r.example/\n//r.example/:_authToken=x", false),
            (PackageEcosystem::Npm, "# registry=https://r.example/\n;registry=x\nregistry-x=y", false),
            (PackageEcosystem::Pypi, "[global]\nindex-url = https://r.example/simple", true),
            (PackageEcosystem::Pypi, "index_url=https://r.example/simple", true),
            (PackageEcosystem::Pypi, "extra-index-url = https://r.example/simple", true),
            (PackageEcosystem::Pypi, "[[tool.uv.index]]\nurl = \"https://r.example\"", true),
            (PackageEcosystem::Pypi, "# index-url = x\ntimeout = 60\nindexes = 1", false),
        ];
        for (kind, text, expected) in table {
            assert_eq!(has_registry_key(kind, text), expected, "{text}");
        }
    }
}
