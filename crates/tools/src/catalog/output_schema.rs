//! Checking results against a tool's `outputSchema` (TOOL-5). Schemas are compiled and run in a separate
//! process, not here.

use std::sync::OnceLock;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::ServerId;
use gatehouse_policy::display::clean_text;
use gatehouse_servers::{SchemaCheck, SchemaChecker, SchemaError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest message about a mismatch, in characters.
const MAX_MISMATCH_CHARS: usize = 300;

/// The `outputSchema` of a tool.
#[derive(Debug, Default)]
pub(crate) struct OutputSchema {
    schema: Option<Box<RawValue>>,
    /// Why results aren't checked any more.
    check_failure: OnceLock<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StructuredResult<'a> {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result_type: Option<String>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
}

impl OutputSchema {
    /// Reads the members of a definition.
    pub(crate) fn of(definition: &Members<'_>) -> Self {
        Self { schema: definition.get("outputSchema").map(ToOwned::to_owned), check_failure: OnceLock::new() }
    }

    /// Whether there is a schema.
    pub(crate) fn has_output_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// What in a result doesn't match, if anything. Errors and incomplete results aren't checked. Blocks while
    /// the check runs; if the check was aborted once, the schema isn't tried again.
    pub(crate) fn output_mismatch(&self, result: &RawValue, by: SchemaContext<'_>) -> Option<String> {
        let schema = self.schema.as_ref()?;
        let head: StructuredResult<'_> = match serde_json::from_str(result.get()) {
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
        if let Some(why) = self.check_failure.get() {
            return Some(why.clone());
        }
        let check = SchemaCheck {
            server: by.server.clone(),
            schema: schema.get().into(),
            value: Some(content.get().into()),
            formats: false,
        };
        match by.checker.check_now(&check) {
            Ok(()) => None,
            Err(SchemaError::Misfit { why, at }) => {
                Some(clip(&format!("structuredContent{at} does not fit the outputSchema: {why}.")))
            }
            Err(SchemaError::Unusable(why)) => {
                Some(clip(&format!("The tool's outputSchema cannot be used: {why}.")))
            }
            Err(SchemaError::Unchecked(why)) => {
                let why = clip(&format!("The result was not checked against the outputSchema: {why}."));
                Some(self.check_failure.get_or_init(|| why).clone())
            }
        }
    }
}

/// The checker, and the server of the tool.
#[derive(Clone, Copy)]
pub(crate) struct SchemaContext<'a> {
    pub(crate) checker: &'a SchemaChecker,
    pub(crate) server: &'a ServerId,
}

fn clip(text: &str) -> String {
    clean_text(text).chars().take(MAX_MISMATCH_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output_mismatch(schema: &str, result: &str) -> Option<String> {
        let definition = format!(r#"{{"name":"t","outputSchema":{schema}}}"#);
        let output = OutputSchema::of(&Members::read(&definition).unwrap());
        let by = SchemaContext { checker: &SchemaChecker::default(), server: &ServerId::new("srv-1") };
        output.output_mismatch(&RawValue::from_string(result.to_owned()).unwrap(), by)
    }

    #[test]
    fn checks_results_against_output_schema() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        for fit in [
            r#"{"content":[],"structuredContent":{"n":1}}"#,
            r#"{"content":[],"isError":true}"#,
            r#"{"resultType":"input_required"}"#,
        ] {
            assert_eq!(output_mismatch(schema, fit), None, "{fit}");
        }
        for wrong in
            [r#"{"content":[]}"#, r#"{"structuredContent":{"n":"one"}}"#, r#"{"structuredContent":{}}"#]
        {
            assert!(output_mismatch(schema, wrong).is_some(), "{wrong}");
        }
        let by = SchemaContext { checker: &SchemaChecker::default(), server: &ServerId::new("srv-1") };
        assert_eq!(OutputSchema::default().output_mismatch(RawValue::NULL, by), None);
        let has_hidden_text = "{\"structuredContent\":{\"n\":\"o\u{202e}ne\u{200b}\"}}";
        let mismatch = output_mismatch(schema, has_hidden_text).unwrap();
        assert!(!mismatch.contains(['\u{202e}', '\u{200b}']), "{mismatch:?}");
    }
}
