//! Paths: the checkout, the cache outside of it, and cargo's target folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folders that tasks work in.
pub(crate) struct WorkspacePaths {
    pub(crate) root: PathBuf,
    /// Shared between checkouts: tools built once and the Python environments.
    pub(crate) cache: PathBuf,
}

impl WorkspacePaths {
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
        Ok(Self { root: root.to_owned(), cache: cache()?.join("gatehouse-build") })
    }

    pub(crate) fn ui(&self) -> PathBuf {
        self.root.join("ui")
    }

    /// The npm packages that tests use.
    pub(crate) fn tests_js(&self) -> PathBuf {
        self.root.join("tests/js")
    }

    /// The browser tests of the UI.
    pub(crate) fn tests_e2e(&self) -> PathBuf {
        self.root.join("tests/e2e")
    }

    /// The Python environments that tests use, each with its list of requirements.
    pub(crate) fn venvs(&self) -> [(PathBuf, PathBuf); 3] {
        let list = |name: &str| self.root.join("tests/py").join(name);
        [
            (self.cache.join("venv"), list("requirements.txt")),
            (self.cache.join("venv-older"), list("requirements-older.txt")),
            (self.cache.join("venv-models"), list("requirements-models.txt")),
        ]
    }

    /// The packages of the clients from npm of the matrix.
    pub(crate) fn compat_npm(&self) -> PathBuf {
        self.root.join("tests/compat/npm")
    }

    /// The packages of the applications that are connected and imported from.
    pub(crate) fn compat_applications(&self) -> PathBuf {
        self.root.join("tests/compat/applications")
    }

    /// The Python environments of the clients of the matrix, by name, each with its list of requirements.
    pub(crate) fn compat_venvs(&self) -> Result<Vec<(String, PathBuf, PathBuf)>> {
        let folder = self.root.join("tests/compat/pypi");
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let list = entry?.path();
            if let (Some("txt"), Some(name)) = (list.extension().and_then(|e| e.to_str()), list.file_stem()) {
                let name = name.to_string_lossy().into_owned();
                let venv = self.cache.join(format!("compat-{name}"));
                found.push((name, venv, list));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Path of a program of this workspace as built by cargo.
    pub(crate) fn program(&self, profile: &str, name: &str) -> Result<PathBuf> {
        let metadata = cargo_metadata::MetadataCommand::new().current_dir(&self.root).no_deps().exec()?;
        let folder = metadata.target_directory.into_std_path_buf().join(profile);
        Ok(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
    }
}

fn cache() -> Result<PathBuf> {
    if let Some(folder) = folder_from("GATEHOUSE_CACHE").or_else(|| folder_from("XDG_CACHE_HOME")) {
        return Ok(folder);
    }
    match home() {
        Some(home) => Ok(home.join(".cache")),
        None => bail!("neither GATEHOUSE_CACHE, XDG_CACHE_HOME nor HOME is set"),
    }
}

/// The folder of cargo's registry and configuration.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    let folder = folder_from("CARGO_HOME").or_else(|| home().map(|home| home.join(".cargo")));
    folder.context("neither CARGO_HOME nor HOME is set")
}

fn home() -> Option<PathBuf> {
    folder_from("HOME").or_else(|| folder_from("USERPROFILE"))
}

/// The folder that an environment variable names.
fn folder_from(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
