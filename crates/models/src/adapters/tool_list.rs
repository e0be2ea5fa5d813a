//! The tools of one request in a provider's format.

use std::borrow::Cow;
use std::collections::HashSet;

use gatehouse_mcp_wire::json::{Json, read, write_string};
use gatehouse_mcp_wire::raw::{Members, raw};
use gatehouse_model::chat::SimplifiedTool;
use serde_json::value::RawValue;

use crate::adapters::provider_names::ProviderNames;
use crate::adapters::provider_texts::tool_description;
use crate::adapters::schema_reduction::{ANTHROPIC, GEMINI, OPENAI, ReducedSchema, SchemaRules, reduce};
use crate::adapters::tool_format::ToolFormat;

/// All tools of one request: their definitions, their names both ways, and what the format could not carry.
#[derive(Debug)]
pub struct AdaptedTools {
    definitions: Vec<Box<RawValue>>,
    names: ProviderNames,
    simplified: Vec<SimplifiedTool>,
    left_out: Vec<LeftOutTool>,
}

/// A tool that the format can't carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutTool {
    /// Its exposed name; empty if it has none.
    pub tool: String,
    /// A sentence.
    pub reason: String,
}

/// What is read of a definition.
struct ListedTool<'a> {
    name: Cow<'a, str>,
    members: Members<'a>,
    raw: &'a RawValue,
}

impl AdaptedTools {
    /// Adapts MCP tool objects as clients list them: with exposed names.
    pub fn new<'t>(format: ToolFormat, tools: impl Iterator<Item = &'t RawValue>) -> Self {
        let mut left_out = Vec::new();
        let mut exposed: HashSet<Box<str>> = HashSet::with_capacity(tools.size_hint().0);
        let mut listed: Vec<ListedTool<'t>> = Vec::with_capacity(tools.size_hint().0);
        for tool in tools {
            match ListedTool::read(tool) {
                Ok(tool) if exposed.insert((&*tool.name).into()) => listed.push(tool),
                Ok(tool) => left_out.push(LeftOutTool {
                    tool: tool.name.into_owned(),
                    reason: "Another tool has the same name.".to_owned(),
                }),
                Err(reason) => left_out.push(LeftOutTool { tool: String::new(), reason }),
            }
        }
        let names = ProviderNames::new(format, exposed);
        let mut adapted =
            Self { definitions: Vec::with_capacity(listed.len()), names, simplified: Vec::new(), left_out };
        for tool in listed {
            adapted.add(format, tool);
        }
        adapted
    }

    /// The definitions, in the order of the tools. Gemini's are for one `functionDeclarations`.
    #[must_use]
    pub fn definitions(&self) -> &[Box<RawValue>] {
        &self.definitions
    }

    /// The exposed name of a tool that a model calls; `None` if it wasn't told of such a tool.
    #[must_use]
    pub fn exposed_name(&self, provider_name: &str) -> Option<&str> {
        self.names.exposed(provider_name)
    }

    /// The name by which the model knows a tool.
    #[must_use]
    pub fn provider_name(&self, exposed: &str) -> Option<&str> {
        self.names.provider(exposed)
    }

    /// The tools whose schemas were simplified, with exposed names.
    #[must_use]
    pub fn simplified(&self) -> &[SimplifiedTool] {
        &self.simplified
    }

    #[must_use]
    pub fn left_out(&self) -> &[LeftOutTool] {
        &self.left_out
    }

    fn add(&mut self, format: ToolFormat, tool: ListedTool<'_>) {
        let Some(rules) = rules(format) else {
            self.definitions.push(tool.raw.to_owned());
            return;
        };
        let name = self.names.provider(&tool.name).unwrap_or(&tool.name);
        match definition(format, rules, name, &tool) {
            Ok((definition, changes)) => {
                self.definitions.push(definition);
                if !changes.is_empty() {
                    self.simplified.push(SimplifiedTool { tool: tool.name.into_owned(), changes });
                }
            }
            Err(reason) => {
                self.names.forget(&tool.name);
                self.left_out.push(LeftOutTool { tool: tool.name.into_owned(), reason });
            }
        }
    }
}

impl<'a> ListedTool<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, String> {
        let members = Members::of(raw).map_err(|_| "Its definition can't be read safely.".to_owned())?;
        let name = members.text("name").filter(|name| !name.is_empty()).ok_or("It has no name.")?;
        Ok(Self { name, members, raw })
    }
}

fn rules(format: ToolFormat) -> Option<&'static SchemaRules> {
    match format {
        ToolFormat::Mcp => None,
        ToolFormat::OpenAiChat | ToolFormat::OpenAiResponses => Some(&OPENAI),
        ToolFormat::Anthropic => Some(&ANTHROPIC),
        ToolFormat::Gemini => Some(&GEMINI),
    }
}

fn definition(
    format: ToolFormat,
    rules: &'static SchemaRules,
    name: &str,
    tool: &ListedTool<'_>,
) -> Result<(Box<RawValue>, Vec<String>), String> {
    let schema = match tool.members.get("inputSchema").map(RawValue::get) {
        None | Some("null") => Json::Object(Vec::new()),
        Some(schema) => {
            read(schema).map_err(|defect| format!("Its input schema can't be read safely: {defect}."))?
        }
    };
    let schema = reduce(&schema, rules)?;
    let title = || {
        tool.members.text("title").or_else(|| {
            let annotations = tool.members.get("annotations").and_then(|raw| Members::of(raw).ok())?;
            annotations.text("title")
        })
    };
    let own = tool.members.text("description");
    let description = tool_description(own.as_deref(), title, &tool.name);
    Ok((raw(written(format, name, &description, &schema)), schema.changes))
}

fn written(format: ToolFormat, name: &str, description: &str, schema: &ReducedSchema) -> String {
    let mut out = String::with_capacity(schema.text.len() + description.len() + name.len() + 128);
    let named = |out: &mut String| {
        out.push_str("\"name\":");
        write_string(out, name);
        out.push_str(",\"description\":");
        write_string(out, description);
    };
    let strict = if schema.is_strict { ",\"strict\":true" } else { ",\"strict\":false" };
    match format {
        ToolFormat::OpenAiChat => {
            out.push_str("{\"type\":\"function\",\"function\":{");
            named(&mut out);
            out.push_str(",\"parameters\":");
            out.push_str(&schema.text);
            out.push_str(strict);
            out.push('}');
        }
        ToolFormat::OpenAiResponses => {
            out.push_str("{\"type\":\"function\",");
            named(&mut out);
            out.push_str(",\"parameters\":");
            out.push_str(&schema.text);
            out.push_str(strict);
        }
        ToolFormat::Anthropic | ToolFormat::Mcp => {
            out.push('{');
            named(&mut out);
            out.push_str(",\"input_schema\":");
            out.push_str(&schema.text);
        }
        ToolFormat::Gemini => {
            out.push('{');
            named(&mut out);
            // A function without arguments has no `parameters`: objects of this format have at least one property.
            if !schema.is_empty {
                out.push_str(",\"parameters\":");
                out.push_str(&schema.text);
            }
        }
    }
    out.push('}');
    out
}
