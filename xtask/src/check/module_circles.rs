//! Modules of a crate do not import each other in circles. At every level, the children of one module
//! are compared: an import from `a::x::…` in `a::y::…` counts as `y` importing `x`. What a module uses of
//! its own ancestors and descendants does not count; a name that an ancestor only re-exports counts for
//! the module that it comes from.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use anyhow::{Result, bail};

use crate::check::source::{self, ModulePath, Position, SourceCrate};

/// Members that are no part of the product and not of its tools.
const LEFT_OUT: [&str; 1] = ["gatehouse-tests"];

/// How many re-exports are followed for one path.
const MAX_REEXPORTS: usize = 12;

/// Imports between the children of one module: importing and imported child, and where one of them is.
type Edges = BTreeMap<(String, String), Position>;

pub(crate) fn check(root: &Path) -> Result<()> {
    let circles: Vec<String> = source::crates_except(root, &LEFT_OUT)?.iter().flat_map(circles_in).collect();
    if circles.is_empty() { Ok(()) } else { bail!("{}", circles.join("\n")) }
}

/// One shortest circle of each level that has any.
fn circles_in(source: &SourceCrate) -> Vec<String> {
    let levels = edges(source);
    let described = levels.iter().filter_map(|(level, edges)| {
        let circle = shortest_circle(edges)?;
        let names: Vec<&str> = circle.iter().map(|(from, _)| from.as_str()).collect();
        let first = names.first()?;
        let mut within = vec!["crate"];
        within.extend(level.iter().map(String::as_str));
        let within = within.join("::");
        let mut text = format!("{}: {within}: {} -> {first}", source.entry, names.join(" -> "));
        for edge in &circle {
            let position = edges.get(edge)?;
            text.push_str(&format!("\n  {position}: {} imports {}", edge.0, edge.1));
        }
        Some(text)
    });
    described.collect()
}

/// The imports of every level, by the path of the parent.
fn edges(source: &SourceCrate) -> BTreeMap<ModulePath, Edges> {
    let names: BTreeMap<&ModulePath, Names> =
        source.modules.iter().map(|(path, module)| (path, Names::of(path, module))).collect();
    let mut levels: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (from, module) in &source.modules {
        let imports = module.imports.iter().map(|import| (&import.path, &import.position));
        for (path, position) in imports.chain(module.paths.iter().map(|(path, position)| (path, position))) {
            let Some(path) = absolute(from, path) else { continue };
            for to in modules_of(&path, &names, MAX_REEXPORTS) {
                let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
                    let level = from.iter().take(common).cloned().collect();
                    let edge = (one.clone(), other.clone());
                    levels.entry(level).or_default().entry(edge).or_insert_with(|| position.clone());
                }
            }
        }
    }
    levels
}

/// The names that a module imports, as paths from the crate's root.
#[derive(Default)]
struct Names {
    imported: BTreeMap<String, Vec<String>>,
    /// Modules of which all names are imported.
    globs: Vec<Vec<String>>,
    defined: Vec<String>,
}

impl Names {
    fn of(path: &[String], module: &source::Module) -> Self {
        let mut names = Self::default();
        names.defined.extend(module.types.iter().map(|(name, _)| name.clone()));
        for import in &module.imports {
            let Some(target) = absolute(path, &import.path) else { continue };
            match &import.name {
                None => names.globs.push(target),
                // `use name;` of an external crate resolves to itself.
                Some(name) if target.split_last() == Some((name, path)) => {}
                Some(name) => {
                    names.imported.entry(name.clone()).or_insert(target);
                }
            }
        }
        names
    }

    fn has(&self, name: &str) -> bool {
        self.imported.contains_key(name) || self.defined.iter().any(|defined| defined == name)
    }
}

/// A path from the crate's root; `None` if it is outside of the crate for sure.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path.iter().peekable();
    match path.first()?.as_str() {
        "" => return None,
        "crate" => {
            base.clear();
            rest.next();
        }
        "self" => {
            rest.next();
        }
        _ => {}
    }
    while rest.next_if(|name| name.as_str() == "super").is_some() {
        base.pop();
    }
    base.extend(rest.cloned());
    Some(base)
}

/// The modules that a path leads to: the one that it names, and the ones that re-exports lead on to.
fn modules_of(path: &[String], names: &BTreeMap<&ModulePath, Names>, reexports: usize) -> Vec<ModulePath> {
    let mut module = ModulePath::new();
    let mut rest = path;
    while let [next, after @ ..] = rest {
        let mut child = module.clone();
        child.push(next.clone());
        if !names.contains_key(&child) {
            break;
        }
        (module, rest) = (child, after);
    }
    let mut found = Vec::new();
    if let ([name, after @ ..], Some(here), Some(left)) = (rest, names.get(&module), reexports.checked_sub(1))
    {
        if let Some(target) = here.imported.get(name) {
            found = modules_of(&[target.as_slice(), after].concat(), names, left);
        } else {
            let mut child = ModulePath::new();
            let source = here.globs.iter().find(|glob| {
                child.clone_from(glob);
                child.push(name.clone());
                names.get(*glob).is_some_and(|there| there.has(name)) || names.contains_key(&child)
            });
            if let Some(source) = source.filter(|source| **source != module) {
                found = modules_of(&[source.as_slice(), rest].concat(), names, left);
            }
        }
    }
    found.push(module);
    found
}

/// A circle of as few imports as possible.
fn shortest_circle(edges: &Edges) -> Option<Vec<(String, String)>> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        targets.entry(from).or_default().push(to);
    }
    let circles = targets.keys().copied().filter_map(|start| circle_through(start, &targets));
    let circle = circles.min_by_key(Vec::len)?;
    let next = circle.iter().cycle().skip(1);
    Some(circle.iter().zip(next).map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect())
}

/// The modules of a shortest circle, beginning with this one.
fn circle_through<'a>(start: &'a str, targets: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut importer: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for target in targets.get(module).into_iter().flatten().copied() {
            if target == start {
                let back = std::iter::successors(Some(module), |module| importer.get(module).copied());
                let mut circle: Vec<&str> = back.collect();
                circle.reverse();
                return Some(circle);
            }
            importer.entry(target).or_insert_with(|| {
                queue.push_back(target);
                module
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source::crate_of;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        circles_in(&crate_of(files))
    }

    #[test]
    fn reports_shortest_circle_with_its_lines() {
        let found = circles(&[
            ("src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("src/a.rs", "use crate::b::B;\n"),
            ("src/b.rs", "\nfn f() { super::c::g() }\n"),
            ("src/c.rs", "use std::fmt;\nuse crate::{a::X, b::Y};\n"),
        ]);
        let expected = "src/lib.rs: crate: b -> c -> b\n  src/b.rs:2: b imports c\n  src/c.rs:2: c imports b";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn compares_siblings_at_every_level() {
        let found = circles(&[(
            "src/lib.rs",
            "mod a { mod x { mod deep { use crate::a::y::Y; } } mod y { use super::x::X; } }\n",
        )]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/lib.rs: crate::a: x -> y -> x\n"), "{found:?}");
    }

    #[test]
    fn lets_parents_children_and_tests_use_each_other() {
        let found = circles(&[
            ("src/lib.rs", "mod a;\nmod b;\nuse a::A;\n"),
            ("src/a.rs", "use crate::top;\nuse crate::b::B;\npub(in crate::b) struct A;\n"),
            ("src/b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }\n#[cfg(test)]\nuse crate::a::A;\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn follows_names_that_an_ancestor_reexports() {
        for import in [
            "use crate::A;",
            "use crate::Renamed as R;",
            "use super::*;\nfn f(_: a::A) {}",
            "use crate::Glob;",
        ] {
            let found = circles(&[
                ("src/lib.rs", "mod a;\nmod b;\npub use a::{A, A as Renamed, *};\n"),
                ("src/a.rs", "use crate::b::B;\npub struct Glob;\n"),
                ("src/b.rs", import),
            ]);
            assert_eq!(found.len(), 1, "{import}");
        }
    }
}
