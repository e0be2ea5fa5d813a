//! A parsed tool definition: fingerprint, cleaned texts, flags, access classes, and the bytes for clients. For
//! clients only the name, title and description are changed, and an incomplete input schema is completed.

use std::borrow::Cow;

use gatehouse_common::confusables::{mixes_alphabets, name_passes_for_another};
use gatehouse_mcp_wire::headers::ParamHeader;
use gatehouse_mcp_wire::raw::{Members, place, quoted, raw, splice};
use gatehouse_model::grant::{AccessClass, AccessClassification};
use gatehouse_model::server::TestedTool;
use gatehouse_model::{Fingerprint, Message, message};
use gatehouse_policy::access::{ToolFacts, classify};
use gatehouse_policy::definition::{DefinitionKind, fingerprint, hidden_character_pointers};
use gatehouse_policy::display::{clean_text, has_hidden};
use gatehouse_servers::ToolDefinition;
use serde_json::value::RawValue;

use crate::catalog::input_schema;
use crate::catalog::output_schema::{OutputSchema, SchemaContext};
use crate::catalog::task_support::TaskSupport;

/// A text of a tool that people read where they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefinitionText {
    Name,
    Title,
    Description,
}

impl DefinitionText {
    /// In the words of a warning.
    pub(crate) fn message(self) -> Message {
        match self {
            Self::Name => message!("ask.place.name"),
            Self::Title => message!("ask.place.title"),
            Self::Description => message!("ask.place.description"),
        }
    }
}

/// What is parsed from a tool definition; cached as long as its bytes don't change.
#[derive(Debug)]
pub(crate) struct ParsedDefinition {
    /// The name on the server.
    pub(crate) name: Box<str>,
    /// The name as JSON, as the server wrote it; sent in calls.
    pub(crate) name_json: Box<RawValue>,
    /// The whole definition, byte for byte.
    pub(crate) raw: Box<RawValue>,
    /// Without invisible characters.
    pub(crate) title: Option<String>,
    /// Without invisible characters.
    pub(crate) description: Option<String>,
    /// The input schema, byte for byte; `{}` if there is none.
    pub(crate) input_schema: Box<str>,
    pub(crate) fingerprint: Fingerprint,
    /// JSON Pointers to invisible characters that aren't removed.
    pub(crate) flags: Vec<String>,
    /// Those of `title` and `description` that invisible characters were removed from.
    pub(crate) cleaned: Vec<DefinitionText>,
    /// Those of `name` and `title` that contain characters that can be confused with others.
    pub(crate) confusable: Vec<DefinitionText>,
    /// What the server says for tool search.
    pub(crate) hints: SearchHints,
    /// What the server says about running as a task.
    pub(crate) task_support: TaskSupport,
    /// The access classes for each of the user's settings.
    classes: AccessClasses,
    /// The `outputSchema` that results are checked against.
    output: OutputSchema,
}

/// What `_meta` of a definition says for tool search (TOOL-7), each under its own name or with the prefix `anthropic/`.
#[derive(Debug, Default)]
pub(crate) struct SearchHints {
    /// Words to find the tool by (`searchHint`), without invisible characters, white space collapsed.
    pub(crate) search: Option<String>,
    /// Whether the tool asks to stay listed in search mode (`alwaysLoad`).
    pub(crate) always_load: bool,
}

impl SearchHints {
    fn of(definition: &Members<'_>) -> Self {
        let Some(Ok(meta)) = definition.get("_meta").map(Members::of) else { return Self::default() };
        let search = meta.text("searchHint").or_else(|| meta.text("anthropic/searchHint"));
        let search = search.map(|words| {
            let words = clean_text(&words);
            words.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        let always_load = meta.flag("alwaysLoad").or_else(|| meta.flag("anthropic/alwaysLoad"));
        Self { search: search.filter(|words| !words.is_empty()), always_load: always_load == Some(true) }
    }
}

/// The access class for each combination of user settings, precomputed so that calls needn't compute any.
#[derive(Debug)]
struct AccessClasses {
    untrusted: AccessClassification,
    trusted: AccessClassification,
    as_read: AccessClassification,
    as_write: AccessClassification,
}

/// The tools of a server that is being tested. Tools with invalid definitions are left out.
#[must_use]
pub fn preview_tools(tools: &[ToolDefinition]) -> Vec<TestedTool> {
    let known = tools.iter().filter_map(|tool| ParsedDefinition::read(&tool.raw).ok());
    known
        .map(|definition| TestedTool {
            read_only: definition.classes.trusted.class == AccessClass::Read,
            name: definition.name.into(),
            title: definition.title,
            description: definition.description,
        })
        .collect()
}

impl ParsedDefinition {
    /// Parses a definition.
    ///
    /// # Errors
    /// The reason why the tool is left out, as a sentence.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, String> {
        let text = raw.get();
        // The fingerprint parses strictly, so from here on no member occurs twice.
        let fingerprint = fingerprint(DefinitionKind::Tool, text)
            .map_err(|defect| format!("Its definition cannot be read safely: {defect}."))?;
        let members = Members::read(text).map_err(|_| "Its definition is not an object.")?;
        let name_json = members.get("name").ok_or("It has no name.")?;
        let name: String = serde_json::from_str(name_json.get()).map_err(|_| "Its name is not a text.")?;
        if name.is_empty() {
            return Err("Its name is empty.".to_owned());
        }
        let schema = members.get("inputSchema").map_or("{}", RawValue::get);
        let schema = if schema == "null" { "{}" } else { schema };
        ParamHeader::of_schema(schema)?;

        let annotations = members.get("annotations").and_then(|raw| Members::of(raw).ok());
        let hint = |name: &str| annotations.as_ref().and_then(|members| members.flag(name));
        let title =
            members.text("title").or_else(|| annotations.as_ref().and_then(|members| members.text("title")));
        let description = members.text("description");
        let properties = Members::read(schema)
            .ok()
            .and_then(|schema| schema.get("properties"))
            .and_then(|properties| Members::of(properties).ok());
        let argument_names: Vec<&str> =
            properties.as_ref().map(|members| members.names().collect()).unwrap_or_default();
        let facts = ToolFacts {
            name: &name,
            title: title.as_deref(),
            description: description.as_deref(),
            read_only_hint: hint("readOnlyHint"),
            destructive_hint: hint("destructiveHint"),
            open_world_hint: hint("openWorldHint"),
            argument_names: &argument_names,
        };
        let classes = AccessClasses {
            untrusted: classify(&facts, None, false),
            trusted: classify(&facts, None, true),
            as_read: classify(&facts, Some(AccessClass::Read), false),
            as_write: classify(&facts, Some(AccessClass::Write), false),
        };
        let mut cleaned = Vec::new();
        let mut clean = |place: DefinitionText, text: Option<Cow<'_, str>>| {
            text.map(|text| {
                if has_hidden(&text) {
                    cleaned.push(place);
                }
                clean_text(&text).into_owned()
            })
        };
        let title = clean(DefinitionText::Title, title);
        let description = clean(DefinitionText::Description, description);
        let flags = hidden_character_pointers(text)
            .into_iter()
            .filter(|place| !matches!(place.as_str(), "/title" | "/description" | "/annotations/title"))
            .collect();
        let confusable = [
            (DefinitionText::Name, name_passes_for_another(&name)),
            (DefinitionText::Title, title.as_deref().is_some_and(mixes_alphabets)),
        ];
        Ok(Self {
            confusable: confusable.into_iter().filter(|(_, found)| *found).map(|(place, _)| place).collect(),
            name: name.into(),
            name_json: name_json.to_owned(),
            title,
            description,
            input_schema: schema.into(),
            fingerprint,
            flags,
            cleaned,
            hints: SearchHints::of(&members),
            task_support: TaskSupport::of(&members),
            classes,
            output: OutputSchema::of(&members),
            raw: raw.to_owned(),
        })
    }

    /// The access class for the user's settings.
    pub(crate) fn class(&self, user: Option<AccessClass>, trusted_labels: bool) -> &AccessClassification {
        match (user, trusted_labels) {
            (Some(AccessClass::Read), _) => &self.classes.as_read,
            (Some(AccessClass::Write), _) => &self.classes.as_write,
            (None, true) => &self.classes.trusted,
            (None, false) => &self.classes.untrusted,
        }
    }

    /// What in a result doesn't match the tool's `outputSchema` (TOOL-5), if anything.
    pub(crate) fn output_mismatch(&self, result: &RawValue, by: SchemaContext<'_>) -> Option<String> {
        self.output.output_mismatch(result, by)
    }

    /// Whether the tool has an `outputSchema`.
    pub(crate) fn has_output_schema(&self) -> bool {
        self.output.has_output_schema()
    }

    /// The definition for clients: with the exposed name, cleaned title and description, and a complete input
    /// schema; every other byte is as the server wrote it.
    pub(crate) fn exposed(&self, exposed_name: &str) -> Box<RawValue> {
        let text = self.raw.get();
        let Ok(members) = Members::read(text) else { return self.raw.clone() };
        let mut edits = input_schema::completion(text, &members);
        if &*self.name != exposed_name
            && let Some(name) = members.get("name")
        {
            edits.push((place(text, name.get()), quoted(exposed_name)));
        }
        let mut clean = |value: Option<&RawValue>| {
            let Some(value) = value else { return };
            let Ok(words) = serde_json::from_str::<String>(value.get()) else { return };
            let cleaned = clean_text(&words);
            if cleaned != words {
                edits.push((place(text, value.get()), quoted(&cleaned)));
            }
        };
        clean(members.get("title"));
        clean(members.get("description"));
        clean(
            members
                .get("annotations")
                .and_then(|annotations| Members::of(annotations).ok())
                .and_then(|annotations| annotations.get("title")),
        );
        if edits.is_empty() { self.raw.clone() } else { raw(splice(text, edits)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ParsedDefinition, String> {
        ParsedDefinition::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn changes_only_name_title_description_and_incomplete_schema() {
        let text = "{ \"x\":1.00, \"title\":\"A\u{202E}b\" ,\"inputSchema\": {\"type\":\"object\", \"default\":{\"n\":12345678901234567890}},\n\"name\":\"read\",\"_meta\":{\"k\":null}}";
        assert_eq!(
            read(text).unwrap().exposed("files__read").get(),
            "{ \"x\":1.00, \"title\":\"Ab\" ,\"inputSchema\": {\"properties\":{},\"type\":\"object\", \"default\":{\"n\":12345678901234567890}},\n\"name\":\"files__read\",\"_meta\":{\"k\":null}}"
        );
    }

    #[test]
    fn keeps_clean_text_bytes() {
        let text = r#"{"name":"a","title":"caf\u00e9","description":"x\/y","inputSchema":{"properties":{},"type":"object"}}"#;
        assert_eq!(read(text).unwrap().exposed("a").get(), text);
    }

    #[test]
    fn removes_hidden_characters_from_text_and_flags_others() {
        let tool = read("{\"name\":\"a\",\"description\":\"d\u{200B}\",\"annotations\":{\"title\":\"t\u{202E}\"},\"inputSchema\":{\"properties\":{\"k\u{200B}\":{\"enum\":[\"v\u{202E}\"]}}}}").unwrap();
        assert_eq!(tool.title.as_deref(), Some("t"));
        assert_eq!(tool.description.as_deref(), Some("d"));
        assert_eq!(tool.cleaned, [DefinitionText::Title, DefinitionText::Description]);
        assert!(!tool.flags.is_empty());
        assert!(tool.exposed("a").get().contains("k\u{200B}"));
        assert!(tool.exposed("a").get().contains("v\u{202E}"));
        assert!(!tool.exposed("a").get().contains("t\u{202E}"));
    }

    #[test]
    fn rejects_unsafe_definitions_with_reason() {
        for (text, reason) in [
            (r#"{"name":"a","name":"b"}"#, "safely"),
            (r#"{"title":"a"}"#, "no name"),
            (r#"{"name":3}"#, "not a text"),
            (r#"{"name":""}"#, "empty"),
            (r#"[1]"#, ""),
            (
                r#"{"name":"a","inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":""}}}}"#,
                "x-mcp-header",
            ),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }
}
