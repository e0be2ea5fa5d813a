//! Settings that are made of entries: one of each kind of package and of remote, as publishers write them.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_integrations::{RegistryChoice, RegistryError, RegistryQuery};
use gatehouse_model::Transport;
use gatehouse_model::composed_secret::SecretPart;
use gatehouse_model::registry::{RegistryDraft, RegistryEntry};
use serde_json::{Value, json};

use crate::test_registry::{Asking, Reply, TestRegistry, listed};

const NAME: &str = "io.example/weather";

fn with_package(package: Value) -> Value {
    json!({"name": NAME, "description": "Says the weather", "version": "2.0.0", "packages": [package]})
}

fn with_remote(remote: Value) -> Value {
    json!({"name": NAME, "description": "Says the weather", "version": "2.0.0", "remotes": [remote]})
}

struct Filled {
    entry: RegistryEntry,
    draft: Result<RegistryDraft, RegistryError>,
}

/// What comes of the first option of an entry with these values and secrets.
async fn fill(server: &Value, values: &[(&str, &str)], secrets: &[&str]) -> Filled {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    registry.publish(server).await;
    let list = json!({"servers": [listed(server)]}).to_string();
    registry.reply("/v0.1/servers", Reply::Body(list)).await;
    let query = RegistryQuery { text: "", cursor: None, refresh: false };
    let page = asking.registry.search(&registry.address, query).await.unwrap();
    let entry = page.entries.into_iter().next().unwrap();
    let values: BTreeMap<String, String> =
        values.iter().map(|&(id, value)| (id.to_owned(), value.to_owned())).collect();
    let secrets: Vec<String> = secrets.iter().map(|&id| id.to_owned()).collect();
    let choice = RegistryChoice {
        name: NAME,
        version: "2.0.0",
        option: entry.options.first().map_or("", |option| &option.id),
        values: &values,
        secrets: &secrets,
    };
    let draft = asking.registry.draft(&registry.address, choice).await;
    Filled { entry, draft }
}

/// The command line of a draft, and its variables.
fn command_line(draft: &RegistryDraft) -> (String, Vec<(&str, &str)>) {
    let Transport::Stdio { command, args, env, .. } = &draft.draft.transport else { panic!("{draft:?}") };
    let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
    (words.join(" "), env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
}

/// Packages with the command lines that they become without any value.
/// Values, the inputs that a secret is given for, and why they are refused.
type RefusedValues<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], RegistryError);

#[tokio::test]
async fn each_kind_of_package_has_its_command() {
    let table = [
        (
            json!({"registryType": "npm", "registryBaseUrl": concat!("https://registry.npm", "js.org"),
                "identifier": "@example/weather", "version": "1.0.2", "transport": {"type": "stdio"}}),
            "npx -y @example/weather@1.0.2",
        ),
        (
            json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2", "runtimeHint": "npx",
                "runtimeArguments": [{"type": "named", "name": "-y"}, {"type": "named", "name": "--quiet"}],
                "packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "named", "name": "--stdio"}]}),
            "npx -y --quiet weather@1.0.2 mcp --stdio",
        ),
        (
            json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2", "runtimeHint": "bunx"}),
            "bunx weather@1.0.2",
        ),
        (
            json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2", "runtimeHint": "node"}),
            "npx -y weather@1.0.2",
        ),
        (json!({"registryType": "npm", "identifier": "weather"}), "npx -y weather"),
        (
            json!({"registryType": "pypi", "registryBaseUrl": concat!("https://pypi", ".org"),
                "identifier": "weather-mcp", "version": "0.5.0", "runtimeHint": "uvx"}),
            "uvx weather-mcp@0.5.0",
        ),
        (
            json!({"registryType": "pypi", "identifier": "weather-mcp", "version": "0.5.0", "runtimeHint": "pipx"}),
            "pipx run weather-mcp==0.5.0",
        ),
        (
            json!({"registryType": "oci", "registryBaseUrl": "https://docker.io",
                "identifier": "mcp/weather", "version": "1.0.2"}),
            "docker run -i --rm mcp/weather:1.0.2",
        ),
        (
            json!({"registryType": "oci", "identifier": "ghcr.io/example/weather:1.0.2",
                "runtimeArguments": [{"type": "positional", "value": "run"}, {"type": "named", "name": "--network",
                    "value": "host"}]}),
            "docker run -i --rm --network host ghcr.io/example/weather:1.0.2",
        ),
        (
            json!({"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "example/weather",
                "version": "1.0.2", "runtimeHint": "podman"}),
            "podman run -i --rm ghcr.io/example/weather:1.0.2",
        ),
        (
            json!({"registryType": "nuget", "identifier": "Example.Weather", "version": "0.5.0-beta"}),
            "dnx Example.Weather@0.5.0-beta --yes",
        ),
        (
            json!({"registryType": "nuget", "identifier": "Example.Weather", "version": "0.5.0",
                "packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "positional", "value": "start"}]}),
            "dnx Example.Weather@0.5.0 --yes -- mcp start",
        ),
    ];
    for (package, expected) in table {
        let filled = fill(&with_package(package), &[], &[]).await;
        let draft = filled.draft.unwrap();
        assert_eq!(command_line(&draft), (expected.to_owned(), Vec::new()));
        assert_eq!(draft.draft.name, "weather");
        assert_eq!(draft.draft.look.description.as_deref(), Some("Says the weather"));
        let source = draft.draft.registry.unwrap();
        assert_eq!((source.name.as_str(), source.version.as_str()), (NAME, "2.0.0"));
    }
}

#[tokio::test]
async fn what_is_entered_goes_where_the_entry_says() {
    let package = json!({
        "registryType": "npm", "identifier": "weather", "version": "1.0.2",
        "packageArguments": [
            {"type": "positional", "valueHint": "folder", "isRequired": true, "isRepeated": true, "format": "filepath"},
            {"type": "named", "name": "--units", "default": "celsius", "choices": ["celsius", "fahrenheit"]},
            {"type": "named", "name": "--verbose", "format": "boolean"},
            {"type": "named", "name": "--port=", "format": "number", "description": "Port"},
            {"type": "named", "name": "--at", "value": "{city},{country}", "variables": {
                "city": {"isRequired": true}, "country": {"value": "DE"}}},
        ],
        "environmentVariables": [
            {"name": "API_KEY", "isRequired": true, "isSecret": true, "description": "From your account"},
            {"name": "LOG_LEVEL", "default": "info"},
            {"name": "FIXED", "value": "{unknown} stays"},
            {"name": "UNSET"},
        ],
    });
    let server = with_package(package);
    let values = [("folder", "/a b\n\n/c"), ("verbose", "true"), ("port", "8080"), ("city", "Bonn")];
    let filled = fill(&server, &values, &["API_KEY"]).await;
    let draft = filled.draft.unwrap();
    assert_eq!(
        command_line(&draft),
        (
            "npx -y weather@1.0.2 /a b /c --units celsius --verbose --port=8080 --at Bonn,DE".to_owned(),
            vec![("API_KEY", "${secret:API_KEY}"), ("FIXED", "{unknown} stays"), ("LOG_LEVEL", "info")]
        )
    );
    assert_eq!(draft.secrets.len(), 1);
    assert_eq!(draft.secrets[0].field, "env/API_KEY");
    assert_eq!(draft.secrets[0].parts, [SecretPart::Input("API_KEY".into())]);
    let ids: Vec<&str> = filled.entry.options[0].inputs.iter().map(|input| input.id.as_str()).collect();
    assert_eq!(
        ids,
        ["API_KEY", "LOG_LEVEL", "UNSET", "folder", "units", "verbose", "port", "city"],
        "what is fixed is not asked for"
    );

    let wrong: [RefusedValues<'_>; 7] = [
        (&[], &["API_KEY"], RegistryError::MissingInput { input: "folder".into() }),
        (&[("folder", "/a")], &["API_KEY"], RegistryError::MissingInput { input: "city".into() }),
        (&[("folder", "/a"), ("city", "x")], &[], RegistryError::MissingInput { input: "API_KEY".into() }),
        (
            &[("folder", "/a"), ("city", "x"), ("API_KEY", "in plain text")],
            &[],
            RegistryError::BadInput { input: "API_KEY".into() },
        ),
        (
            &[("folder", "/a"), ("city", "x"), ("units", "kelvin")],
            &["API_KEY"],
            RegistryError::BadInput { input: "units".into() },
        ),
        (
            &[("folder", "/a"), ("city", "x"), ("port", "eighty")],
            &["API_KEY"],
            RegistryError::BadInput { input: "port".into() },
        ),
        (
            &[("folder", "/a"), ("city", "x"), ("more", "x")],
            &["API_KEY"],
            RegistryError::BadInput { input: "more".into() },
        ),
    ];
    for (values, secrets, expected) in wrong {
        assert_eq!(fill(&server, values, secrets).await.draft.unwrap_err(), expected, "{values:?}");
    }
}

#[tokio::test]
async fn variables_of_containers_stay_out_of_the_command_line() {
    let package = json!({
        "registryType": "oci", "identifier": "docker.io/example/db:3.1.0",
        "runtimeArguments": [
            {"type": "named", "name": "-e", "value": "DB_TOKEN={token}", "isRepeated": true,
                "variables": {"token": {"isRequired": true, "isSecret": true}}},
            {"type": "named", "name": "--mount", "value": "type=bind,src={source},dst=/data",
                "variables": {"source": {"isRequired": true, "format": "filepath"}}},
        ],
        "environmentVariables": [{"name": "SSL_MODE", "default": "prefer"}],
    });
    let filled = fill(&with_package(package), &[("source", "/home/ana")], &["token"]).await;
    let draft = filled.draft.unwrap();
    assert_eq!(
        command_line(&draft),
        (
            "docker run -i --rm -e SSL_MODE -e DB_TOKEN --mount type=bind,src=/home/ana,dst=/data docker.io/example/db:3.1.0"
                .to_owned(),
            vec![("DB_TOKEN", "${secret:DB_TOKEN}"), ("SSL_MODE", "prefer")]
        )
    );
    assert_eq!(draft.secrets[0].field, "env/DB_TOKEN");
}

#[tokio::test]
async fn remotes_have_urls_and_headers() {
    let remote = json!({
        "type": "streamable-http", "url": "https://{tenant}.example.com/mcp/{region}",
        "variables": {"tenant": {"description": "Your tenant"}, "region": {"default": "eu", "choices": ["eu", "us"]}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isRequired": true,
                "variables": {"token": {"isSecret": true, "isRequired": true}}},
            {"name": "X-Trace", "value": "on"},
            {"name": "X-Api-Key", "isSecret": true},
        ],
    });
    let filled = fill(&with_remote(remote), &[("tenant", "acme")], &["token"]).await;
    let RegistryDraft { draft, secrets } = filled.draft.unwrap();
    let Transport::Http(remote) = &draft.transport else { panic!("{draft:?}") };
    assert_eq!(remote.url, "https://acme.example.com/mcp/eu");
    let headers: Vec<(&str, &str)> =
        remote.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("Authorization", "${secret:Authorization}"), ("X-Trace", "on")]);
    assert_eq!(secrets.len(), 1);
    assert_eq!(secrets[0].field, "headers/Authorization");
    assert_eq!(secrets[0].parts, [SecretPart::Text("Bearer ".into()), SecretPart::Input("token".into())]);

    let sse = json!({"type": "sse", "url": "https://example.com/sse"});
    let filled = fill(&with_remote(sse), &[], &[]).await;
    assert!(matches!(filled.draft.unwrap().draft.transport, Transport::Sse(_)));

    let template = json!({"type": "sse", "url": "{base}/sse", "variables": {"base": {"isSecret": true}}});
    let filled = fill(&with_remote(template.clone()), &[("base", "https://a.example")], &[]).await;
    let input = &filled.entry.options[0].inputs[0];
    assert!(input.plain_secret && !input.secret && input.required, "{input:?}");
    assert!(filled.draft.is_ok());
    let filled = fill(&with_remote(template), &[("base", "file:///etc")], &[]).await;
    assert_eq!(filled.draft.unwrap_err(), RegistryError::BadUrl);
}

/// Options that nothing is made of, with a word of the reason.
#[tokio::test]
async fn says_why_an_option_cannot_be_used() {
    let npm = |more: Value| {
        let mut package = json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2"});
        for (name, value) in more.as_object().unwrap() {
            package[name] = value.clone();
        }
        package
    };
    let named = |identifier: &str| npm(json!({"identifier": identifier}));
    let pass = |value: &str| npm(json!({"environmentVariables": [{"name": "A", "value": value}]}));
    let table = [
        (json!({"registryType": "mcpb", "identifier": "https://github.com/a/b/c.mcpb"}), "bundle"),
        (json!({"registryType": "cargo", "identifier": "weather"}), "kind"),
        (npm(json!({"transport": {"type": "streamable-http", "url": "http://localhost/"}})), "localHttp"),
        (npm(json!({"registryBaseUrl": "https://npm.evil.example"})), "base"),
        (npm(json!({"registryBaseUrl": concat!("http://registry.npm", "js.org")})), "base"),
        (
            npm(json!({"runtimeHint": "bash", "runtimeArguments": [{"type": "named", "name": "-c"}]})),
            "runner",
        ),
        (npm(json!({"version": "latest"})), "name"),
        (npm(json!({"version": "1.0 --registry=x"})), "name"),
        (npm(json!({"version": "^1.0.0"})), "name"),
        (named("--registry=https://evil.example"), "name"),
        (named("github:evil/weather"), "name"),
        (named("https://evil.example/x.tgz"), "name"),
        (named("../weather"), "name"),
        (named("a b"), "name"),
        (npm(json!({"packageArguments": [{"type": "positional", "value": "x\u{202e}y"}]})), "hidden"),
        (npm(json!({"packageArguments": [{"type": "named", "name": "--a\u{200b}"}]})), "hidden"),
        (npm(json!({"packageArguments": [{"type": "named"}]})), "field"),
        (npm(json!({"packageArguments": [7]})), "field"),
        (npm(json!({"environmentVariables": [{"name": "A=B"}]})), "field"),
        (npm(json!({"environmentVariables": [{"name": "A", "default": "x".repeat(5000)}]})), "tooLarge"),
        (pass("${env:AWS_SECRET_ACCESS_KEY}"), "reference"),
        (pass("a ${secret:TOKEN}"), "reference"),
        (npm(json!({"environmentVariables": [{"name": "A", "default": "${env:HOME}"}]})), "reference"),
    ];
    for (package, expected) in table {
        let filled = fill(&with_package(package.clone()), &[], &[]).await;
        let option = &filled.entry.options[0];
        let key = option.unusable.as_ref().map(|why| why.key.as_str());
        assert_eq!(key, Some(&*format!("error.registry.unusable.{expected}")), "{package}");
        assert!(option.inputs.is_empty(), "{option:?}");
        assert!(matches!(filled.draft, Err(RegistryError::Unusable(_))), "{package}");
    }
}

/// The hash of a bundle's file, which only a bundle has. One that can't be a hash stays, so that no file is taken for it.
#[tokio::test]
async fn tells_the_hash_of_a_bundle() {
    let hash = "ab".repeat(32);
    let bundle = json!({"registryType": "mcpb", "identifier": "https://github.com/a/b/c.mcpb"});
    let with_hash = |package: &Value, hash: &str| {
        let mut package = package.clone();
        package["fileSha256"] = json!(hash);
        package
    };
    let npm = json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2"});
    let table = [
        (with_hash(&bundle, &hash), Some(&*hash)),
        (with_hash(&bundle, "none"), Some("none")),
        (bundle, None),
        (with_hash(&npm, &hash), None),
    ];
    for (package, expected) in table {
        let filled = fill(&with_package(package.clone()), &[], &[]).await;
        assert_eq!(filled.entry.options[0].file_sha256.as_deref(), expected, "{package}");
    }
}

/// A reference to a secret or a variable can't be put together of several parts either.
#[tokio::test]
async fn refuses_references_in_parts() {
    let remote = json!({
        "type": "streamable-http", "url": "https://evil.example/mcp",
        "headers": [{"name": "X-Note", "value": "{a}{b}", "variables": {
            "a": {"value": "$"}, "b": {"value": "{env:HOME}"}}}],
    });
    let filled = fill(&with_remote(remote), &[], &[]).await;
    assert_eq!(filled.draft.unwrap_err(), RegistryError::BadInput { input: "X-Note".into() });
}

/// The files of earlier answers can be written by every program of the user.
#[tokio::test]
async fn no_settings_are_made_of_what_stands_on_the_disk() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let server = with_package(json!({"registryType": "npm", "identifier": "weather", "version": "1.0.2"}));
    registry.publish(&server).await;
    let (address, values) = (registry.address.clone(), BTreeMap::new());
    let choice =
        RegistryChoice { name: NAME, version: "2.0.0", option: "npm:weather", values: &values, secrets: &[] };
    let draft = asking.registry.draft(&address, choice).await.unwrap();
    assert_eq!(command_line(&draft).0, "npx -y weather@1.0.2");
    drop(registry);
    asking.clock.advance(Duration::from_secs(86_400));
    // What the registry said in this run still counts, and after a restart only what it says then.
    assert!(asking.registry.draft(&address, choice).await.is_ok());
    let again = Asking::restarted(&asking.folder, &asking.clock);
    let refused = again.draft(&address, choice).await.unwrap_err();
    assert!(matches!(refused, RegistryError::Unreachable { .. }), "{refused:?}");
}
