//! What each format can carry. The documents that say it are listed in the module `adapters`.

use crate::adapters::schema_reduction::type_set::TypeSet;

/// What is done with a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordRule {
    /// Left out without a report: it has no effect on which values are valid, or is written elsewhere.
    Ignore,
    /// Left out and reported.
    Drop,
    /// A text for people, cleaned and cut.
    Text,
    Number,
    /// A natural number.
    Count,
    Flag,
    /// A string that isn't changed.
    String,
    /// A list of values that has at least one.
    Values,
    /// Any value, as it is.
    Copy,
    Schema,
    /// A list of schemas that has at least one.
    Schemas,
    /// An object of schemas.
    SchemaMap,
}

/// How a format writes schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// JSON Schema 2020-12 with references inside the schema.
    JsonSchema,
    /// The subset of OpenAPI 3.0, with references and `allOf` resolved.
    OpenApi,
}

/// The rules of a format.
pub(in crate::adapters) struct SchemaRules {
    pub(super) dialect: Dialect,
    /// What becomes of a keyword in a schema of the given types.
    pub(super) keyword: fn(&str, TypeSet) -> KeywordRule,
    /// Keywords that the root must not have, besides those that combine schemas.
    pub(super) refused_at_root: &'static [&'static str],
    /// Whether an argument may have this name.
    pub(super) is_argument_name: fn(&str) -> bool,
    /// Whether objects that name their properties get `additionalProperties: false` where nothing is said.
    pub(super) closes_objects: bool,
    /// Whether arrays have to say what is in them.
    pub(super) needs_items: bool,
    pub(super) has_strict_mode: bool,
    /// Stands for what is too deep or too large.
    pub(super) any_object: &'static str,
}

pub(in crate::adapters) static OPENAI: SchemaRules = SchemaRules {
    dialect: Dialect::JsonSchema,
    keyword: json_schema_keyword,
    refused_at_root: &["enum", "const", "not"],
    is_argument_name: |_| true,
    closes_objects: true,
    needs_items: true,
    has_strict_mode: true,
    any_object: "{}",
};

pub(in crate::adapters) static ANTHROPIC: SchemaRules = SchemaRules {
    dialect: Dialect::JsonSchema,
    keyword: json_schema_keyword,
    refused_at_root: &[],
    is_argument_name: is_anthropic_name,
    closes_objects: true,
    needs_items: false,
    has_strict_mode: false,
    any_object: "{}",
};

pub(in crate::adapters) static GEMINI: SchemaRules = SchemaRules {
    dialect: Dialect::OpenApi,
    keyword: openapi_keyword,
    refused_at_root: &["enum", "const", "not"],
    is_argument_name: |name| !name.is_empty(),
    closes_objects: false,
    needs_items: true,
    has_strict_mode: false,
    any_object: r#"{"type":"OBJECT"}"#,
};

fn is_anthropic_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-'))
}

fn json_schema_keyword(name: &str, _: TypeSet) -> KeywordRule {
    match name {
        "title" | "description" => KeywordRule::Text,
        "$schema" | "$id" | "id" | "$comment" | "$anchor" | "$vocabulary" | "x-mcp-header" => {
            KeywordRule::Ignore
        }
        "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" | "dependencies" => {
            KeywordRule::Drop
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => KeywordRule::Number,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordRule::Count,
        "uniqueItems" | "nullable" | "deprecated" | "readOnly" | "writeOnly" => KeywordRule::Flag,
        "pattern" | "format" | "$ref" | "contentMediaType" | "contentEncoding" => KeywordRule::String,
        "enum" => KeywordRule::Values,
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => KeywordRule::Schema,
        "prefixItems" | "anyOf" | "oneOf" | "allOf" => KeywordRule::Schemas,
        "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => KeywordRule::SchemaMap,
        _ => KeywordRule::Copy,
    }
}

fn openapi_keyword(name: &str, types: TypeSet) -> KeywordRule {
    let (of, rule) = match name {
        "title" | "description" => return KeywordRule::Text,
        "default" | "example" => return KeywordRule::Copy,
        // Written elsewhere, resolved, or of no effect.
        "nullable" | "enum" | "const" | "items" | "prefixItems" | "$defs" | "definitions" | "$schema"
        | "$id" | "id" | "$comment" | "$anchor" | "$vocabulary" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" => return KeywordRule::Ignore,
        extension if extension.starts_with("x-") => return KeywordRule::Ignore,
        "minLength" | "maxLength" => (TypeSet::STRING, KeywordRule::Count),
        "pattern" => (TypeSet::STRING, KeywordRule::String),
        "contentMediaType" | "contentEncoding" | "contentSchema" => (TypeSet::STRING, KeywordRule::Drop),
        "minimum" | "maximum" => (TypeSet::NUMERIC, KeywordRule::Number),
        "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => (TypeSet::NUMERIC, KeywordRule::Drop),
        "minItems" | "maxItems" => (TypeSet::ARRAY, KeywordRule::Count),
        "uniqueItems" | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => {
            (TypeSet::ARRAY, KeywordRule::Drop)
        }
        "minProperties" | "maxProperties" => (TypeSet::OBJECT, KeywordRule::Count),
        "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies" => (TypeSet::OBJECT, KeywordRule::Drop),
        _ => return KeywordRule::Drop,
    };
    if types.has(of) { rule } else { KeywordRule::Ignore }
}
