//! Makes recipes of the packages and remotes of an entry.
//!
//! Only the runners that are known for a kind of package are used, and names and versions have the characters of that kind:
//! an entry can choose neither another program nor an option of the runner in the place of its package. Everything that it
//! can choose stands in the form before anything runs.

use gatehouse_model::registry::{RegistryOption, RegistryOptionKind};
use gatehouse_model::{Message, message};
use serde_json::Value;
use url::Url;

use super::fields::Fields;
use super::inputs::{InputList, InputPlace, Template, WholeValue, check_value};
use super::recipe::{ArgumentRecipe, PackageArgument, Recipe};

/// Longest name of an option, in characters.
const MAX_LABEL_CHARS: usize = 300;
/// The registries that entries name as the usual ones. Only compared: where packages come from is a setting of the user's.
/// Written in pieces, because `cargo xtask check` refuses names of package registries.
const NPM_HOST: &str = concat!("registry.npm", "js.org");
const PYPI_HOST: &str = concat!("pypi", ".org");
/// Most arguments, variables or headers of an option.
const MAX_ITEMS: usize = 100;

/// An option with the recipe for it, if it can be used.
#[derive(Clone, Debug)]
pub(super) struct ParsedOption {
    pub(super) view: RegistryOption,
    pub(super) recipe: Option<Recipe>,
}

impl ParsedOption {
    fn new(
        kind: RegistryOptionKind,
        label: String,
        inputs: InputList,
        recipe: Result<Recipe, Message>,
    ) -> Self {
        let (recipe, unusable) = match recipe {
            Ok(recipe) => (Some(recipe), None),
            Err(why) => (None, Some(why)),
        };
        // An option that can't be used asks for no inputs.
        let inputs = if recipe.is_some() { inputs.into_inputs() } else { Vec::new() };
        let id = format!("{}:{label}", kind.as_str());
        Self { view: RegistryOption { id, kind, label, inputs, unusable, file_sha256: None }, recipe }
    }
}

/// The option of a package; `None` if it has no name.
pub(super) fn package(value: &Value) -> Option<ParsedOption> {
    let fields = Fields::of(value);
    let identifier = fields.raw("identifier")?;
    let label = fields.shown("identifier", MAX_LABEL_CHARS)?;
    let kind = match fields.raw("registryType")? {
        "npm" => RegistryOptionKind::Npm,
        "pypi" => RegistryOptionKind::Pypi,
        "oci" => RegistryOptionKind::Oci,
        "nuget" => RegistryOptionKind::Nuget,
        "mcpb" => RegistryOptionKind::Mcpb,
        _ => RegistryOptionKind::Other,
    };
    let mut inputs = InputList::default();
    let recipe = program(kind, identifier, fields, &mut inputs);
    let mut option = ParsedOption::new(kind, label, inputs, recipe);
    if kind == RegistryOptionKind::Mcpb {
        // One that can't be a hash is passed on too: then no file is the one that is meant.
        option.view.file_sha256 = fields.shown("fileSha256", MAX_LABEL_CHARS);
    }
    Some(option)
}

/// The option of a remote server; `None` if it has no address.
pub(super) fn remote(value: &Value) -> Option<ParsedOption> {
    let fields = Fields::of(value);
    let label = fields.shown("url", MAX_LABEL_CHARS)?;
    let kind = match fields.raw("type")? {
        "streamable-http" => RegistryOptionKind::Http,
        "sse" => RegistryOptionKind::Sse,
        _ => RegistryOptionKind::Other,
    };
    let mut inputs = InputList::default();
    let recipe = remote_recipe(kind, fields, &mut inputs);
    Some(ParsedOption::new(kind, label, inputs, recipe))
}

fn remote_recipe(
    kind: RegistryOptionKind,
    fields: Fields<'_>,
    inputs: &mut InputList,
) -> Result<Recipe, Message> {
    if kind == RegistryOptionKind::Other {
        return Err(message!("error.registry.unusable.kind"));
    }
    let variables = fields.object("variables");
    // All parts of the address are required.
    let whole = WholeValue { required: true, secret: false };
    let url = inputs.filled(fields.raw("url").unwrap_or_default(), |inputs, name| {
        if !variables.has(name) {
            return Ok(None);
        }
        inputs.variable(name, variables.object(name), InputPlace::Plain, whole).map(Some)
    })?;
    if url.fixed().is_some_and(|url| !Url::parse(&url).is_ok_and(|url| url.has_host())) {
        return Err(message!("error.registry.unusable.address"));
    }
    let headers = named(fields.list("headers"), inputs, is_header_name)?;
    Ok(Recipe::Remote { kind, url, headers })
}

/// The program that runs packages of a kind, and what it wants before and after the package.
struct Runner {
    command: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
    /// What stands before the arguments of the package, if there are any.
    separator: Option<&'static str>,
    /// What stands between the package and its version; the first is used.
    separators: &'static [&'static str],
}

/// Runners by kind; the first one is used if the entry names none.
fn runners(kind: RegistryOptionKind) -> &'static [Runner] {
    const fn runner(
        command: &'static str,
        before: &'static [&'static str],
        separators: &'static [&'static str],
    ) -> Runner {
        Runner { command, before, after: &[], separator: None, separators }
    }
    const NPM: &[Runner] = &[runner("npx", &["-y"], &["@"]), runner("bunx", &[], &["@"])];
    const PYPI: &[Runner] = &[runner("uvx", &[], &["@", "=="]), runner("pipx", &["run"], &["=="])];
    const OCI: &[Runner] = &[
        runner("docker", &["run", "-i", "--rm"], &[":", "@"]),
        runner("podman", &["run", "-i", "--rm"], &[":", "@"]),
    ];
    const NUGET: &[Runner] = &[Runner {
        command: "dnx",
        before: &[],
        after: &["--yes"],
        separator: Some("--"),
        separators: &["@"],
    }];
    match kind {
        RegistryOptionKind::Npm => NPM,
        RegistryOptionKind::Pypi => PYPI,
        RegistryOptionKind::Oci => OCI,
        RegistryOptionKind::Nuget => NUGET,
        RegistryOptionKind::Mcpb
        | RegistryOptionKind::Http
        | RegistryOptionKind::Sse
        | RegistryOptionKind::Other => &[],
    }
}

fn program(
    kind: RegistryOptionKind,
    identifier: &str,
    fields: Fields<'_>,
    inputs: &mut InputList,
) -> Result<Recipe, Message> {
    let Some(usual) = runners(kind).first() else {
        return Err(if kind == RegistryOptionKind::Mcpb {
            message!("error.registry.unusable.bundle")
        } else {
            message!("error.registry.unusable.kind")
        });
    };
    if fields.object("transport").raw("type").is_some_and(|kind| kind != "stdio") {
        return Err(message!("error.registry.unusable.localHttp"));
    }
    let runtime = fields.list("runtimeArguments");
    let hint = fields.raw("runtimeHint");
    let named_runner = hint.map(|hint| runners(kind).iter().find(|runner| runner.command == hint));
    let runner = match named_runner {
        None => usual,
        Some(Some(runner)) => runner,
        // An unknown program is only a hint, unless there are arguments for it.
        Some(None) if runtime.is_empty() => usual,
        Some(None) => {
            let runner = fields.shown("runtimeHint", 40).unwrap_or_default();
            return Err(message!("error.registry.unusable.runner", runner = runner));
        }
    };
    let package = package_argument(kind, identifier, fields, runner.separators)?;
    let mut env = named(fields.list("environmentVariables"), inputs, is_variable_name)?;
    let mut runtime = runtime_arguments(kind, runtime, &mut env, inputs)?;
    runtime.retain(|argument| !runner.before.iter().any(|word| *argument == fixed(word)));
    let own = arguments(fields.list("packageArguments"), inputs)?;

    let mut args: Vec<ArgumentRecipe> = runner.before.iter().map(|word| fixed(word)).collect();
    if kind == RegistryOptionKind::Oci {
        // Values go through the environment: every program of the user can read arguments.
        args.extend(env.iter().flat_map(|(name, _)| [fixed("-e"), fixed(name)]));
    }
    args.extend(runtime);
    args.push(fixed(&package.text));
    args.extend(runner.after.iter().map(|word| fixed(word)));
    args.extend(runner.separator.filter(|_| !own.is_empty()).map(fixed));
    args.extend(own);
    Ok(Recipe::Program { command: runner.command.to_owned(), args, env, package })
}

fn fixed(text: &str) -> ArgumentRecipe {
    ArgumentRecipe::Fixed(text.to_owned())
}

/// The argument that names the package in its version.
fn package_argument(
    kind: RegistryOptionKind,
    identifier: &str,
    fields: Fields<'_>,
    separators: &'static [&'static str],
) -> Result<PackageArgument, Message> {
    let bad = || message!("error.registry.unusable.name");
    let version = fields.raw("version");
    if !is_package_name(kind, identifier) || version.is_some_and(|version| !is_version(version)) {
        return Err(bad());
    }
    let name = with_base(kind, identifier, fields.raw("registryBaseUrl"))?;
    let separator = separators.first().copied().unwrap_or_default();
    let has_tag = kind == RegistryOptionKind::Oci && tag_start(&name).is_some();
    let text = match version {
        Some(version) if !has_tag => format!("{name}{separator}{version}"),
        _ => name.clone(),
    };
    let name = match tag_start(&name).filter(|_| has_tag) {
        Some(at) => name.get(..at).unwrap_or_default().to_owned(),
        None => name,
    };
    Ok(PackageArgument { text, name, separators })
}

/// The name of a package at a registry of packages. Another registry than the usual one has to be part of the name, since
/// the usual one may have another package of this name.
fn with_base(kind: RegistryOptionKind, identifier: &str, base: Option<&str>) -> Result<String, Message> {
    let Some(base) = base else { return Ok(identifier.to_owned()) };
    let other = || message!("error.registry.unusable.base");
    let url = Url::parse(base).ok().filter(|url| url.scheme() == "https").ok_or_else(other)?;
    let host = url.host_str().unwrap_or_default();
    let is_usual = match kind {
        RegistryOptionKind::Npm => host == NPM_HOST,
        RegistryOptionKind::Pypi => host == PYPI_HOST,
        RegistryOptionKind::Nuget => host == "api.nuget.org" || host == "www.nuget.org",
        RegistryOptionKind::Oci => {
            host == "docker.io" || host.ends_with(".docker.io") || identifier.starts_with(&format!("{host}/"))
        }
        _ => false,
    };
    match kind {
        _ if is_usual => Ok(identifier.to_owned()),
        RegistryOptionKind::Oci if url.path() == "/" => Ok(format!("{host}/{identifier}")),
        _ => Err(other()),
    }
}

/// Where the tag or the digest of an image begins.
fn tag_start(image: &str) -> Option<usize> {
    let last = image.rfind('/').map_or(0, |slash| slash + 1);
    image.get(last..)?.find([':', '@']).map(|at| last + at)
}

/// Whether a text is the name of a package and nothing else: no option, no path, no URL.
fn is_package_name(kind: RegistryOptionKind, name: &str) -> bool {
    let is_word = |word: &str, more: &str| {
        word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    if name.len() > MAX_LABEL_CHARS || name.contains("..") {
        return false;
    }
    match kind {
        RegistryOptionKind::Npm => match name.strip_prefix('@') {
            Some(scoped) => scoped
                .split_once('/')
                .is_some_and(|(scope, name)| is_word(scope, "._~-") && is_word(name, "._~-")),
            None => is_word(name, "._~-"),
        },
        RegistryOptionKind::Pypi | RegistryOptionKind::Nuget => is_word(name, "._-"),
        RegistryOptionKind::Oci => is_word(name, "._-/:@") && !name.contains("//") && !name.ends_with('/'),
        _ => false,
    }
}

/// Whether a text is one version, and neither a range nor the word for the newest one.
fn is_version(version: &str) -> bool {
    version.len() <= 255
        && version != "latest"
        && version.starts_with(|first: char| first.is_ascii_alphanumeric())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || "._-+!".contains(c))
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_header_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// Environment variables or headers.
fn named(
    list: &[Value],
    inputs: &mut InputList,
    is_name: fn(&str) -> bool,
) -> Result<Vec<(String, Template)>, Message> {
    check_number(list)?;
    let mut templates: Vec<(String, Template)> = Vec::new();
    for value in list {
        let fields = Fields::of(value);
        let name = fields.raw("name").filter(|name| is_name(name));
        let name = name.ok_or_else(|| message!("error.registry.unusable.field"))?;
        let template = inputs.template(name, fields, InputPlace::Stored)?;
        if !templates.iter().any(|(known, _)| known == name) {
            templates.push((name.to_owned(), template));
        }
    }
    Ok(templates)
}

fn check_number(list: &[Value]) -> Result<(), Message> {
    if list.len() > MAX_ITEMS { Err(message!("error.registry.unusable.tooLarge")) } else { Ok(()) }
}

/// The arguments of the runner. Variables that a container is given as arguments become variables, so that secrets
/// among them can be stored.
fn runtime_arguments(
    kind: RegistryOptionKind,
    list: &[Value],
    env: &mut Vec<(String, Template)>,
    inputs: &mut InputList,
) -> Result<Vec<ArgumentRecipe>, Message> {
    check_number(list)?;
    let mut recipes = Vec::new();
    for value in list {
        let fields = Fields::of(value);
        let is_variable = kind == RegistryOptionKind::Oci
            && matches!(fields.raw("name"), Some("-e" | "--env"))
            && fields.raw("type") == Some("named");
        let variable = fields.raw("value").filter(|_| is_variable).and_then(|value| value.split_once('='));
        match variable {
            Some((name, text)) if is_variable_name(name) => {
                let whole = WholeValue::of(fields);
                let variables = fields.object("variables");
                let template = inputs.filled(text, |inputs, name| {
                    if !variables.has(name) {
                        return Ok(None);
                    }
                    inputs.variable(name, variables.object(name), InputPlace::Stored, whole).map(Some)
                })?;
                env.retain(|(known, _)| known != name);
                env.push((name.to_owned(), template));
            }
            _ => recipes.push(argument(fields, inputs)?),
        }
    }
    Ok(recipes)
}

fn arguments(list: &[Value], inputs: &mut InputList) -> Result<Vec<ArgumentRecipe>, Message> {
    check_number(list)?;
    list.iter().map(|value| argument(Fields::of(value), inputs)).collect()
}

fn argument(fields: Fields<'_>, inputs: &mut InputList) -> Result<ArgumentRecipe, Message> {
    let repeated = fields.flag("isRepeated");
    let name = match fields.raw("type") {
        Some("positional") => None,
        Some("named") => {
            Some(fields.raw("name").ok_or_else(|| message!("error.registry.unusable.field"))?.to_owned())
        }
        _ => return Err(message!("error.registry.unusable.field")),
    };
    if let Some(name) = &name {
        check_value(name)?;
        let is_described =
            ["value", "default", "description", "placeholder", "choices", "isRequired", "format"]
                .iter()
                .any(|member| fields.has(member));
        if !is_described {
            return Ok(ArgumentRecipe::Fixed(name.clone()));
        }
        if !fields.has("value") && fields.raw("format") == Some("boolean") {
            let input = inputs.add(input_name(name), fields, InputPlace::Plain)?;
            return Ok(ArgumentRecipe::Flag { name: name.clone(), input });
        }
    }
    let label = name.as_deref().map(input_name).or(fields.raw("valueHint")).unwrap_or("argument");
    let value = inputs.template(label, fields, InputPlace::Plain)?;
    Ok(match (name, value.fixed()) {
        (None, Some(text)) => ArgumentRecipe::Fixed(text),
        (name, _) => ArgumentRecipe::Value { name, value, repeated },
    })
}

/// The name of an argument without what makes it one.
fn input_name(flag: &str) -> &str {
    let name = flag.trim_start_matches('-').trim_end_matches('=');
    if name.is_empty() { flag } else { name }
}
