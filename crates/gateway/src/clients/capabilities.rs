//! Client capabilities: which server-to-client requests (elicitation, sampling, roots) a client declared that
//! it can respond to.

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::ClientFeature;
use serde_json::value::RawValue;

/// The declared client capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
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
            sampling: declared.get("sampling").is_some(),
            roots: declared.get("roots").is_some(),
        }
    }

    /// Whether the client can respond to this kind of server request.
    pub(crate) fn supports(self, feature: ClientFeature) -> bool {
        match feature {
            ClientFeature::Form => self.form,
            ClientFeature::Url => self.url,
            ClientFeature::Sampling => self.sampling,
            ClientFeature::Roots => self.roots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
