//! Programs from crates.io that tasks use. Each is built once, in a fixed version, into the cache.

use std::path::PathBuf;

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, program, run, succeeds};

/// Runs Rust tests in parallel over all test programs. It takes minutes to build, so only
/// `cargo xtask setup --nextest` installs it; `cargo test` is used where it is not installed.
pub(crate) const NEXTEST: CargoTool = CargoTool { name: "cargo-nextest", version: "0.9.151" };

/// A cargo-nextest that can be run: the one in the cache, or one that the machine has.
pub(crate) fn nextest(paths: &WorkspacePaths) -> Option<PathBuf> {
    NEXTEST.installed(paths).or_else(|| {
        let name = PathBuf::from(NEXTEST.name);
        succeeds(program(&name, &paths.root).args(["nextest", "--version"])).then_some(name)
    })
}

pub(crate) struct CargoTool {
    /// Of the package and of its program.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl CargoTool {
    /// Path of the program if this version is in the cache.
    pub(crate) fn installed(&self, paths: &WorkspacePaths) -> Option<PathBuf> {
        Some(self.path(paths)).filter(|path| path.exists())
    }

    /// Path of the program; built first if this version is not in the cache.
    pub(crate) fn install(&self, paths: &WorkspacePaths) -> Result<PathBuf> {
        if let Some(path) = self.installed(paths) {
            return Ok(path);
        }
        println!("Building {} {}; this happens once.", self.name, self.version);
        // It runs for seconds: build time matters more than run time.
        run(cargo(&paths.root)
            .args(["install", self.name, "--locked", "--debug", "--version", self.version, "--root"])
            .arg(self.home(paths))
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
        Ok(self.path(paths))
    }

    fn home(&self, paths: &WorkspacePaths) -> PathBuf {
        paths.cache.join(format!("{}-{}", self.name, self.version))
    }

    fn path(&self, paths: &WorkspacePaths) -> PathBuf {
        self.home(paths).join("bin").join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX))
    }
}
