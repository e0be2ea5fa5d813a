//! Validates a call's arguments against the tool's own input schema, before the call is made, so that a model hears at once
//! what is wrong. Servers validate calls themselves; this replaces no check.
//!
//! Schemas come from servers, and validating against a hostile one could run forever or overflow the stack. Results are
//! therefore checked in a process of its own (`schema_check` of `mcp-client`), which this crate can't reach. Here the work
//! is counted first, on the same pairs of schema and value that a validator visits; where it would be too much, and for
//! keywords whose work can't be counted, nothing is checked.

use gatehouse_common::invisible_chars::one_line;
use gatehouse_mcp_wire::json::{Json, array_index, read, unescape_segment};
use gatehouse_mcp_wire::raw::Members;
use jsonschema::PatternOptions;
use serde_json::Value;
use serde_json::value::RawValue;

/// Largest schema and arguments that are checked, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;
const MAX_ARGUMENT_BYTES: usize = 256 * 1024;

/// Most pairs of schema and value, and most schemas with all references inlined.
const MAX_STEPS: usize = 50_000;

/// Most schemas inside each other, references and values included.
const MAX_LEVELS: usize = 96;

/// Most patterns, and the size of one: as text and compiled.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 512;
const COMPILED_PATTERN_BYTES: usize = 64 * 1024;

/// Most defects that are named, and the length of one in characters.
const MAX_DEFECTS: usize = 3;
const MAX_DEFECT_CHARS: usize = 300;

/// Validates arguments against the input schema of an MCP tool object. `Ok` if they are valid, or if the schema can't be
/// used or would be too much work.
///
/// # Errors
/// What is wrong with the arguments, as sentences for the model.
pub fn check_arguments(tool: &RawValue, arguments: &RawValue) -> Result<(), String> {
    let written = arguments.get();
    let value = match read(written) {
        Ok(value @ Json::Object(_)) => value,
        Ok(_) => return Err("The arguments have to be one JSON object.".to_owned()),
        Err(defect) => return Err(format!("The arguments can't be used: {defect}.")),
    };
    let Some(schema) = Members::of(tool).ok().and_then(|tool| tool.get("inputSchema")) else { return Ok(()) };
    let schema = schema.get();
    if schema.len() > MAX_SCHEMA_BYTES || written.len() > MAX_ARGUMENT_BYTES {
        return Ok(());
    }
    let Ok(tree) = read(schema) else { return Ok(()) };
    if !WorkEstimate::new(&tree).is_bounded(&value) {
        tracing::debug!("arguments are not checked against a schema that is too much work");
        return Ok(());
    }
    let (Ok(schema), Ok(value)) =
        (serde_json::from_str::<Value>(schema), serde_json::from_str::<Value>(written))
    else {
        return Ok(());
    };
    let patterns =
        PatternOptions::regex().size_limit(COMPILED_PATTERN_BYTES).dfa_size_limit(COMPILED_PATTERN_BYTES);
    let Ok(validator) = jsonschema::options().with_pattern_options(patterns).build(&schema) else {
        return Ok(());
    };
    let defects: Vec<String> = validator
        .iter_errors(&value)
        .take(MAX_DEFECTS)
        .map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            at => format!("{error} (at {at})"),
        })
        .map(|defect| one_line(&defect, MAX_DEFECT_CHARS))
        .collect();
    if defects.is_empty() {
        return Ok(());
    }
    Err(format!("The arguments don't fit the schema of the tool: {}.", defects.join("; ")))
}

/// Counts what a validator does.
struct WorkEstimate<'a> {
    root: &'a Json,
    steps: usize,
    patterns: usize,
}

impl<'a> WorkEstimate<'a> {
    fn new(root: &'a Json) -> Self {
        Self { root, steps: MAX_STEPS, patterns: MAX_PATTERNS }
    }

    fn is_bounded(&mut self, value: &Json) -> bool {
        if self.compile(self.root, &mut Vec::new()).is_none() {
            return false;
        }
        self.steps = MAX_STEPS;
        self.validate(self.root, value, 0).is_some()
    }

    fn spend(&mut self, steps: usize) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        Some(())
    }

    /// Visits everything in a schema, with references inlined but for those to what it is in.
    fn compile(&mut self, schema: &'a Json, active: &mut Vec<&'a Json>) -> Option<()> {
        self.spend(1)?;
        if active.len() > MAX_LEVELS {
            return None;
        }
        active.push(schema);
        match schema {
            Json::Array(items) => {
                for item in items {
                    self.compile(item, active)?;
                }
            }
            Json::Object(members) => {
                for (name, value) in members {
                    match (&**name, value) {
                        // What a reference means may depend on these; and they may evaluate values again and again.
                        (
                            "$dynamicRef" | "$recursiveRef" | "unevaluatedProperties" | "unevaluatedItems",
                            _,
                        ) => {
                            return None;
                        }
                        ("$id" | "id" | "$anchor" | "$dynamicAnchor", Json::String(_))
                            if active.len() > 1 =>
                        {
                            return None;
                        }
                        ("$ref", Json::String(reference)) => {
                            let target = self.resolve(reference)?;
                            if !active.iter().any(|known| std::ptr::eq(*known, target)) {
                                self.compile(target, active)?;
                            }
                        }
                        ("pattern", Json::String(pattern)) => self.pattern(pattern)?,
                        ("patternProperties", Json::Object(patterns)) => {
                            for (pattern, schema) in patterns {
                                self.pattern(pattern)?;
                                self.compile(schema, active)?;
                            }
                        }
                        ("enum" | "const" | "default" | "examples", _) => {}
                        _ => self.compile(value, active)?,
                    }
                }
            }
            _ => {}
        }
        active.pop();
        Some(())
    }

    fn pattern(&mut self, pattern: &str) -> Option<()> {
        self.patterns = self.patterns.checked_sub(1)?;
        (pattern.len() <= MAX_PATTERN_BYTES).then_some(())
    }

    /// Visits the schemas that a value, and what is in it, may be validated against.
    fn validate(&mut self, schema: &'a Json, value: &Json, level: usize) -> Option<()> {
        self.spend(1)?;
        let Json::Object(members) = schema else { return Some(()) };
        if level >= MAX_LEVELS {
            return None;
        }
        let level = level + 1;
        for (name, keyword) in members {
            match (&**name, keyword) {
                ("$ref", Json::String(reference)) => {
                    let target = self.resolve(reference)?;
                    self.validate(target, value, level)?;
                }
                ("allOf" | "anyOf" | "oneOf", Json::Array(schemas)) => {
                    for schema in schemas {
                        self.validate(schema, value, level)?;
                    }
                }
                ("not" | "if" | "then" | "else", schema) => self.validate(schema, value, level)?,
                ("dependentSchemas" | "dependencies", Json::Object(schemas)) => {
                    for (_, schema) in schemas {
                        self.validate(schema, value, level)?;
                    }
                }
                ("properties", Json::Object(properties)) => {
                    let Json::Object(values) = value else { continue };
                    for (name, value) in values {
                        self.spend(1 + properties.len() / 16)?;
                        if let Some(schema) = keyword.get(name) {
                            self.validate(schema, value, level)?;
                        }
                    }
                }
                ("patternProperties", Json::Object(patterns)) => {
                    for (_, schema) in patterns {
                        self.inside(schema, value, level)?;
                    }
                }
                ("propertyNames", schema) => {
                    let Json::Object(values) = value else { continue };
                    for (name, _) in values {
                        self.validate(schema, &Json::String(name.clone()), level)?;
                    }
                }
                ("items" | "prefixItems", Json::Array(schemas)) => {
                    for schema in schemas {
                        self.inside(schema, value, level)?;
                    }
                }
                ("items" | "additionalItems" | "contains" | "additionalProperties", schema) => {
                    self.inside(schema, value, level)?;
                }
                ("enum", Json::Array(values)) => self.spend(values.len() / 16)?,
                _ => {}
            }
        }
        Some(())
    }

    /// Visits a schema with all that is directly in a value.
    fn inside(&mut self, schema: &'a Json, value: &Json, level: usize) -> Option<()> {
        match value {
            Json::Array(items) => items.iter().try_for_each(|item| self.validate(schema, item, level)),
            Json::Object(members) => {
                members.iter().try_for_each(|(_, member)| self.validate(schema, member, level))
            }
            _ => Some(()),
        }
    }

    fn resolve(&mut self, reference: &str) -> Option<&'a Json> {
        let mut target = self.root;
        let mut rest = reference.strip_prefix('#')?;
        while !rest.is_empty() {
            let after = rest.strip_prefix('/')?;
            let (segment, next) = after.split_at(after.find('/').unwrap_or(after.len()));
            target = match target {
                Json::Object(members) => {
                    self.spend(1 + members.len() / 16)?;
                    target.get(&unescape_segment(segment)?)?
                }
                Json::Array(items) => items.get(array_index(segment)?)?,
                _ => return None,
            };
            rest = next;
        }
        Some(target)
    }
}
