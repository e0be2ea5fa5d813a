//! The official conformance suite as installed in the cache, and the checks that it records.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::paths::WorkspacePaths;
use crate::process::{output, print_step, program};
use crate::setup;

/// The suite as installed in the cache.
pub(super) struct Suite {
    folder: PathBuf,
}

impl Suite {
    /// Installs the versions of the checkout's lock file.
    pub(super) fn install(paths: &WorkspacePaths) -> Result<Self> {
        print_step("Getting the conformance suite");
        let wanted = paths.root.join("tests/conformance");
        let folder = paths.cache.join("conformance");
        fs::create_dir_all(&folder)?;
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(wanted.join(name), folder.join(name))
                .with_context(|| format!("cannot copy {}", wanted.join(name).display()))?;
        }
        setup::npm_packages(&folder)?;
        Ok(Self { folder })
    }

    /// The suite's program, without arguments.
    pub(super) fn command(&self) -> Command {
        let modules = self.folder.join("node_modules");
        let node = modules.join("node/bin").join(format!("node{}", std::env::consts::EXE_SUFFIX));
        let mut command = program(node, &self.folder);
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command
    }

    /// An empty folder for the records of a role and a revision.
    pub(super) fn results(&self, role: &str, revision: &str) -> Result<PathBuf> {
        let results = self.folder.join("results").join(role).join(revision);
        if results.exists() {
            fs::remove_dir_all(&results).context("cannot remove the results of the last run")?;
        }
        fs::create_dir_all(&results)?;
        Ok(results)
    }

    /// The scenarios that a revision requires of a role, from the suite's list.
    pub(super) fn required(&self, role: &str, revision: &str) -> Result<Vec<String>> {
        required(role, &output(self.command().args(["list", "--requirements", revision]))?)
    }
}

/// The names in one part of the suite's list. The part is named like `Client scenarios`.
pub(super) fn required(role: &str, list: &str) -> Result<Vec<String>> {
    let names: Vec<String> = list
        .lines()
        .skip_while(|line| {
            !line.to_lowercase().strip_prefix(role).is_some_and(|rest| rest.starts_with(" scenarios"))
        })
        .skip(1)
        .map_while(|line| line.strip_prefix("  - "))
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        bail!(
            "the conformance suite names no {role} scenario; its list reads otherwise than this task expects"
        );
    }
    Ok(names)
}

/// Waits for a process to exit, up to the limit.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The checks that the suite recorded, in folders whose names contain the time. Each comes with the name of its folder.
pub(super) fn recorded_checks(folder: &Path) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let text = fs::read(&path)?;
                let some: Vec<Value> = serde_json::from_slice(&text)
                    .with_context(|| format!("{} is no list of checks", path.display()))?;
                let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.extend(some.into_iter().map(|check| (name.clone(), check)));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_required_scenarios_of_a_role() {
        let list = "Required for 2025-11-25:\n\nServer scenarios (test against a server):\n  - ping\n\n\
                    Client scenarios (test against a client):\n  - initialize\n  - auth/metadata-default\n  \
                    - tools_call\n\nRun and reported, but never scored:\n  extension (1):\n    - auth/dpop [client]\n";
        assert_eq!(required("client", list).unwrap(), ["initialize", "auth/metadata-default", "tools_call"]);
        assert_eq!(required("server", list).unwrap(), ["ping"]);
        assert!(required("client", "Server scenarios:\n  - ping\n").is_err());
    }
}
