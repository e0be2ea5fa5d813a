//! Reduces the input schema of a tool to what a provider's format can carry. There is one traversal, [`SchemaReducer`], and
//! a set of rules for each format, [`SchemaRules`].
//!
//! A schema comes from a server and may be hostile: the traversal is bounded in depth and size, references are followed only
//! inside the schema, each at most once on the way to a value, and nothing is fetched. What can't be carried is left out and
//! reported; nothing that is valid in what remains becomes invalid but where the rules say so (`additionalProperties`).

mod json_schema;
mod name_set;
mod openapi;
mod paths;
mod rules;
mod strict;
mod type_set;
mod view;

use gatehouse_mcp_wire::json::{Json, array_index, unescape_segment, write_string};

use self::paths::{PathId, PathTable};
pub(super) use self::rules::{ANTHROPIC, GEMINI, OPENAI, SchemaRules};
use self::rules::{Dialect, KeywordRule};
use self::type_set::TypeSet;
use self::view::{SchemaPart, ViewProperty};
use crate::adapters::json_numbers::{all_finite, is_finite};
use crate::adapters::provider_texts::provider_text;

/// Most schemas inside each other that are written, references included.
const MAX_LEVELS: usize = 48;

/// Most schemas that are written for one tool: inlined references could repeat one without end.
const MAX_SCHEMAS: usize = 20_000;

/// Most bytes that are written for one tool before the rest is left out.
const MAX_BYTES: usize = 1024 * 1024;

/// Most changes that are reported for one tool.
const MAX_CHANGES: usize = 200;

/// A schema as a provider gets it.
pub(super) struct ReducedSchema {
    /// JSON text.
    pub(super) text: String,
    /// Whether it is the schema of an object without properties.
    pub(super) is_empty: bool,
    /// Whether OpenAI's strict mode accepts it, and it means the same.
    pub(super) is_strict: bool,
    /// JSON pointers into the server's schema, sorted. What stands in a definition is named there, not where it is used.
    pub(super) changes: Vec<String>,
}

/// Reduces the schema of a tool's arguments.
///
/// # Errors
/// No arguments that the format can carry could be valid, as a sentence.
pub(super) fn reduce(schema: &Json, rules: &'static SchemaRules) -> Result<ReducedSchema, String> {
    let joins = strict::joins_schemas(schema);
    let mut reducer = SchemaReducer {
        rules,
        root: schema,
        paths: PathTable::new(),
        active: vec![schema],
        changes: Vec::new(),
        out: String::with_capacity(512),
        levels: 0,
        schemas: 0,
        closes_objects: rules.closes_objects && !joins,
        is_strict: rules.has_strict_mode && !joins && strict::is_strict(schema),
        refusal: None,
        root_properties: 0,
    };
    reducer.schema(&[SchemaPart::new(schema, PathId::ROOT)], SchemaPlace::root());
    if let Some(refusal) = reducer.refusal {
        return Err(refusal);
    }
    let mut changes = reducer.changes;
    changes.sort_unstable();
    changes.dedup();
    Ok(ReducedSchema {
        text: reducer.out,
        is_empty: reducer.root_properties == 0,
        is_strict: reducer.is_strict,
        changes,
    })
}

/// Where a schema stands, and what is known of it already.
#[derive(Clone, Copy, Default)]
struct SchemaPlace {
    is_root: bool,
    /// The one type that is to be written, of several.
    only: Option<TypeSet>,
    /// Whether `null` is valid as well.
    nullable: bool,
}

impl SchemaPlace {
    fn root() -> Self {
        Self { is_root: true, only: Some(TypeSet::OBJECT), nullable: false }
    }
}

struct SchemaReducer<'a> {
    rules: &'static SchemaRules,
    root: &'a Json,
    paths: PathTable<'a>,
    /// Targets of references on the way to the current schema.
    active: Vec<&'a Json>,
    changes: Vec<String>,
    out: String,
    levels: usize,
    schemas: usize,
    /// Whether every object that names its properties can be closed.
    closes_objects: bool,
    is_strict: bool,
    /// Why the tool can't be carried at all.
    refusal: Option<String>,
    root_properties: usize,
}

impl<'a> SchemaReducer<'a> {
    /// Writes the schema that all of the parts have to be valid against.
    fn schema(&mut self, parts: &[SchemaPart<'a>], place: SchemaPlace) {
        if self.levels >= MAX_LEVELS || self.schemas >= MAX_SCHEMAS || self.out.len() >= MAX_BYTES {
            if let Some(part) = parts.first() {
                self.report(part.path, None);
            }
            self.out.push_str(self.rules.any_object);
            return;
        }
        self.levels += 1;
        self.schemas += 1;
        let active = self.active.len();
        let view = self.view(parts, place.is_root);
        match self.rules.dialect {
            Dialect::JsonSchema => self.json_schema(&view, place),
            Dialect::OpenApi => self.openapi(&view, place),
        }
        self.active.truncate(active);
        self.levels -= 1;
    }

    /// Writes a keyword as its rule says.
    fn keyword(&mut self, name: &'a str, value: &'a Json, path: PathId, rule: KeywordRule) {
        match (rule, value) {
            (KeywordRule::Ignore, _) => {}
            (KeywordRule::Text, Json::String(text)) => {
                let (text, was_cut) = provider_text(text);
                if was_cut {
                    self.report(path, Some(name));
                }
                if !text.trim().is_empty() {
                    self.key(name);
                    write_string(&mut self.out, &text);
                }
            }
            (KeywordRule::Number, Json::Number(number)) if is_finite(number) => self.raw_value(name, number),
            (KeywordRule::Count, Json::Number(number)) if is_count(number) => self.raw_value(name, number),
            (KeywordRule::Flag, Json::Bool(flag)) => {
                self.raw_value(name, if *flag { "true" } else { "false" });
            }
            (KeywordRule::Copy, value) if all_finite(value) => self.copy(name, value),
            (KeywordRule::String, Json::String(_)) => self.copy(name, value),
            (KeywordRule::Values, Json::Array(values)) if !values.is_empty() && all_finite(value) => {
                self.copy(name, value);
            }
            (KeywordRule::Schema, Json::Bool(is_valid)) => {
                self.raw_value(name, if *is_valid { "true" } else { "false" });
            }
            (KeywordRule::Schema, Json::Object(_)) => {
                let path = self.paths.key(path, name);
                self.key(name);
                self.schema(&[SchemaPart::new(value, path)], SchemaPlace::default());
            }
            (KeywordRule::Schemas, Json::Array(schemas)) if !schemas.is_empty() => {
                let path = self.paths.key(path, name);
                self.key(name);
                self.out.push('[');
                for (index, schema) in schemas.iter().enumerate() {
                    self.comma('[');
                    let path = self.paths.item(path, index);
                    self.schema(&[SchemaPart::new(schema, path)], SchemaPlace::default());
                }
                self.out.push(']');
            }
            (KeywordRule::SchemaMap, Json::Object(schemas)) => {
                let path = self.paths.key(path, name);
                self.key(name);
                self.out.push('{');
                for (name, schema) in schemas {
                    let path = self.paths.key(path, name);
                    self.key(name);
                    self.schema(&[SchemaPart::new(schema, path)], SchemaPlace::default());
                }
                self.out.push('}');
            }
            _ => self.report(path, Some(name)),
        }
    }

    /// Writes `properties` and `required`.
    fn properties<'v>(
        &mut self,
        properties: impl Iterator<Item = &'v ViewProperty<'a>>,
        required: &[&'a str],
        always: bool,
    ) where
        'a: 'v,
    {
        self.key("properties");
        self.out.push('{');
        for property in properties {
            self.key(property.name);
            self.property(property);
        }
        self.out.push('}');
        if !required.is_empty() || always {
            self.key("required");
            self.out.push('[');
            for name in required {
                self.comma('[');
                write_string(&mut self.out, name);
            }
            self.out.push(']');
        }
    }

    fn property(&mut self, property: &ViewProperty<'a>) {
        let place = SchemaPlace::default();
        let Some((first, others)) = property.versions.split_first() else {
            self.schema(&property.parts, place);
            return;
        };
        if others.is_empty() {
            self.schema(std::slice::from_ref(first), place);
            return;
        }
        self.out.push('{');
        self.key("anyOf");
        self.out.push('[');
        for version in &property.versions {
            self.comma('[');
            self.schema(std::slice::from_ref(version), place);
        }
        self.out.push_str("]}");
    }

    /// Reports that something is left out or changed: a schema, or one of its keywords.
    fn report(&mut self, path: PathId, keyword: Option<&str>) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(self.paths.pointer(path, keyword));
        }
    }

    /// The target of a reference inside the schema.
    fn resolve(&self, reference: &'a str) -> Option<(&'a Json, &'a str)> {
        let pointer = reference.strip_prefix('#')?;
        let mut target = self.root;
        let mut rest = pointer;
        while !rest.is_empty() {
            let after = rest.strip_prefix('/')?;
            let (segment, next) = after.split_at(after.find('/').unwrap_or(after.len()));
            target = match target {
                Json::Object(_) => target.get(&unescape_segment(segment)?)?,
                Json::Array(items) => items.get(array_index(segment)?)?,
                _ => return None,
            };
            rest = next;
        }
        Some((target, pointer))
    }

    fn key(&mut self, name: &str) {
        self.comma('{');
        write_string(&mut self.out, name);
        self.out.push(':');
    }

    /// A comma, unless the bracket was just opened.
    fn comma(&mut self, opened: char) {
        if !self.out.ends_with(opened) {
            self.out.push(',');
        }
    }

    fn raw_value(&mut self, name: &str, value: &str) {
        self.key(name);
        self.out.push_str(value);
    }

    fn copy(&mut self, name: &str, value: &Json) {
        self.key(name);
        value.write_compact(&mut self.out);
    }
}

/// Whether a number is a natural one of 64 bits, as lengths have to be.
fn is_count(number: &str) -> bool {
    number.bytes().all(|digit| digit.is_ascii_digit()) && number.parse::<i64>().is_ok()
}
