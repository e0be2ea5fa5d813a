//! Checking results against a tool's `outputSchema` (TOOL-5). Schemas are compiled and run in a separate
//! process, not here.

use std::sync::OnceLock;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::ServerId;
use gatehouse_policy::show::clean_text;
use gatehouse_servers::{SchemaCheck, SchemaChecker, SchemaFault};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest message about a mismatch, in characters.
const LONGEST: usize = 300;

/// The `outputSchema` of a tool.
#[derive(Debug, Default)]
pub(crate) struct Output {
    schema: Option<Box<RawValue>>,
    /// Why results aren't checked any more.
    given_up: OnceLock<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result_type: Option<String>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
}

impl Output {
    /// Reads the members of a definition.
    pub(crate) fn of(definition: &Members<'_>) -> Self {
        Self { schema: definition.get("outputSchema").map(ToOwned::to_owned), given_up: OnceLock::new() }
    }

    /// Whether there is a schema.
    pub(crate) fn promises(&self) -> bool {
        self.schema.is_some()
    }

    /// What in a result doesn't match, if anything. Errors and incomplete results aren't checked. Blocks while
    /// the check runs; if the check was aborted once, the schema isn't tried again.
    pub(crate) fn unfit(&self, result: &RawValue, by: Checks<'_>) -> Option<String> {
        let schema = self.schema.as_ref()?;
        let head: Head<'_> = match serde_json::from_str(result.get()) {
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
        if let Some(why) = self.given_up.get() {
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
            Err(SchemaFault::Misfit { why, at }) => {
                Some(clip(&format!("structuredContent{at} does not fit the outputSchema: {why}.")))
            }
            Err(SchemaFault::Unusable(why)) => {
                Some(clip(&format!("The tool's outputSchema cannot be used: {why}.")))
            }
            Err(SchemaFault::Unchecked(why)) => {
                let why = clip(&format!("The result was not checked against the outputSchema: {why}."));
                Some(self.given_up.get_or_init(|| why).clone())
            }
        }
    }
}

/// The checker, and the server of the tool.
#[derive(Clone, Copy)]
pub(crate) struct Checks<'a> {
    pub(crate) checker: &'a SchemaChecker,
    pub(crate) server: &'a ServerId,
}

fn clip(text: &str) -> String {
    clean_text(text).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(schema: &str, result: &str) -> Option<String> {
        let definition = format!(r#"{{"name":"t","outputSchema":{schema}}}"#);
        let output = Output::of(&Members::read(&definition).unwrap());
        let by = Checks { checker: &SchemaChecker::default(), server: &ServerId::new("srv-1") };
        output.unfit(&RawValue::from_string(result.to_owned()).unwrap(), by)
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
        let by = Checks { checker: &SchemaChecker::default(), server: &ServerId::new("srv-1") };
        assert_eq!(Output::default().unfit(RawValue::NULL, by), None);
        let hides = "{\"structuredContent\":{\"n\":\"o\u{202e}ne\u{200b}\"}}";
        let said = unfit(schema, hides).unwrap();
        assert!(!said.contains(['\u{202e}', '\u{200b}']), "{said:?}");
    }
}
