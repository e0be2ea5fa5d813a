//! One type name means one thing in the product: no two structs, enums, traits or type aliases of the
//! product's crates have the same name. Alternatives for several systems in one module count once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};

use crate::check::source::{self, Position, SourceCrate};

/// Members that are no part of the product.
const TOOLS: [&str; 2] = ["gatehouse-tests", "xtask"];

/// Names that may be defined more than once, each with the reason.
const ALLOWED: [(&str, &str); 0] = [];

/// A module: the root file of its crate, and its path.
type Location<'a> = (&'a str, &'a [String]);

pub(crate) fn check(root: &Path) -> Result<()> {
    let violations = violations(&source::crates_except(root, &TOOLS)?, &ALLOWED);
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

fn violations(crates: &[SourceCrate], allowed: &[(&str, &str)]) -> Vec<String> {
    let mut definitions: BTreeMap<&str, BTreeMap<Location<'_>, BTreeSet<&Position>>> = BTreeMap::new();
    for source in crates {
        for (path, module) in &source.modules {
            for (name, position) in &module.types {
                let places = definitions.entry(name).or_default();
                places.entry((source.entry.as_str(), path.as_slice())).or_default().insert(position);
            }
        }
    }
    let unused = allowed.iter().filter(|(name, _)| definitions.get(*name).is_none_or(|by| by.len() < 2));
    let mut violations: Vec<String> =
        unused.map(|(name, _)| format!("`{name}` is allowed to be defined twice, and is not")).collect();
    definitions
        .retain(|name, by_module| by_module.len() > 1 && !allowed.iter().any(|(allowed, _)| allowed == name));
    violations.extend(definitions.iter().map(|(name, by_module)| {
        let positions: BTreeSet<&Position> = by_module.values().flatten().copied().collect();
        let places: Vec<String> = positions.iter().map(ToString::to_string).collect();
        format!("`{name}` is defined in {}", places.join(" and "))
    }));
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source::crate_of;

    #[test]
    fn reports_names_that_are_defined_twice() {
        let one = crate_of(&[("one/lib.rs", "mod a;\nstruct Queue;\n"), ("one/a.rs", "pub enum Queue {}\n")]);
        let two = crate_of(&[("two/lib.rs", "trait Port {}\n\ntype Queue = u8;\n")]);
        let crates = [one, two];
        let found = violations(&crates, &[]);
        assert_eq!(found, ["`Queue` is defined in one/a.rs:1 and one/lib.rs:2 and two/lib.rs:3"]);
        let found = violations(&crates, &[("Queue", "both are queues"), ("Port", "gone")]);
        assert_eq!(found, ["`Port` is allowed to be defined twice, and is not"]);
    }

    #[test]
    fn counts_alternatives_for_several_systems_once() {
        let text = "#[cfg(unix)]\nstruct Signal;\n#[cfg(windows)]\nstruct Signal;\n";
        assert_eq!(violations(&[crate_of(&[("lib.rs", text)])], &[]), Vec::<String>::new());
    }
}
