//! Parameters of a request in form encoding, of a query or a body.

use url::form_urlencoded;

use crate::authorization::oauth_error::OAuthError;

/// The parameters of a request, in their order.
#[derive(Clone)]
pub(crate) struct OAuthParams(Vec<(String, String)>);

impl OAuthParams {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// A parameter; an empty one counts as absent.
    ///
    /// # Errors
    /// When it occurs twice: two programs could read different values.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        let mut values = self.0.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (first, None) => Ok(first.filter(|value| !value.is_empty())),
            (_, Some(_)) => Err(OAuthError::invalid_request(format!("{name} must not occur twice."))),
        }
    }

    /// As [`Self::get`], for a parameter that must be there.
    pub(crate) fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name)?.ok_or_else(|| OAuthError::invalid_request(format!("{name} is missing.")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_parameter_once() {
        let params = OAuthParams::parse(b"a=1&b=%20x+y&c=&d=1&d=1");
        assert_eq!(params.get("a"), Ok(Some("1")));
        assert_eq!(params.require("b"), Ok(" x y"));
        assert_eq!(params.get("c"), Ok(None));
        assert_eq!(params.get("e"), Ok(None));
        assert_eq!(params.get("d").unwrap_err().code, "invalid_request");
        assert_eq!(params.require("c").unwrap_err().code, "invalid_request");
    }
}
