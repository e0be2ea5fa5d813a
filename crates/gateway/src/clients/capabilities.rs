//! Client capabilities: which server-to-client requests (elicitation, sampling, roots) a client declared that
//! it can respond to.

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::ClientFeature;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// The declared client capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: Option<SamplingCapabilities>,
    roots: bool,
}

/// What a client that can sample supports besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct SamplingCapabilities {
    context: bool,
    tools: bool,
}

impl ClientCapabilities {
    /// Parses the `capabilities` object. An empty `elicitation` object means form mode, as in the revisions
    /// before modes existed.
    pub(crate) fn parse(capabilities: Option<&RawValue>) -> Self {
        let Some(declared) = capabilities.and_then(|raw| Members::of(raw).ok()) else {
            return Self::default();
        };
        let modes = declared.get("elicitation").and_then(|raw| Members::of(raw).ok());
        let mode = |name: &str| modes.as_ref().is_some_and(|modes| modes.get(name).is_some());
        let any = modes.as_ref().is_some_and(|modes| modes.iter().next().is_some());
        Self {
            form: modes.is_some() && (!any || mode("form")),
            url: mode("url"),
            sampling: declared.get("sampling").map(|raw| {
                let declared = Members::of(raw).ok();
                let has = |name: &str| declared.as_ref().is_some_and(|members| members.get(name).is_some());
                SamplingCapabilities { context: has("context"), tools: has("tools") }
            }),
            roots: declared.get("roots").is_some(),
        }
    }

    /// Whether the client can respond to this kind of server request.
    pub(crate) fn supports(self, feature: ClientFeature) -> bool {
        match feature {
            ClientFeature::Form => self.form,
            ClientFeature::Url => self.url,
            ClientFeature::Sampling => self.sampling.is_some(),
            ClientFeature::Roots => self.roots,
        }
    }

    /// The same as a client of the stateless revision declares them with a request. Members that only the older
    /// revisions have are left out.
    pub(crate) fn declaration(self) -> Box<RawValue> {
        let present = |members: &[(&str, bool)]| -> Value {
            let names = members.iter().filter(|(_, is_present)| *is_present);
            names.map(|(name, _)| ((*name).to_owned(), json!({}))).collect::<Map<_, _>>().into()
        };
        let mut declared = Map::new();
        if self.form || self.url {
            declared.insert("elicitation".to_owned(), present(&[("form", self.form), ("url", self.url)]));
        }
        if let Some(SamplingCapabilities { context, tools }) = self.sampling {
            declared.insert("sampling".to_owned(), present(&[("context", context), ("tools", tools)]));
        }
        if self.roots {
            declared.insert("roots".to_owned(), json!({}));
        }
        to_raw_value(&declared).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declares_what_an_older_client_declared() {
        for (given, declared) in [
            ("{}", "{}"),
            (r#"{"elicitation":{},"x":1}"#, r#"{"elicitation":{"form":{}}}"#),
            (
                r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"url":{}},"tasks":{}}"#,
                r#"{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}}"#,
            ),
        ] {
            let raw = RawValue::from_string(given.to_owned()).unwrap();
            assert_eq!(ClientCapabilities::parse(Some(&raw)).declaration().get(), declared, "{given}");
        }
    }

    #[test]
    fn reads_elicitation_modes() {
        let of = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            let client_capabilities = ClientCapabilities::parse(Some(&raw));
            [ClientFeature::Form, ClientFeature::Url, ClientFeature::Sampling, ClientFeature::Roots]
                .map(|feature| client_capabilities.supports(feature))
        };
        assert_eq!(of("{}"), [false; 4]);
        assert_eq!(of(r#"{"elicitation":{}}"#), [true, false, false, false]);
        assert_eq!(of(r#"{"elicitation":{"url":{}},"roots":{}}"#), [false, true, false, true]);
        assert_eq!(of(r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#), [true, true, true, false]);
        assert_eq!(of(r#"{"elicitation":true}"#), [false; 4]);
    }
}
