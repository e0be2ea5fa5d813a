//! What a tool promises of its results (`outputSchema`, TOOL-5). The validator is compiled once for a
//! definition, when the first result comes; nothing is ever fetched for a `$ref`.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::Members;

/// Longest sentence about what does not fit, in characters.
const LONGEST: usize = 300;

/// What a tool promises of its results.
#[derive(Debug, Default)]
pub(crate) struct Output {
    schema: Option<Box<RawValue>>,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result_type: Option<String>,
    structured_content: Option<Value>,
}

impl Output {
    /// Reads a definition's members.
    pub(crate) fn of(definition: &Members<'_>) -> Self {
        Self { schema: definition.get("outputSchema").map(ToOwned::to_owned), compiled: OnceLock::new() }
    }

    /// Whether it promises anything.
    pub(crate) fn promises(&self) -> bool {
        self.schema.is_some()
    }

    /// What does not fit, if something does not. Errors and results that are not the last word
    /// promise nothing.
    pub(crate) fn unfit(&self, result: &RawValue) -> Option<String> {
        let schema = self.schema.as_ref()?;
        let head: Head = match serde_json::from_str(result.get()) {
            Ok(head) => head,
            Err(_) => return Some("The result is no object.".to_owned()),
        };
        if head.is_error || head.result_type.is_some_and(|kind| kind != "complete") {
            return None;
        }
        let Some(content) = head.structured_content else {
            return Some(
                "The tool declares an outputSchema, but the result has no structuredContent.".to_owned(),
            );
        };
        match self.compiled.get_or_init(|| compile(schema)) {
            Err(why) => Some(clip(&format!("The tool's outputSchema cannot be used: {why}."))),
            Ok(validator) => validator.validate(&content).err().map(|why| {
                clip(&format!(
                    "structuredContent{} does not fit the outputSchema: {why}.",
                    why.instance_path()
                ))
            }),
        }
    }
}

fn compile(schema: &RawValue) -> Result<jsonschema::Validator, String> {
    let schema: Value = serde_json::from_str(schema.get()).map_err(|why| why.to_string())?;
    jsonschema::options().build(&schema).map_err(|why| why.to_string())
}

fn clip(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(schema: &str, result: &str) -> Option<String> {
        let definition = format!(r#"{{"name":"t","outputSchema":{schema}}}"#);
        let output = Output::of(&Members::read(&definition).unwrap());
        output.unfit(&RawValue::from_string(result.to_owned()).unwrap())
    }

    #[test]
    fn results_are_held_to_what_was_promised() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        for fit in [
            r#"{"content":[],"structuredContent":{"n":1}}"#,
            r#"{"content":[],"isError":true}"#,
            r#"{"resultType":"input_required"}"#,
        ] {
            assert_eq!(unfit(schema, fit), None, "{fit}");
        }
        for wrong in
            [r#"{"content":[]}"#, r#"{"structuredContent":{"n":"one"}}"#, r#"{"structuredContent":{}}"#]
        {
            assert!(unfit(schema, wrong).is_some(), "{wrong}");
        }
        assert_eq!(Output::default().unfit(RawValue::NULL), None);
    }

    #[test]
    fn nothing_is_fetched_for_a_reference() {
        let fault = unfit(r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#, r#"{"structuredContent":{}}"#);
        assert!(fault.unwrap().contains("cannot be used"));
        let local = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object"}}}"##;
        assert_eq!(unfit(local, r#"{"structuredContent":{}}"#), None);
    }
}
