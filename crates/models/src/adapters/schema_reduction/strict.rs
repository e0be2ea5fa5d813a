//! OpenAI's strict mode: whether a schema is one that it accepts, without a change of its meaning but that objects which
//! name their properties have no others.

use std::collections::HashMap;

use gatehouse_mcp_wire::json::Json;

use crate::adapters::schema_reduction::name_set::NameSet;
use crate::adapters::schema_reduction::type_set::TypeSet;

/// Most objects inside each other. Some models accept more.
const MAX_NESTING: usize = 5;
const MAX_PROPERTIES: usize = 5_000;
const MAX_VALUES: usize = 1_000;
/// Most characters of all names and values.
const MAX_NAME_CHARS: usize = 120_000;
/// Most values of one list whose characters aren't counted for themselves.
const MAX_SHORT_LIST: usize = 250;
const MAX_LONG_LIST_CHARS: usize = 15_000;

const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Whether a schema anywhere says something of an object in two places. Closing an object that only one of the places names
/// would then forbid what the other one says.
pub(super) fn joins_schemas(schema: &Json) -> bool {
    match schema {
        Json::Array(items) => items.iter().any(joins_schemas),
        Json::Object(members) => {
            let mut has_union = false;
            let mut has_reference = false;
            let mut others = 0;
            let mut has_members = false;
            for (name, value) in members {
                match &**name {
                    "allOf"
                    | "if"
                    | "not"
                    | "dependentSchemas"
                    | "unevaluatedProperties"
                    | "dependencies" => {
                        return true;
                    }
                    "anyOf" | "oneOf" => has_union = true,
                    "$ref" | "$dynamicRef" | "$recursiveRef" => has_reference = true,
                    "properties" | "required" | "additionalProperties" | "patternProperties" => {
                        has_members = true;
                        others += 1;
                    }
                    "title" | "description" | "default" | "examples" | "$defs" | "definitions" => {}
                    _ => others += 1,
                }
                if joins_schemas(value) {
                    return true;
                }
            }
            (has_union && (has_members || has_reference)) || (has_reference && others > 0)
        }
        _ => false,
    }
}

/// Whether strict mode accepts the schema of a tool's arguments.
pub(super) fn is_strict(schema: &Json) -> bool {
    let definitions = match schema.get("$defs") {
        Some(Json::Object(definitions)) => {
            definitions.iter().map(|(name, schema)| (&**name, schema)).collect()
        }
        _ => HashMap::new(),
    };
    let mut check = StrictCheck { definitions, properties: 0, values: 0, chars: 0 };
    let is_object = schema.get("type").and_then(TypeSet::of_keyword) == Some(TypeSet::OBJECT);
    is_object && check.accepts(schema, 0, true)
}

struct StrictCheck<'a> {
    definitions: HashMap<&'a str, &'a Json>,
    properties: usize,
    values: usize,
    chars: usize,
}

impl StrictCheck<'_> {
    fn accepts(&mut self, schema: &Json, nesting: usize, is_root: bool) -> bool {
        let Json::Object(members) = schema else { return false };
        if let Some(reference) = schema.get("$ref") {
            let target = reference.as_str().unwrap_or_default();
            let is_known = target == "#"
                || target.strip_prefix("#/$defs/").is_some_and(|name| self.definitions.contains_key(name));
            return is_known && !is_root && members.len() == 1;
        }
        let types = match schema.get("type") {
            Some(types) => TypeSet::of_keyword(types).unwrap_or_default(),
            None if schema.get("anyOf").is_some() => TypeSet::NONE,
            None => return false,
        };
        let keywords =
            members.iter().all(|(name, value)| self.accepts_keyword(name, value, nesting, is_root));
        keywords
            && (!types.has(TypeSet::OBJECT) || self.accepts_object(schema, nesting))
            && (!types.has(TypeSet::ARRAY) || schema.get("items").is_some())
    }

    fn accepts_keyword(&mut self, name: &str, value: &Json, nesting: usize, is_root: bool) -> bool {
        match (name, value) {
            // Read with the object.
            ("properties" | "required" | "type", _) => true,
            ("title" | "description" | "$schema" | "$comment", Json::String(_)) => true,
            ("additionalProperties", Json::Bool(false)) => true,
            (
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf",
                Json::Number(_),
            ) => true,
            ("minItems" | "maxItems", Json::Number(_)) => true,
            ("format", Json::String(format)) => FORMATS.contains(&&**format),
            ("pattern", Json::String(pattern)) => is_plain_pattern(pattern),
            ("enum", Json::Array(values)) => !is_root && self.accepts_values(values),
            ("const", Json::String(_) | Json::Number(_) | Json::Bool(_)) => {
                !is_root && self.accepts_values(std::slice::from_ref(value))
            }
            ("items", _) => self.accepts(value, nesting, false),
            ("anyOf", Json::Array(branches)) => {
                let objects = branches.iter().filter(|branch| !is_scalar(branch)).count();
                !is_root
                    && !branches.is_empty()
                    && objects <= 1
                    && branches.iter().all(|branch| self.accepts(branch, nesting, false))
            }
            ("$defs", Json::Object(definitions)) => {
                is_root
                    && definitions.iter().all(|(name, schema)| {
                        self.chars += name.len();
                        // Where it is used is not known here, so it counts as the first level.
                        self.accepts(schema, 1, false)
                    })
            }
            _ => false,
        }
    }

    /// All properties have to be required, and there may be no others.
    fn accepts_object(&mut self, schema: &Json, nesting: usize) -> bool {
        let Some(Json::Object(properties)) = schema.get("properties") else { return false };
        // Without properties, an object that isn't closed may be for any members.
        let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
        if nesting >= MAX_NESTING || (properties.is_empty() && !is_closed) {
            return false;
        }
        let required: NameSet<'_> = match schema.get("required") {
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
            _ => NameSet::new(),
        };
        if required.len() != properties.len() {
            return false;
        }
        self.properties += properties.len();
        self.chars += properties.iter().map(|(name, _)| name.len()).sum::<usize>();
        self.properties <= MAX_PROPERTIES
            && self.chars <= MAX_NAME_CHARS
            && properties
                .iter()
                .all(|(name, property)| required.contains(name) && self.accepts(property, nesting + 1, false))
    }

    fn accepts_values(&mut self, values: &[Json]) -> bool {
        let chars: usize = values.iter().filter_map(Json::as_str).map(str::len).sum();
        self.values += values.len();
        self.chars += chars;
        let is_simple = values.iter().all(|value| !matches!(value, Json::Array(_) | Json::Object(_)));
        let is_short = values.len() <= MAX_SHORT_LIST || chars <= MAX_LONG_LIST_CHARS;
        !values.is_empty()
            && is_simple
            && is_short
            && self.values <= MAX_VALUES
            && self.chars <= MAX_NAME_CHARS
    }
}

fn is_scalar(schema: &Json) -> bool {
    schema
        .get("type")
        .and_then(TypeSet::of_keyword)
        .is_some_and(|types| !types.has(TypeSet::OBJECT.union(TypeSet::ARRAY)))
}

/// Whether a pattern has nothing that OpenAI's engine lacks, such as groups that look around.
fn is_plain_pattern(pattern: &str) -> bool {
    let mut is_escaped = false;
    for c in pattern.chars() {
        if is_escaped && (c.is_ascii_digit() && c != '0' || matches!(c, 'b' | 'B' | 'p' | 'P' | 'k')) {
            return false;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    !pattern.contains("(?")
}
