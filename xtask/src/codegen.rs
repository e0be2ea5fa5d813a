//! Generates what is made of the types of the core: the TypeScript of everything that is exchanged between the core and the
//! UI (one file of types, one map of commands), and the configuration reference of the user docs. The output is
//! deterministic.

mod declarations;
mod reference;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gatehouse_model::command::Command;
use gatehouse_model::event::{EVENT_VERSION, EventEnvelope};
use ts_rs::{Config, TS};

use crate::paths::WorkspacePaths;

const HEAD: &str = "// Written by `cargo xtask codegen` from crates/model; changes here are lost.\n\n";

/// A file with its path from the root.
type GeneratedFile = (&'static str, String);

/// Writes the files that are stale.
pub(crate) fn write(paths: &WorkspacePaths) -> Result<()> {
    for (name, text) in generate()? {
        let path = paths.root.join(name);
        if is_fresh(&path, &text) {
            println!("{name}: up to date");
        } else {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            println!("{name}: written");
        }
    }
    Ok(())
}

/// Fails if a file does not match the core.
pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    for (name, text) in generate()? {
        if !is_fresh(&paths.root.join(name), &text) {
            bail!("{name} is stale; `cargo xtask codegen` writes it");
        }
    }
    Ok(())
}

fn is_fresh(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|there| there == text)
}

fn generate() -> Result<[GeneratedFile; 3]> {
    let folder = tempfile::tempdir()?;
    let config = Config::new().with_out_dir(folder.path());
    Command::export_types(&config).context("cannot export the commands")?;
    EventEnvelope::export_all(&config).context("cannot export the events")?;
    let types = collect(folder.path())?;
    let commands = command_map(&Command::signatures(&config), types.keys().map(String::as_str));
    let mut all = format!("{HEAD}export const EVENT_VERSION = {EVENT_VERSION};\n");
    for body in types.values() {
        write!(all, "\n{body}\n")?;
    }
    Ok([
        ("ui/src/generated/types.ts", all),
        ("ui/src/generated/commands.ts", commands),
        ("docs/src/reference.md", reference::generate(&types)?),
    ])
}

/// The declaration of each type by name, without the imports that separate files would need.
fn collect(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut types = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().context("a type without a name")?.to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let body: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("import ") && !line.starts_with("// "))
            .map(str::trim_end)
            .collect();
        types.insert(name, join_lines(&body).trim().to_owned());
    }
    Ok(types)
}

/// Joins the lines of a declaration. ts-rs writes each doc comment over three lines or more; here one with a single
/// line of text takes one line.
fn join_lines(mut lines: &[&str]) -> String {
    let mut joined = Vec::new();
    loop {
        match lines {
            ["/**", doc, " */", rest @ ..] => {
                joined.push(format!("/** {} */", doc.trim_start_matches(" * ")));
                lines = rest;
            }
            [line, rest @ ..] => {
                joined.push((*line).to_owned());
                lines = rest;
            }
            [] => return joined.join("\n"),
        }
    }
}

fn command_map<'a>(
    signatures: &[(&'static str, String, String)],
    types: impl Iterator<Item = &'a str>,
) -> String {
    let used: Vec<&str> = types
        .filter(|name| {
            signatures
                .iter()
                .any(|(_, args, reply)| names(args).any(|n| n == *name) || names(reply).any(|n| n == *name))
        })
        .collect();
    let mut text = format!("{HEAD}import type {{\n");
    for name in used {
        text.push_str(&format!("  {name},\n"));
    }
    text.push_str("} from \"./types\";\n\n/** Arguments and reply of every command by its name. */\nexport type Commands = {\n");
    for (name, args, reply) in signatures {
        text.push_str(&format!("  \"{name}\": {{ args: {args}; reply: {reply} }};\n"));
    }
    text.push_str("};\n");
    text
}

/// The identifiers in a type.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_a_doc_comment_of_one_line_on_one_line() {
        let lines = [
            "export type A = {",
            "/**",
            " * One.",
            " */",
            "a: B,",
            "/**",
            " * Two",
            " * lines.",
            " */",
            "b: B, };",
        ];
        let joined = "export type A = {\n/** One. */\na: B,\n/**\n * Two\n * lines.\n */\nb: B, };";
        assert_eq!(join_lines(&lines), joined);
    }

    #[test]
    fn generates_deterministically() -> Result<()> {
        assert_eq!(generate()?, generate()?);
        Ok(())
    }

    #[test]
    fn exports_commands_events_and_their_types() -> Result<()> {
        let [(_, types), (_, commands), _] = generate()?;
        for name in
            ["EventEnvelope", "Event", "StatusReport", "UserError", "CallApprovalRequest", "ServerStatus"]
        {
            assert!(types.contains(&format!("export type {name} =")), "{name}");
        }
        assert!(commands.contains(r#""status": { args: Status; reply: StatusReport };"#), "{commands}");
        assert!(!types.contains("bigint"));
        Ok(())
    }
}
