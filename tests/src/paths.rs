//! Paths of our own programs and scripts, and of the Python with the test packages.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The folder of this workspace member.
#[must_use]
pub fn tests_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program of this workspace, from the folder of the running test.
pub fn program(name: &str) -> Result<PathBuf> {
    let mut folder = std::env::current_exe()?;
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(name);
    if path.exists() { Ok(path) } else { bail!("{name} is not built; `cargo build --workspace` builds it") }
}

/// The Python interpreter with the packages of `tests/py/requirements.txt`.
pub fn python() -> Result<PathBuf> {
    python_of("venv")
}

/// The Python interpreter with the packages of `tests/py/requirements-older.txt`.
pub fn older_python() -> Result<PathBuf> {
    python_of("venv-older")
}

/// The Python interpreter with the packages of `tests/py/requirements-models.txt`.
pub fn models_python() -> Result<PathBuf> {
    python_of("venv-models")
}

/// The Node.js that clients from npm of the matrix need.
pub fn compat_node() -> Result<PathBuf> {
    let node = tests_dir().join("compat/npm/node_modules/node/bin/node");
    if node.exists() {
        Ok(node)
    } else {
        bail!("no packages for the matrix; `cargo xtask compat` installs them")
    }
}

/// The Python interpreter with the packages of this client of the matrix, `tests/compat/pypi/NAME.txt`.
pub fn compat_python(name: &str) -> Result<PathBuf> {
    python_of(&format!("compat-{name}"))
}

fn python_of(venv: &str) -> Result<PathBuf> {
    let cache = match std::env::var_os("GATEHOUSE_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
            (Some(folder), _) if !folder.is_empty() => PathBuf::from(folder),
            (_, Some(home)) => PathBuf::from(home).join(".cache"),
            _ => bail!("neither GATEHOUSE_CACHE, XDG_CACHE_HOME nor HOME is set"),
        },
    };
    let python = cache.join("gatehouse-build").join(venv).join("bin/python");
    if python.exists() {
        Ok(python)
    } else {
        bail!("no {venv} with packages for Python; `cargo xtask setup` and `cargo xtask compat` make them")
    }
}
