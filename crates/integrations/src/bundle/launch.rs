//! How the server of a bundle is started: program, arguments and variables from its manifest, first with places for the
//! options and then with their values.
//!
//! A secret must never become part of the command line, which every program of this computer can read.

use std::collections::BTreeMap;
use std::path::Path;

use gatehouse_model::composed_secret::{ComposedSecret, SecretPart};

use super::error::{BundleError, ManifestError, OptionProblem};
use super::manifest::{Manifest, McpConfig, ServerKind};
use super::options::{OptionValue, OptionValues, refused};
use super::variables::{BundlePlaces, ManifestPart, pieces};
use crate::System;
use crate::registry::refers;

/// What of this computer decides how a bundle is started.
pub struct BundleMachine<'a> {
    pub places: BundlePlaces,
    /// Whether a program is found by its name.
    pub has_program: &'a dyn Fn(&str) -> bool,
}

/// The folder of a bundle, and what is in it.
pub(super) struct BundleContent<'a> {
    pub(super) folder: &'a Path,
    /// Whether a path in it is a file.
    pub(super) has_file: &'a dyn Fn(&str) -> bool,
}

/// Program, arguments and variables with places for options.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    command: Vec<ManifestPart>,
    args: Vec<Vec<ManifestPart>>,
    env: Vec<(String, Vec<ManifestPart>)>,
    /// File of the bundle that is the program, if it is one.
    pub(super) program_file: Option<String>,
}

/// A launch with the values of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilledLaunch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// Secrets are references.
    pub(super) env: BTreeMap<String, String>,
    pub(super) secrets: Vec<ComposedSecret>,
}

/// The name of a system in manifests.
pub(super) fn platform_name(system: System) -> &'static str {
    match system {
        System::Linux => "linux",
        System::MacOs => "darwin",
        System::Windows => "win32",
    }
}

impl Launch {
    pub(super) fn new(
        manifest: &Manifest,
        machine: &BundleMachine<'_>,
        content: &BundleContent<'_>,
    ) -> Result<Self, BundleError> {
        let places = &machine.places;
        let config = config_for(manifest, places.system)?;
        let read = |text: &str| {
            let pieces = pieces(text, places, Some(content.folder))?;
            check_options(manifest, &pieces)?;
            Ok::<_, BundleError>(pieces)
        };
        let command = read(config.command.as_deref().unwrap_or_default())?;
        let args =
            config.args.unwrap_or_default().iter().map(|arg| read(arg)).collect::<Result<Vec<_>, _>>()?;
        let env = config
            .env
            .unwrap_or_default()
            .iter()
            .map(|(name, value)| Ok((name.clone(), read(value)?)))
            .collect::<Result<Vec<_>, BundleError>>()?;
        for piece in args.iter().flatten().chain(&command) {
            if let ManifestPart::Option(key) = piece
                && let Some((_, option)) = manifest.options.iter().find(|(other, _)| other == key)
                && option.sensitive
            {
                let option = option.title.clone();
                return Err(BundleError::Manifest(ManifestError::SecretInCommand { option }));
            }
        }
        let (command, program_file) = resolve_command(command, machine, content);
        Ok(Self { command, args, env, program_file })
    }

    /// The program if it is searched for by its name, so that it has to be installed.
    pub(super) fn needed_program(&self) -> Option<&str> {
        match self.command.as_slice() {
            [ManifestPart::Text(name)] if !name.contains(['/', '\\']) => Some(name),
            _ => None,
        }
    }

    /// The command line, with `${user_config.KEY}` for the options.
    pub(super) fn shown_command(&self) -> Vec<String> {
        std::iter::once(&self.command).chain(&self.args).map(|pieces| shown(pieces)).collect()
    }

    /// The variables, likewise.
    pub(super) fn shown_env(&self) -> BTreeMap<String, String> {
        self.env.iter().map(|(name, pieces)| (name.clone(), shown(pieces))).collect()
    }

    /// Fills the options in. `secrets` are the keys of the secrets that are given.
    pub(super) fn fill(
        &self,
        manifest: &Manifest,
        values: &OptionValues,
        secrets: &[String],
        system: System,
    ) -> Result<FilledLaunch, BundleError> {
        let join = |pieces: &[ManifestPart]| -> String {
            pieces.iter().map(|piece| text_of(piece, values, system)).collect()
        };
        let command = join(&self.command);
        if command.trim().is_empty() {
            return Err(refused(&shown(&self.command), OptionProblem::Missing));
        }
        let mut args = Vec::new();
        for arg in &self.args {
            match arg.as_slice() {
                // An option that is a whole argument is as many as it has values.
                [ManifestPart::Option(key)] => match values.get(key) {
                    Some(OptionValue::One(value)) => args.push(value.clone()),
                    Some(OptionValue::Many(all)) => args.extend(all.iter().cloned()),
                    None => {}
                },
                pieces => args.push(join(pieces)),
            }
        }
        let is_secret =
            |key: &str| manifest.options.iter().any(|(other, option)| other == key && option.sensitive);
        let mut filled = FilledLaunch { command, args, env: BTreeMap::new(), secrets: Vec::new() };
        for (name, pieces) in &self.env {
            if let [ManifestPart::Option(key)] = pieces.as_slice()
                && !values.contains_key(key)
                && !secrets.contains(key)
            {
                continue;
            }
            let has_secret = pieces.iter().any(
                |piece| matches!(piece, ManifestPart::Option(key) if is_secret(key) && secrets.contains(key)),
            );
            if !has_secret {
                let text = join(pieces);
                // Put together of several parts, a value could refer to something that no part of it does.
                if refers(&text) {
                    return Err(refused(name, OptionProblem::Value));
                }
                filled.env.insert(name.clone(), text);
                continue;
            }
            let parts = pieces.iter().map(|piece| match piece {
                ManifestPart::Option(key) if secrets.contains(key) => SecretPart::Input(key.clone()),
                other => SecretPart::Text(text_of(other, values, system)),
            });
            let field = ComposedSecret { field: format!("env/{name}"), parts: parts.collect() };
            filled.secrets.push(field);
            filled.env.insert(name.clone(), format!("${{secret:{name}}}"));
        }
        Ok(filled)
    }
}

/// What the manifest says for a system; what it leaves out follows from the kind of server.
fn config_for(manifest: &Manifest, system: System) -> Result<McpConfig, BundleError> {
    let server = &manifest.server;
    let mut config = server.mcp_config.clone().unwrap_or_default();
    if let Some(own) = config.platform_overrides.remove(platform_name(system)) {
        config.command = own.command.or(config.command);
        config.args = own.args.or(config.args);
        config.env = own.env.or(config.env);
    }
    if config.command.is_some() {
        return Ok(config);
    }
    let entry_point = server.entry_point.as_deref().ok_or_else(|| {
        BundleError::Manifest(ManifestError::Text { field: "server.entry_point".to_owned() })
    })?;
    let file = format!("${{__dirname}}/{entry_point}");
    let (command, args) = match server.kind {
        ServerKind::Node => ("node".to_owned(), vec![file]),
        ServerKind::Python => ("python".to_owned(), vec![file]),
        ServerKind::Binary => (file, Vec::new()),
        ServerKind::Uv => {
            let args = ["run", "--directory", "${__dirname}", &file];
            ("uv".to_owned(), args.into_iter().map(str::to_owned).collect())
        }
    };
    config.command = Some(command);
    config.args = config.args.or(Some(args));
    Ok(config)
}

/// Refuses an option that the manifest does not describe.
fn check_options(manifest: &Manifest, pieces: &[ManifestPart]) -> Result<(), BundleError> {
    for piece in pieces {
        if let ManifestPart::Option(key) = piece
            && !manifest.options.iter().any(|(other, _)| other == key)
        {
            let variable = format!("${{user_config.{key}}}");
            return Err(BundleError::Manifest(ManifestError::Variable { variable }));
        }
    }
    Ok(())
}

/// A program of the bundle by its full path, with its file; any other as it is, or under the name that it has here.
fn resolve_command(
    command: Vec<ManifestPart>,
    machine: &BundleMachine<'_>,
    content: &BundleContent<'_>,
) -> (Vec<ManifestPart>, Option<String>) {
    let [ManifestPart::Text(text)] = command.as_slice() else { return (command, None) };
    let folder = content.folder.display().to_string();
    let inside = text.strip_prefix(&folder).map(|rest| rest.trim_start_matches(['/', '\\']));
    let relative = inside.or_else(|| (!Path::new(text).is_absolute()).then_some(text.as_str()));
    if let Some(relative) = relative {
        let path = relative.replace('\\', "/");
        let path = path.trim_start_matches("./");
        let with_ending = format!("{path}.exe");
        let candidates = [path, with_ending.as_str()];
        let count = if machine.places.system == System::Windows { 2 } else { 1 };
        if let Some(file) = candidates.into_iter().take(count).find(|path| (content.has_file)(path)) {
            let whole = content.folder.join(file).display().to_string();
            return (vec![ManifestPart::Text(whole)], Some(file.to_owned()));
        }
    }
    // Which of both names there is differs by system.
    let other = match text.as_str() {
        "python" => "python3",
        "python3" => "python",
        _ => return (command, None),
    };
    if !(machine.has_program)(text) && (machine.has_program)(other) {
        return (vec![ManifestPart::Text(other.to_owned())], None);
    }
    (command, None)
}

/// A piece with the option's value; empty if it has none.
fn text_of(piece: &ManifestPart, values: &OptionValues, system: System) -> String {
    match piece {
        ManifestPart::Text(text) => text.clone(),
        ManifestPart::Option(key) => match values.get(key) {
            Some(OptionValue::One(value)) => value.clone(),
            Some(OptionValue::Many(all)) => all.join(if system == System::Windows { ";" } else { ":" }),
            None => String::new(),
        },
    }
}

fn shown(pieces: &[ManifestPart]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            ManifestPart::Text(text) => text.clone(),
            ManifestPart::Option(key) => format!("${{user_config.{key}}}"),
        })
        .collect()
}
