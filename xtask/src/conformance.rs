//! Runs the official conformance suite: against Gatehouse's client side of the protocol, and, in the server role, against a
//! sample server directly and through Gatehouse. The suite and its Node.js are in the cache.

mod client;
mod server;
mod suite;

use anyhow::{Context, Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, run};

const HOW: &str = "cargo xtask conformance --role client|server --requirements 2025-11-25|2026-07-28";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

pub(crate) fn conformance(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let (role, revision) = parse(arguments)?;
    build(paths)?;
    play(paths, role, revision)
}

/// Builds what plays a role.
pub(crate) fn build(paths: &WorkspacePaths) -> Result<()> {
    print_step("Building what the suite tests");
    run(cargo(&paths.root).args(["build", "--package=gatehouse-tests", "--package=gatehouse-ctl"]).args([
        "--bin=conformance-client",
        "--bin=conformance-endpoints",
        "--bin=gatehousectl",
    ]))
}

/// Runs both roles in every revision with the programs that are already built.
pub(crate) fn everything(paths: &WorkspacePaths) -> Result<()> {
    for role in [Role::Client, Role::Server] {
        REVISIONS.iter().try_for_each(|revision| play(paths, role, revision))?;
    }
    Ok(())
}

fn play(paths: &WorkspacePaths, role: Role, revision: &str) -> Result<()> {
    match role {
        Role::Client => client::play(paths, revision),
        Role::Server => server::play(paths, revision),
    }
}

/// The role and the revision in the arguments.
fn parse(arguments: &[String]) -> Result<(Role, &'static str)> {
    let mut role = None;
    let mut revision = None;
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { bail!("`{}` needs a value: {HOW}", pair.concat()) };
        match name.as_str() {
            "--role" => role = Some(value.as_str()),
            "--requirements" => revision = Some(value.as_str()),
            other => bail!("there is no option `{other}`: {HOW}"),
        }
    }
    let role = match role {
        Some("client") => Role::Client,
        Some("server") => Role::Server,
        Some(other) => bail!("there is no role `{other}`: {HOW}"),
        None => bail!("which role? {HOW}"),
    };
    let Some(wanted) = revision else { bail!("which revision? {HOW}") };
    let known = REVISIONS.into_iter().find(|known| *known == wanted);
    Ok((role, known.with_context(|| format!("there is no revision `{wanted}`: {HOW}"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn parses_role_and_revision_in_any_order() {
        let parsed = |line: &str| parse(&words(line)).unwrap();
        assert_eq!(parsed("--role client --requirements 2025-11-25"), (Role::Client, "2025-11-25"));
        assert_eq!(parsed("--requirements 2026-07-28 --role server"), (Role::Server, "2026-07-28"));
    }

    #[test]
    fn rejects_unsupported_arguments() {
        for wrong in [
            "",
            "--role client",
            "--role client --requirements",
            "--role proxy --requirements 2025-11-25",
            "--role client --requirements 2024-11-05",
            "--role client --suite all",
        ] {
            assert!(parse(&words(wrong)).unwrap_err().to_string().contains(HOW), "{wrong}");
        }
    }
}
