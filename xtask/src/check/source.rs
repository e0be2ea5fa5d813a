//! Rust sources as trees of modules: what each module imports, the paths that its code names, what it
//! calls, and the types that it defines. It works on tokens and follows `mod` declarations, so that code inside macros
//! counts as well. What is compiled for tests only (`#[cfg(test)]`) is left out.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use cargo_metadata::{MetadataCommand, TargetKind};
use proc_macro2::{Delimiter, LexError, Spacing, TokenStream, TokenTree};

/// The names from the crate's root to a module; empty for the root itself.
pub(crate) type ModulePath = Vec<String>;

/// Returns the text of a file. File names are relative to the checkout's root, with forward slashes.
type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String>;

/// One library or program.
pub(crate) struct SourceCrate {
    /// The file of its root module.
    pub(crate) entry: String,
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

#[derive(Default)]
pub(crate) struct Module {
    pub(crate) imports: Vec<Import>,
    /// Paths of at least two names outside of imports, as written.
    pub(crate) paths: Vec<(Vec<String>, Position)>,
    pub(crate) calls: Vec<Call>,
    /// Structs, enums, traits and type aliases that items of the module define.
    pub(crate) types: Vec<(String, Position)>,
}

/// A call of a function, method or macro, or what looks like one, such as a pattern of a tuple variant.
pub(crate) struct Call {
    /// As written, without what a method is called on; the name of a macro ends with `!`.
    pub(crate) path: Vec<String>,
    pub(crate) arguments: TokenStream,
    pub(crate) position: Position,
}

/// One name of a `use` declaration.
pub(crate) struct Import {
    /// As written; the first name is empty if the path begins with `::`.
    pub(crate) path: Vec<String>,
    /// The name that it has in the importing module; `None` for `*`.
    pub(crate) name: Option<String>,
    pub(crate) position: Position,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The libraries and programs of all members but these.
pub(crate) fn crates_except(root: &Path, packages: &[&str]) -> Result<Vec<SourceCrate>> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let read = |file: &str| {
        fs::read_to_string(metadata.workspace_root.join(file)).with_context(|| format!("cannot read {file}"))
    };
    let mut crates = Vec::new();
    for package in metadata.packages.iter().filter(|package| !packages.contains(&package.name.as_str())) {
        for target in &package.targets {
            if target.is_kind(TargetKind::Lib) || target.is_kind(TargetKind::Bin) {
                let entry = target.src_path.strip_prefix(&metadata.workspace_root)?;
                crates.push(SourceCrate::load(&entry.as_str().replace('\\', "/"), &read)?);
            }
        }
    }
    Ok(crates)
}

impl SourceCrate {
    /// Reads the crate whose root module is this file.
    pub(crate) fn load(entry: &str, read: ReadFile<'_>) -> Result<Self> {
        let mut loader = Loader { read, modules: BTreeMap::new() };
        loader.file(&Scope { file: entry, folder: folder_of(entry), module: &[], is_item_level: true })?;
        Ok(Self { entry: entry.to_owned(), modules: loader.modules })
    }
}

fn folder_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

struct Loader<'a> {
    read: ReadFile<'a>,
    modules: BTreeMap<ModulePath, Module>,
}

/// Where the tokens at hand are.
#[derive(Clone, Copy)]
struct Scope<'a> {
    file: &'a str,
    /// Where the files of child modules are.
    folder: &'a str,
    module: &'a [String],
    /// False inside of functions and other items that are no modules.
    is_item_level: bool,
}

impl Scope<'_> {
    fn position(&self, token: &TokenTree) -> Position {
        Position { file: self.file.to_owned(), line: token.span().start().line }
    }
}

impl Loader<'_> {
    fn file(&mut self, scope: &Scope<'_>) -> Result<()> {
        let text = (self.read)(scope.file)?;
        let tokens =
            text.parse::<TokenStream>().map_err(|error: LexError| anyhow!("{}: {error}", scope.file))?;
        self.tokens(tokens, scope)
    }

    fn tokens(&mut self, stream: TokenStream, scope: &Scope<'_>) -> Result<()> {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        self.modules.entry(scope.module.to_vec()).or_default();
        let mut rest = tokens.as_slice();
        // Value of a `#[path = "…"]` that belongs to the next `mod`.
        let mut file_name = None;
        while let [first, after @ ..] = rest {
            if let Some((attribute, after)) = read_attribute(rest) {
                (file_name, rest) = match attribute.is_test_only {
                    true => (None, skip_item(after)),
                    false => (attribute.path.or(file_name), after),
                };
                continue;
            }
            rest = match (word(first).as_deref(), after) {
                // A visibility may contain a path.
                (Some("pub"), [TokenTree::Group(group), after @ ..])
                    if group.delimiter() == Delimiter::Parenthesis =>
                {
                    after
                }
                (Some("mod"), [TokenTree::Ident(name), body, after @ ..]) => {
                    self.child(&name.to_string(), body, file_name.take(), scope)?;
                    after
                }
                // `use<'a>` in a type is no import.
                (Some("use"), [next, ..]) if !is_punct(next, '<') => {
                    let end = after.iter().position(|token| is_punct(token, ';')).unwrap_or(after.len());
                    let (tree, after) = after.split_at(end);
                    self.module(scope).imports.extend(read_use(tree, &[], scope));
                    after
                }
                (Some("struct" | "enum" | "trait" | "type"), [TokenTree::Ident(name), ..])
                    if scope.is_item_level =>
                {
                    let definition = (name.to_string(), scope.position(first));
                    self.module(scope).types.push(definition);
                    after
                }
                (Some(_), _) => {
                    let (path, after) = read_path(rest);
                    if let Some((suffix, arguments)) = read_arguments(after) {
                        let mut path = path.clone();
                        if let Some(name) = path.last_mut() {
                            name.push_str(suffix);
                        }
                        self.module(scope).calls.push(Call {
                            path,
                            arguments,
                            position: scope.position(first),
                        });
                    }
                    if path.len() > 1 {
                        self.module(scope).paths.push((path, scope.position(first)));
                    }
                    after
                }
                // Names after `::` are external, or members of a type: `<T as Trait>::member`.
                (None, _) if is_separator(rest) => read_path(rest.get(2..).unwrap_or_default()).1,
                (None, _) => {
                    if let TokenTree::Group(group) = first {
                        self.tokens(group.stream(), &Scope { is_item_level: false, ..*scope })?;
                    }
                    after
                }
            };
        }
        Ok(())
    }

    fn module(&mut self, scope: &Scope<'_>) -> &mut Module {
        self.modules.entry(scope.module.to_vec()).or_default()
    }

    /// A child module: its body is the next token, or its file is read.
    fn child(
        &mut self,
        name: &str,
        body: &TokenTree,
        file_name: Option<String>,
        scope: &Scope<'_>,
    ) -> Result<()> {
        let mut module = scope.module.to_vec();
        module.push(name.to_owned());
        let folder = format!("{}/{name}", scope.folder);
        if let TokenTree::Group(group) = body {
            let inside = Scope { folder: &folder, module: &module, ..*scope };
            return self.tokens(group.stream(), &inside);
        }
        let Some(file_name) = file_name else {
            let file = format!("{folder}.rs");
            return self.file(&Scope { file: &file, folder: &folder, module: &module, is_item_level: true });
        };
        // It is relative to the declaring file, and so are the files of its own children.
        let file = format!("{}/{file_name}", folder_of(scope.file));
        let inside = Scope { file: &file, folder: folder_of(&file), module: &module, is_item_level: true };
        self.file(&inside)
    }
}

struct Attribute {
    /// The item exists in tests only.
    is_test_only: bool,
    /// The file of a module, if the attribute names it.
    path: Option<String>,
}

/// The attribute that the tokens begin with, and the tokens after it.
fn read_attribute(tokens: &[TokenTree]) -> Option<(Attribute, &[TokenTree])> {
    let after = match tokens {
        [hash, not, after @ ..] if is_punct(hash, '#') && is_punct(not, '!') => after,
        [hash, after @ ..] if is_punct(hash, '#') => after,
        _ => return None,
    };
    let [TokenTree::Group(group), after @ ..] = after else { return None };
    let content: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_test_only = match content.as_slice() {
        [name, TokenTree::Group(condition)] => is_word(name, "cfg") && requires_test(condition.stream()),
        _ => false,
    };
    let path = match content.as_slice() {
        [name, _, TokenTree::Literal(value)] if is_word(name, "path") => {
            Some(value.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    };
    Some((Attribute { is_test_only, path }, after))
}

/// Whether a condition of `cfg` can only be met in tests: `test`, or `all(…)` with `test` in it.
fn requires_test(condition: TokenStream) -> bool {
    let condition: Vec<TokenTree> = condition.into_iter().collect();
    match condition.as_slice() {
        [name] => is_word(name, "test"),
        [all, TokenTree::Group(group)] if is_word(all, "all") => {
            group.stream().into_iter().any(|token| is_word(&token, "test"))
        }
        _ => false,
    }
}

/// The tokens after the item, field or statement that the tokens begin with.
fn skip_item(tokens: &[TokenTree]) -> &[TokenTree] {
    const ITEMS: [&str; 15] = [
        "mod",
        "use",
        "fn",
        "struct",
        "enum",
        "trait",
        "impl",
        "const",
        "static",
        "type",
        "async",
        "unsafe",
        "extern",
        "macro_rules",
        "let",
    ];
    let mut tokens = tokens;
    while let Some((_, after)) = read_attribute(tokens) {
        tokens = after;
    }
    if let [visibility, after @ ..] = tokens
        && is_word(visibility, "pub")
    {
        tokens = after;
        if let [TokenTree::Group(group), after @ ..] = tokens
            && group.delimiter() == Delimiter::Parenthesis
        {
            tokens = after;
        }
    }
    let Some(first) = tokens.first() else { return tokens };
    let is_item = word(first).is_some_and(|word| ITEMS.contains(&word.as_str()));
    let is_end = |token: &TokenTree| match token {
        // Items end with their body or a semicolon, fields and arms with a comma.
        TokenTree::Group(group) => is_item && group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';') || (!is_item && is_punct(token, ',')),
    };
    let end = match first {
        TokenTree::Group(_) => Some(0),
        _ => tokens.iter().position(is_end),
    };
    end.and_then(|end| tokens.get(end + 1..)).unwrap_or_default()
}

/// The names of a `use` declaration, without `use` and the semicolon.
fn read_use(tokens: &[TokenTree], prefix: &[String], scope: &Scope<'_>) -> Vec<Import> {
    let mut imports = Vec::new();
    for part in tokens.split(|token| is_punct(token, ',')) {
        let mut path = prefix.to_vec();
        let mut position = None;
        let mut name = None;
        let mut is_nested = false;
        let mut rest = part;
        while let [token, after @ ..] = rest {
            rest = after;
            match token {
                TokenTree::Group(group) => {
                    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                    imports.extend(read_use(&inside, &path, scope));
                    is_nested = true;
                }
                TokenTree::Ident(word) if *word == "as" => {
                    name = after.first().map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(word) => {
                    path.push(word.to_string());
                    name = Some(word.to_string());
                    position = Some(scope.position(token));
                }
                token if is_punct(token, '*') => {
                    name = None;
                    position = Some(scope.position(token));
                }
                token if path.is_empty() && is_punct(token, ':') => path.push(String::new()),
                _ => {}
            }
        }
        // `a::{self}` is `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
            if name.as_deref() == Some("self") {
                name = path.last().cloned();
            }
        }
        if let (Some(position), false) = (position, is_nested) {
            imports.push(Import { path, name, position });
        }
    }
    imports
}

/// The path that the tokens begin with, and the tokens after it; empty if they do not begin with a name.
fn read_path(tokens: &[TokenTree]) -> (Vec<String>, &[TokenTree]) {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        path.push(name.to_string());
        rest = after;
        match after {
            // The separator is consumed only if a name follows: not in `a::<T>`.
            [_, _, TokenTree::Ident(_), ..] if is_separator(after) => {
                rest = after.get(2..).unwrap_or_default();
            }
            _ => break,
        }
    }
    (path, rest)
}

/// The arguments of a call that the tokens continue, and what its name gets: `!` for a macro.
fn read_arguments(tokens: &[TokenTree]) -> Option<(&'static str, TokenStream)> {
    match tokens {
        [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
            Some(("", group.stream()))
        }
        [not, TokenTree::Group(group), ..] if is_punct(not, '!') => Some(("!", group.stream())),
        _ => None,
    }
}

/// Whether the tokens begin with `::`.
fn is_separator(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(first), second, ..] => {
            first.as_char() == ':' && first.spacing() == Spacing::Joint && is_punct(second, ':')
        }
        _ => false,
    }
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

pub(crate) fn is_word(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if *ident == wanted)
}

pub(crate) fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// A crate of these files, the first of which is its root.
#[cfg(test)]
pub(crate) fn crate_of(files: &[(&str, &str)]) -> SourceCrate {
    let read = |file: &str| {
        let found = files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| (*text).to_owned()).with_context(|| format!("no file {file}"))
    };
    SourceCrate::load(files[0].0, &read).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<(String, Option<String>, usize)> {
        let crate_ = crate_of(&[("src/lib.rs", text)]);
        let imports = &crate_.modules[&ModulePath::new()].imports;
        imports.iter().map(|i| (i.path.join("::"), i.name.clone(), i.position.line)).collect()
    }

    fn paths(text: &str) -> Vec<String> {
        let crate_ = crate_of(&[("src/lib.rs", text)]);
        crate_.modules[&ModulePath::new()].paths.iter().map(|(path, _)| path.join("::")).collect()
    }

    #[test]
    fn reads_grouped_imports_with_names_and_lines() {
        let text = "pub(in crate::a) use crate::a::{self, b::{C, D as E},\n f::*};\nuse ::g::h;\n";
        let named = |path: &str, name: &str, line| (path.to_owned(), Some(name.to_owned()), line);
        let expected = [
            named("crate::a", "a", 1),
            named("crate::a::b::C", "C", 1),
            named("crate::a::b::D", "E", 1),
            ("crate::a::f".to_owned(), None, 2),
            named("::g::h", "h", 3),
        ];
        assert_eq!(imports(text), expected);
    }

    #[test]
    fn reads_paths_in_code_and_macros_but_not_in_text() {
        let text = "fn f<T>() -> impl Sized + use<T> { call!(crate::a::B { x: super::c::D::<u8>::new() }) }\n\
                    // crate::no::comment\nconst S: &str = \"crate::no::text\";\nfn g(_: ::std::io::Error) {}\n";
        assert_eq!(paths(text), ["crate::a::B", "super::c::D"]);
    }

    #[test]
    fn reads_calls_of_functions_methods_and_macros() {
        let crate_ = crate_of(&[("src/lib.rs", "fn f() { a::b(1).c(d!(2, 3)) }\n")]);
        let calls = &crate_.modules[&ModulePath::new()].calls;
        let calls: Vec<(String, String)> =
            calls.iter().map(|call| (call.path.join("::"), call.arguments.to_string())).collect();
        let found = |path: &str| calls.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_str());
        assert_eq!((found("a::b"), found("d!")), (Some("1"), Some("2 , 3")));
        assert!(found("c").is_some() && found("d").is_none(), "{calls:?}");
    }

    #[test]
    fn leaves_out_what_is_compiled_for_tests_only() {
        let text = "#[cfg(test)]\nuse crate::a::B;\n#[cfg(test)]\nmod tests;\n\
                    #[cfg(all(test, unix))]\n#[allow(unused)]\npub(crate) fn f<A, B>() { crate::a::c(); }\n\
                    struct S {\n #[cfg(test)]\n a: crate::a::D,\n b: crate::a::E,\n}\n\
                    #[cfg(any(test, unix))]\nuse crate::a::F;\n";
        assert_eq!(paths(text), ["crate::a::E"]);
        assert_eq!(imports(text), [("crate::a::F".to_owned(), Some("F".to_owned()), 14)]);
    }

    #[test]
    fn follows_modules_in_files_in_line_and_by_path() {
        let crate_ = crate_of(&[
            (
                "src/lib.rs",
                "mod a;\nmod b { mod c; }\n#[cfg(unix)]\n#[path = \"d/unix.rs\"]\npub(crate) mod d;\n",
            ),
            ("src/a.rs", "mod e;\n"),
            ("src/a/e.rs", "enum InFile { A }\nfn f() { struct Local; }\nimpl T for X { type Item = u8; }\n"),
            ("src/b/c.rs", "trait InLine {}\n"),
            ("src/d/unix.rs", "type ByPath = u8;\n"),
        ]);
        let types = crate_.modules.iter().flat_map(|(path, module)| {
            module.types.iter().map(move |(name, position)| {
                (format!("{}::{name}", path.join("::")), position.file.clone(), position.line)
            })
        });
        let expected =
            [("a::e::InFile", "src/a/e.rs"), ("b::c::InLine", "src/b/c.rs"), ("d::ByPath", "src/d/unix.rs")];
        let expected = expected.map(|(name, file)| (name.to_owned(), file.to_owned(), 1));
        assert_eq!(types.collect::<Vec<_>>(), expected);
    }
}
