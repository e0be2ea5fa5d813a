//! What a newer version of an entry changes in the settings of a server that came from it. Nothing is changed here: the
//! settings are put into the form, and saving them is an edit like any other.

use std::collections::BTreeMap;

use gatehouse_model::registry::RegistryOptionKind;
use gatehouse_model::server::{Remote, ServerDraft};
use gatehouse_model::{ServerConfig, Transport};
use semver::Version;

use super::entry::ParsedEntry;
use super::inputs::Template;
use super::recipe::{PackageArgument, Recipe};

/// How a version relates to the one that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionOrder {
    /// The same, or an older one.
    NotNewer,
    Newer,
    /// Another one, and at least one of them is no semantic version.
    Different,
}

/// Compares versions.
pub(super) fn compare(installed: &str, other: &str) -> VersionOrder {
    if installed == other {
        return VersionOrder::NotNewer;
    }
    let parsed = |text: &str| Version::parse(text.strip_prefix('v').unwrap_or(text)).ok();
    match (parsed(installed), parsed(other)) {
        (Some(installed), Some(other)) if other > installed => VersionOrder::Newer,
        (Some(_), Some(_)) => VersionOrder::NotNewer,
        _ => VersionOrder::Different,
    }
}

/// The settings of a server with another version of its entry; `None` if no option of the entry is what the server runs or
/// reaches.
pub(super) fn updated(config: &ServerConfig, entry: &ParsedEntry) -> Option<ServerDraft> {
    let recipes =
        || entry.options.iter().filter_map(|option| Some((&option.view.inputs, option.recipe.as_ref()?)));
    let transport = match &config.transport {
        Transport::Stdio { command, args, env, cwd, streams } => recipes().find_map(|(inputs, recipe)| {
            let Recipe::Program { package, env: wanted, command: runner, .. } = recipe else {
                return None;
            };
            if runner != command {
                return None;
            }
            let args = with_package(args, package)?;
            let is_required = |index: usize| inputs.get(index).is_some_and(|input| input.required);
            let is_secret = |index: usize| inputs.get(index).is_some_and(|input| input.secret);
            let env = with_required(env, wanted, &is_required, &is_secret);
            Some(Transport::Stdio {
                command: command.clone(),
                args,
                env,
                cwd: cwd.clone(),
                streams: *streams,
            })
        }),
        Transport::Http(remote) => {
            remote_update(remote, recipes().map(|(_, recipe)| recipe), RegistryOptionKind::Http)
                .map(Transport::Http)
        }
        Transport::Auto(remote) => {
            remote_update(remote, recipes().map(|(_, recipe)| recipe), RegistryOptionKind::Http)
                .map(Transport::Auto)
        }
        Transport::Sse(remote) => {
            remote_update(remote, recipes().map(|(_, recipe)| recipe), RegistryOptionKind::Sse)
                .map(Transport::Sse)
        }
        Transport::Ws(_) | Transport::Builtin { .. } => None,
    }?;
    Some(ServerDraft { transport, registry: Some(entry.source()), ..ServerDraft::from(config.clone()) })
}

/// The arguments with the package in its version; `None` if they don't name it.
fn with_package(args: &[String], package: &PackageArgument) -> Option<Vec<String>> {
    let names_it = |arg: &String| match arg.strip_prefix(package.name.as_str()) {
        Some("") => true,
        Some(rest) => package.separators.iter().any(|separator| rest.starts_with(separator)),
        None => false,
    };
    let at = args.iter().position(names_it)?;
    let mut args = args.to_vec();
    if let Some(arg) = args.get_mut(at) {
        arg.clone_from(&package.text);
    }
    Some(args)
}

/// The variables with those that the new version needs and the settings lack. They have no value yet, so the form asks for
/// them.
fn with_required(
    env: &BTreeMap<String, String>,
    wanted: &[(String, Template)],
    is_required: &dyn Fn(usize) -> bool,
    is_secret: &dyn Fn(usize) -> bool,
) -> BTreeMap<String, String> {
    let mut env = env.clone();
    for (name, template) in wanted {
        if env.contains_key(name) || !template.inputs().any(is_required) {
            continue;
        }
        let is_secret = template.inputs().any(is_secret);
        env.insert(name.clone(), if is_secret { format!("${{secret:{name}}}") } else { String::new() });
    }
    env
}

/// The settings of a remote server: unchanged while the entry has its address, else with the only address of the entry.
fn remote_update<'a>(
    remote: &Remote,
    recipes: impl Iterator<Item = &'a Recipe>,
    kind: RegistryOptionKind,
) -> Option<Remote> {
    let urls: Vec<Option<String>> = recipes
        .filter_map(|recipe| match recipe {
            Recipe::Remote { kind: known, url, .. } if *known == kind => Some(url.fixed()),
            Recipe::Remote { .. } | Recipe::Program { .. } => None,
        })
        .collect();
    if urls.iter().flatten().any(|url| *url == remote.url) {
        return Some(remote.clone());
    }
    match urls.as_slice() {
        [Some(url)] => Some(Remote { url: url.clone(), ..remote.clone() }),
        // What a person entered is part of the address.
        [None] => Some(remote.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_semantic_versions() {
        let table = [
            ("1.2.0", "1.3.0", VersionOrder::Newer),
            ("1.2.0", "1.10.0", VersionOrder::Newer),
            ("v1.2.0", "1.2.1", VersionOrder::Newer),
            ("1.0.0-beta.2", "1.0.0", VersionOrder::Newer),
            ("1.3.0", "1.2.0", VersionOrder::NotNewer),
            ("1.2.0", "1.2.0", VersionOrder::NotNewer),
            ("2025.11", "2025.12", VersionOrder::Different),
            ("2025.11", "2025.11", VersionOrder::NotNewer),
            ("1.2.0", "next", VersionOrder::Different),
        ];
        for (installed, other, expected) in table {
            assert_eq!(compare(installed, other), expected, "{installed} -> {other}");
        }
    }
}
