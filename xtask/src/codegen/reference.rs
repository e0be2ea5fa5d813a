//! The configuration reference of the user docs: each member of what people may write, with its type, its default and its
//! meaning. Members and meanings come from the declarations that are generated for the UI, defaults from the types
//! themselves; a member without a doc comment is an error, so that nothing is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use gatehouse_model::profile::{
    MAX_CALLS_PER_MINUTE, MAX_FOLDERS, ProfileServer, ProfileSettings, ToolSelection,
};
use gatehouse_model::server::{
    Builtin, HeaderProgram, RegistrySource, Remote, ServerAppearance, ServerLimits,
};
use gatehouse_model::settings::{CallLimits, MIN_AUDIT_DAYS, PackageSource, PackageSources};
use gatehouse_model::sign_in::{RegisteredClient, SignInEndpoints, SignInMethod, SignInSettings};
use gatehouse_model::{ServerConfig, Settings, Transport};
use serde_json::{Value, from_value, json, to_value};

use super::declarations::{TypeMember, definition, objects};
use crate::markdown::anchor;

/// The declarations by the names of their types.
type Types = BTreeMap<String, String>;

const HEAD: &str = "\
<!-- Written by `cargo xtask codegen` from crates/model; changes here are lost. -->

# Configuration reference

This page lists what can be set for servers, for Gatehouse as a whole, and in profiles. \"required\" means that there is no
default; \"none\" means that the member is empty or absent unless it is set.

## servers.json

`servers.json` is in Gatehouse's data folder. Its member `mcpServers` has one entry for each server, by name:

```json
{
  \"version\": 1,
  \"mcpServers\": {
    \"Documents\": {
      \"command\": \"npx\",
      \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/ana/Documents\"]
    },
    \"Tickets\": {
      \"url\": \"https://tickets.example.com/mcp\",
      \"headers\": { \"X-Key\": \"${secret:X-Key}\" }
    }
  }
}
```

You may edit the file. What changes how a server is reached, started or limited waits under **Approvals** until you accept it;
what only people see takes effect at once. A file that can't be read is reported and never overwritten, and one bad entry
doesn't affect the others.

The name of an entry is the server's name, and the prefix of its tools where two servers have a tool of the same name. `type`
says how a server is reached: `stdio`, `auto`, `http`, `sse`, `ws` or `builtin`. Without it, an entry with `command` is a
program, one with `url` is found out, and one with `builtin` is built in. The member `gatehouse` is Gatehouse's own; leave it as
it is.

In values of `env` and `headers`, `${secret:NAME}` stands for a secret in the keychain, and `${env:NAME}` for a variable of
Gatehouse's environment.
";

const SETTINGS: &str = "
## Settings

These are set under **Settings**, or with `gatehousectl settings set`. `gatehousectl settings show --json` prints them with the
names below. They are sealed, so they are in no file that can be edited.
";

const PROFILES: &str = "
## Profiles

A profile sets what its clients see. Profiles are edited under **Clients**, or with `gatehousectl profiles`, and
`gatehousectl profiles show NAME --json` prints one. They are sealed, so they are in no file that can be edited.
";

/// The members of one type.
struct ReferenceTable {
    heading: &'static str,
    /// What stands before the table.
    intro: &'static str,
    type_name: &'static str,
    /// Members that are not in this place of the file.
    elsewhere: &'static [&'static str],
    samples: fn() -> serde_json::Result<Vec<ReferenceSample>>,
}

/// A value of the type, by which required members and defaults are known. An enum has one for each variant.
struct ReferenceSample {
    /// Only what is required.
    minimal: Value,
    /// The same after it was read: with all defaults.
    filled: Value,
    /// What the variant is; empty for a struct.
    meaning: &'static str,
}

/// A sample of a type that is read from JSON.
macro_rules! sample {
    ($type:ty, $minimal:tt) => {
        sample!($type, $minimal, "")
    };
    ($type:ty, $minimal:tt, $meaning:literal) => {{
        let minimal = json!($minimal);
        let filled = to_value(from_value::<$type>(minimal.clone())?)?;
        ReferenceSample { minimal, filled, meaning: $meaning }
    }};
}

static SERVERS: [ReferenceTable; 12] = [
    ReferenceTable {
        heading: "Every entry",
        intro: "Members of every entry, beside those below. Built-in servers have no `protocolVersion`.",
        type_name: "ServerConfig",
        elsewhere: &["id", "generation", "origin", "name", "transport", "look"],
        samples: || {
            let transport = Transport::Builtin { builtin: Builtin::Time };
            let filled = to_value(ServerConfig::new("", "", transport))?;
            Ok(vec![ReferenceSample { minimal: json!({}), filled, meaning: "" }])
        },
    },
    ReferenceTable {
        heading: "Appearance",
        intro: "Members of every entry that only people see.",
        type_name: "ServerAppearance",
        elsewhere: &[],
        samples: || Ok(vec![sample!(ServerAppearance, {})]),
    },
    ReferenceTable {
        heading: "A program on this computer",
        intro: "Members of an entry of the type `stdio`.",
        type_name: "Transport",
        elsewhere: &["type"],
        samples: || Ok(vec![sample!(Transport, { "type": "stdio", "command": "" })]),
    },
    ReferenceTable {
        heading: "A remote server",
        intro: "Members of an entry of the type `auto`, `http`, `sse` or `ws`.",
        type_name: "Remote",
        elsewhere: &[],
        samples: || Ok(vec![sample!(Remote, { "url": "" })]),
    },
    ReferenceTable {
        heading: "A program that prints headers",
        intro: "The member `headersFrom` of a remote server.",
        type_name: "HeaderProgram",
        elsewhere: &[],
        samples: || Ok(vec![sample!(HeaderProgram, { "command": "" })]),
    },
    ReferenceTable {
        heading: "Sign-in",
        intro: "The member `signIn` of a remote server.",
        type_name: "SignInSettings",
        elsewhere: &[],
        samples: || Ok(vec![sample!(SignInSettings, {})]),
    },
    ReferenceTable {
        heading: "A registered client",
        intro: "The member `client` of `signIn`.",
        type_name: "RegisteredClient",
        elsewhere: &[],
        samples: || Ok(vec![sample!(RegisteredClient, { "id": "" })]),
    },
    ReferenceTable {
        heading: "Endpoints",
        intro: "The member `endpoints` of `signIn`.",
        type_name: "SignInEndpoints",
        elsewhere: &[],
        samples: || Ok(vec![sample!(SignInEndpoints, { "authorize": "", "token": "" })]),
    },
    ReferenceTable {
        heading: "Who signs in",
        intro: "The member `with` of `signIn`.",
        type_name: "SignInMethod",
        elsewhere: &[],
        samples: || {
            Ok(vec![
                sample!(SignInMethod, { "with": "browser" }, "You, in your browser."),
                sample!(SignInMethod, { "with": "client_secret" }, "A registered client, by its secret."),
                sample!(
                    SignInMethod,
                    { "with": "client_key", "key": "", "algorithm": "" },
                    "A registered client, by its private key."
                ),
                sample!(
                    SignInMethod,
                    { "with": "enterprise", "issuer": "", "client": "" },
                    "You, through your company's identity provider."
                ),
            ])
        },
    },
    ReferenceTable {
        heading: "A built-in server",
        intro: "The member `builtin` of an entry of the type `builtin`.",
        type_name: "Builtin",
        elsewhere: &[],
        samples: || {
            Ok(vec![
                sample!(Builtin, { "kind": "time" }, "The time in any zone."),
                sample!(Builtin, { "kind": "notes" }, "A small memory with search."),
                sample!(Builtin, { "kind": "files", "folder": "" }, "One folder that you pick."),
                sample!(Builtin, { "kind": "fetch" }, "One web page as text."),
            ])
        },
    },
    ReferenceTable {
        heading: "Limits",
        intro: "The member `limits` of every entry. For `callSecs` and `callCapSecs`, `\"default\"` is the limit of all servers, \
                and `null` is none.",
        type_name: "ServerLimits",
        elsewhere: &[],
        samples: || Ok(vec![sample!(ServerLimits, {})]),
    },
    ReferenceTable {
        heading: "Registry",
        intro: "The member `registry` of an entry that came from the MCP registry.",
        type_name: "RegistrySource",
        elsewhere: &[],
        samples: || Ok(vec![sample!(RegistrySource, { "name": "", "version": "" })]),
    },
];

static GATEHOUSE: [ReferenceTable; 4] = [
    ReferenceTable {
        heading: "Gatehouse as a whole",
        intro: "",
        type_name: "Settings",
        elsewhere: &[],
        samples: || Ok(vec![sample!(Settings, {})]),
    },
    ReferenceTable {
        heading: "Time limits of calls",
        intro: "The member `calls`. Time in which Gatehouse waits for a person doesn't count.",
        type_name: "CallLimits",
        elsewhere: &[],
        samples: || {
            let filled = to_value(CallLimits::default())?;
            Ok(vec![ReferenceSample { minimal: json!({}), filled, meaning: "" }])
        },
    },
    ReferenceTable {
        heading: "Package registries",
        intro: "The member `packages`.",
        type_name: "PackageSources",
        elsewhere: &[],
        samples: || Ok(vec![sample!(PackageSources, {})]),
    },
    ReferenceTable {
        heading: "A package registry",
        intro: "One of the members of `packages`.",
        type_name: "PackageSource",
        elsewhere: &[],
        samples: || {
            Ok(vec![
                sample!(
                    PackageSource,
                    { "from": "fastest" },
                    "The fastest of the mirrors that the administrator lists; without any, the package manager's own."
                ),
                sample!(PackageSource, { "from": "usual" }, "The package manager's own."),
                sample!(PackageSource, { "from": "custom", "url": "" }, "The one at this address."),
            ])
        },
    },
];

static OF_PROFILES: [ReferenceTable; 3] = [
    ReferenceTable {
        heading: "A profile",
        intro: "",
        type_name: "ProfileSettings",
        elsewhere: &[],
        samples: || {
            let mut sample = sample!(ProfileSettings, {});
            sample.minimal = json!({ "name": "" });
            Ok(vec![sample])
        },
    },
    ReferenceTable {
        heading: "A server in a profile",
        intro: "The items of `servers`.",
        type_name: "ProfileServer",
        elsewhere: &[],
        samples: || Ok(vec![sample!(ProfileServer, { "server": "", "tools": { "shows": "all" } })]),
    },
    ReferenceTable {
        heading: "What is shown of a server",
        intro: "The member `tools` of a server in a profile.",
        type_name: "ToolSelection",
        elsewhere: &[],
        samples: || {
            Ok(vec![
                sample!(
                    ToolSelection,
                    { "shows": "all" },
                    "Everything, also tools that the server adds later."
                ),
                sample!(
                    ToolSelection,
                    { "shows": "only", "tools": [] },
                    "These tools, and its resources and prompts."
                ),
                sample!(
                    ToolSelection,
                    { "shows": "except", "tools": [] },
                    "All tools but these, and its resources and prompts."
                ),
                sample!(ToolSelection, { "shows": "nothing" }, "Neither tools nor resources nor prompts."),
            ])
        },
    },
];

/// The text of the reference.
pub(super) fn generate(types: &Types) -> Result<String> {
    let mut text = HEAD.to_owned();
    for (intro, tables) in [("", &SERVERS[..]), (SETTINGS, &GATEHOUSE[..]), (PROFILES, &OF_PROFILES[..])] {
        text.push_str(intro);
        for table in tables {
            write_table(&mut text, table, types)
                .with_context(|| format!("the reference of {}", table.type_name))?;
        }
    }
    Ok(text)
}

fn write_table(text: &mut String, table: &ReferenceTable, types: &Types) -> Result<()> {
    let objects = objects(types.get(table.type_name).context("is not exported")?)?;
    write!(text, "\n### {}\n\n", table.heading)?;
    if !table.intro.is_empty() {
        write!(text, "{}\n\n", table.intro)?;
    }
    text.push_str("| Member | Value | Default | Meaning |\n|---|---|---|---|\n");
    let samples = (table.samples)()?;
    // A transport has tables of its own for its other variants.
    if samples.len() != objects.len() && table.type_name != "Transport" {
        bail!("it has {} variants, and {} are described", objects.len(), samples.len());
    }
    for sample in &samples {
        let object = objects.iter().find(|object| sample.is_of(object)).context("a variant is gone")?;
        for member in object.iter().filter(|member| !table.elsewhere.contains(&member.name.as_str())) {
            let name = &member.name;
            let meaning = if member.is_tag() { sample.meaning } else { member.doc.as_str() };
            if meaning.is_empty() {
                bail!("`{name}` has no doc comment");
            }
            let (kind, default) = (kind_in_words(&member.kind, types)?, sample.default_of(name));
            writeln!(text, "| `{name}` | {kind} | {default} | {} |", meaning_for_people(meaning)?)?;
        }
    }
    Ok(())
}

impl ReferenceSample {
    /// Whether it is of this variant; a struct has no tag.
    fn is_of(&self, object: &[TypeMember]) -> bool {
        let is_tagged_so = |tag: &TypeMember| {
            self.minimal.get(&tag.name).and_then(Value::as_str) == Some(tag.kind.trim_matches('"'))
        };
        object.iter().filter(|member| member.is_tag()).all(is_tagged_so)
    }

    /// What a member is unless it is set.
    fn default_of(&self, name: &str) -> String {
        if self.minimal.get(name).is_some() {
            return "required".to_owned();
        }
        match self.filled.get(name) {
            None | Some(Value::Null) => "none".to_owned(),
            Some(Value::Array(items)) if items.is_empty() => "none".to_owned(),
            Some(Value::Object(members)) if members.is_empty() => "none".to_owned(),
            // Its members have defaults of their own.
            Some(Value::Object(_)) => "as there".to_owned(),
            Some(value) => format!("`{value}`"),
        }
    }
}

/// A type in words, with a link to its table.
fn kind_in_words(kind: &str, types: &Types) -> Result<String> {
    let parts: Vec<String> =
        kind.split(" | ").map(|part| part_in_words(part.trim(), types)).collect::<Result<_>>()?;
    Ok(match parts.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => parts.concat(),
    })
}

fn part_in_words(part: &str, types: &Types) -> Result<String> {
    if part.starts_with('"') || part == "null" {
        return Ok(format!("`{part}`"));
    }
    if let Some(item) = part.strip_prefix("Array<").and_then(|rest| rest.strip_suffix('>')) {
        return Ok(match item {
            "string" => "list of texts".to_owned(),
            _ => format!("list of {}", part_in_words(item, types)?),
        });
    }
    Ok(match part {
        "string" => "text".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "{ [key in string]: string }" => "texts by name".to_owned(),
        name => {
            let mut all = SERVERS.iter().chain(&GATEHOUSE).chain(&OF_PROFILES);
            if let Some(table) = all.find(|table| table.type_name == name) {
                return Ok(format!("[object](#{})", anchor(table.heading)));
            }
            let definition = definition(types.get(name).with_context(|| format!("no type {name}"))?)?;
            if definition.contains('{') {
                bail!("the type {name} has no table");
            }
            kind_in_words(definition, types)?
        }
    })
}

/// A doc comment without what only developers need: ids of requirements, and constants in place of their values.
fn meaning_for_people(doc: &str) -> Result<String> {
    let doc = doc
        .replace("[`MIN_AUDIT_DAYS`]", &MIN_AUDIT_DAYS.to_string())
        .replace("[`MAX_CALLS_PER_MINUTE`]", &MAX_CALLS_PER_MINUTE.to_string())
        .replace("[`MAX_FOLDERS`]", &MAX_FOLDERS.to_string());
    if doc.contains("[`") {
        bail!("links of Rust lead nowhere here: {doc}");
    }
    let mut text = String::new();
    let mut rest = doc.as_str();
    while let Some((before, after)) = rest.split_once(" (") {
        text.push_str(before);
        rest = match after.split_once(')') {
            Some((inside, tail)) if inside.split(", ").all(is_requirement) => tail,
            _ => {
                text.push_str(" (");
                after
            }
        };
    }
    text.push_str(rest);
    Ok(text.replace('|', "\\|"))
}

/// Whether a word is the id of a requirement, such as PERM-7.
fn is_requirement(word: &str) -> bool {
    word.split_once('-').is_some_and(|(area, number)| {
        !area.is_empty()
            && area.chars().all(|letter| letter.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|letter| letter.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_out_what_only_developers_need() -> Result<()> {
        for (doc, expected) in [
            ("Where servers are (SRV-10).", "Where servers are."),
            ("Settings (SRV-1, SRV-16) of (RFC 7009) a|b.", "Settings of (RFC 7009) a\\|b."),
            ("[`MIN_AUDIT_DAYS`] or more", "7 or more"),
        ] {
            assert_eq!(meaning_for_people(doc)?, expected);
        }
        assert!(meaning_for_people("See [`Other`].").is_err());
        Ok(())
    }

    #[test]
    fn refuses_a_member_without_a_doc_comment() -> Result<()> {
        let types = |doc: &str| {
            let text = format!(
                "export type RegistrySource = {{\n/** N. */\nname: string,{doc} version: string, }};"
            );
            Types::from([("RegistrySource".to_owned(), text)])
        };
        let table = SERVERS.iter().find(|table| table.type_name == "RegistrySource").context("no table")?;
        let mut text = String::new();
        write_table(&mut text, table, &types("\n/** V. */\n"))?;
        assert!(
            text.ends_with("| `name` | text | required | N. |\n| `version` | text | required | V. |\n"),
            "{text}"
        );
        assert!(write_table(&mut String::new(), table, &types("")).is_err());
        Ok(())
    }

    #[test]
    fn names_each_heading_once() {
        let all: Vec<&str> =
            SERVERS.iter().chain(&GATEHOUSE).chain(&OF_PROFILES).map(|table| table.heading).collect();
        for (at, heading) in all.iter().enumerate() {
            assert!(!all.iter().skip(at + 1).any(|other| anchor(other) == anchor(heading)), "{heading}");
        }
    }
}
