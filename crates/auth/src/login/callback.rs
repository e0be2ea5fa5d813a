//! Validates authorization responses: whether a response belongs to the pending sign-in (`state`), which
//! issuer it is from (RFC 9207), and what it contains. Used both for the listener and for a pasted address;
//! only one response is ever accepted.

use gatehouse_common::constant_time;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::{Message, Secret, message};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use url::{Url, form_urlencoded};

use crate::oauth_error::{GrantError, MAX_TEXT_CHARS, describe_error_code, with_detail};

/// The expected response.
pub(crate) struct ExpectedCallback {
    /// The redirect URI.
    pub(crate) redirect: Url,
    /// The random `state` parameter, which shows that a response belongs to this request (CSRF protection).
    pub(crate) state: Secret,
    /// The expected issuer; `None` if it isn't known from a metadata document.
    pub(crate) issuer: Option<String>,
    /// Whether the response must contain `iss` (RFC 9207).
    pub(crate) is_issuer_required: bool,
}

/// A response that belongs to the sign-in.
pub(crate) struct CallbackResult {
    /// The code, or the error.
    pub(crate) outcome: Result<Secret, GrantError>,
    /// Must be told whether the sign-in succeeded, for the final page.
    pub(crate) completed: oneshot::Sender<bool>,
}

/// A response that doesn't belong to the pending sign-in. The sign-in keeps waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnexpectedCallback;

/// Accepts the one response to a pending sign-in.
pub(crate) struct CallbackReceiver {
    expected: ExpectedCallback,
    waiting: Mutex<Option<oneshot::Sender<CallbackResult>>>,
    /// Cancelled once the outcome was determined: the listener then finishes open connections and stops.
    pub(crate) closing: CancellationToken,
}

impl CallbackReceiver {
    /// Opens for one response.
    pub(crate) fn open(expected: ExpectedCallback) -> (Self, oneshot::Receiver<CallbackResult>) {
        let (sender, receiver) = oneshot::channel();
        (Self { expected, waiting: Mutex::new(Some(sender)), closing: CancellationToken::new() }, receiver)
    }

    /// The redirect URI.
    pub(crate) fn redirect(&self) -> &Url {
        &self.expected.redirect
    }

    /// Takes the query of a redirect. The returned receiver gets whether the sign-in succeeded.
    pub(crate) fn take(&self, query: &str) -> Result<oneshot::Receiver<bool>, UnexpectedCallback> {
        let outcome = self.expected.validate(query)?;
        let waiting = self.waiting.lock().take().ok_or(UnexpectedCallback)?;
        let (completed, ended) = oneshot::channel();
        waiting.send(CallbackResult { outcome, completed }).map_err(|_| UnexpectedCallback)?;
        Ok(ended)
    }

    /// Takes a whole address, as the user pastes it.
    pub(crate) fn take_pasted_url(&self, address: &str) -> Result<(), UnexpectedCallback> {
        let url = Url::parse(address.trim()).map_err(|_| UnexpectedCallback)?;
        let redirect = &self.expected.redirect;
        let same = url.origin() == redirect.origin() && url.path() == redirect.path();
        if !same {
            return Err(UnexpectedCallback);
        }
        self.take(url.query().unwrap_or_default()).map(drop)
    }
}

impl ExpectedCallback {
    fn validate(&self, query: &str) -> Result<Result<Secret, GrantError>, UnexpectedCallback> {
        let one = |name: &str| {
            let mut values = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value);
            match (values.next(), values.next()) {
                (first, None) => Ok(first.map(std::borrow::Cow::into_owned)),
                (_, Some(_)) => Err(()),
            }
        };
        let Ok(Some(state)) = one("state") else { return Err(UnexpectedCallback) };
        if !constant_time::is_equal(state.as_bytes(), self.state.reveal().as_bytes()) {
            return Err(UnexpectedCallback);
        }
        let unusable = |why: Message| Ok(Err(GrantError::Unusable(why.into())));
        let (Ok(code), Ok(error), Ok(issuer)) = (one("code"), one("error"), one("iss")) else {
            return unusable(message!("error.auth.cause.saidTwice"));
        };
        if let Err(why) = self.validate_issuer(issuer.as_deref()) {
            return unusable(why);
        }
        if let Some(error) = error {
            let detail = one("error_description").ok().flatten().map(|text| one_line(&text, MAX_TEXT_CHARS));
            let code = one_line(&error, 64);
            let message = message!("error.auth.cause.serverRefuses", reason = describe_error_code(&code));
            let message = with_detail(message, detail);
            return Ok(Err(GrantError::Denied { code, message }));
        }
        match code.filter(|code| !code.is_empty()) {
            Some(code) => Ok(Ok(Secret::new(code))),
            None => unusable(message!("error.auth.cause.noCode")),
        }
    }

    /// Issuers are compared as strings without normalization (RFC 9207 section 2.4), so that a similar
    /// identifier isn't accepted.
    fn validate_issuer(&self, named: Option<&str>) -> Result<(), Message> {
        match (named, &self.issuer) {
            (Some(named), Some(expected)) if named != expected => {
                Err(message!("error.auth.cause.otherServer"))
            }
            (None, Some(_)) if self.is_issuer_required => Err(message!("error.auth.cause.unnamedServer")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(is_issuer_required: bool) -> ExpectedCallback {
        ExpectedCallback {
            redirect: Url::parse("http://127.0.0.1:8000/callback").unwrap(),
            state: Secret::new("S"),
            issuer: Some("https://id.example".to_owned()),
            is_issuer_required,
        }
    }

    #[test]
    fn rejects_wrong_or_repeated_state() {
        for query in
            ["", "code=c", "state=X&code=c", "state=S&state=S&code=c", "state=&code=c", "STATE=S&code=c"]
        {
            assert_eq!(expected(false).validate(query).unwrap_err(), UnexpectedCallback, "{query}");
        }
        let code = expected(false).validate("state=S&code=c%2Bd").unwrap().unwrap();
        assert_eq!(code.reveal(), "c+d");
    }

    #[test]
    fn compares_issuer_exactly() {
        let good = "state=S&code=c&iss=https%3A%2F%2Fid.example";
        assert!(expected(true).validate(good).unwrap().is_ok());
        assert!(expected(false).validate(good).unwrap().is_ok());
        assert!(expected(false).validate("state=S&code=c").unwrap().is_ok());
        assert!(expected(true).validate("state=S&code=c").unwrap().is_err());
        for wrong in [
            "https://id.example/",
            "HTTPS://id.example",
            "https://id.example:443",
            "https://evil.example",
            "",
        ] {
            let query: String = form_urlencoded::Serializer::new("state=S&code=c".to_owned())
                .append_pair("iss", wrong)
                .finish();
            assert!(expected(false).validate(&query).unwrap().is_err(), "{wrong}");
            let error = query.replace("code=c", "error=access_denied");
            assert!(
                expected(false).validate(&error).unwrap().unwrap_err().to_string().contains("another"),
                "{wrong}"
            );
        }
        assert!(expected(false).validate(&format!("{good}&iss=x")).unwrap().is_err());
        let unknown = ExpectedCallback { issuer: None, ..expected(false) };
        assert!(unknown.validate("state=S&code=c&iss=x").unwrap().is_ok());
    }

    #[test]
    fn describes_authorization_errors() {
        let detail = "state=S&error=access_denied&error_description=not%20you%0A%E2%80%AE";
        assert_eq!(
            expected(false).validate(detail).unwrap().unwrap_err().to_string(),
            "The authorization server refuses: access was not granted. It says: “not you”."
        );
        assert!(expected(false).validate("state=S").unwrap().is_err());
        assert!(expected(false).validate("state=S&code=a&code=b").unwrap().is_err());
    }

    #[test]
    fn accepts_exactly_one_callback() {
        let (callback, mut answer) = CallbackReceiver::open(expected(false));
        assert_eq!(
            callback.take_pasted_url("http://127.0.0.1:8000/other?state=S&code=c"),
            Err(UnexpectedCallback)
        );
        assert_eq!(
            callback.take_pasted_url("http://localhost:8000/callback?state=S&code=c"),
            Err(UnexpectedCallback)
        );
        assert_eq!(
            callback.take_pasted_url("http://127.0.0.1:8000/callback?state=X&code=c"),
            Err(UnexpectedCallback)
        );
        assert!(answer.try_recv().is_err());
        assert_eq!(callback.take_pasted_url(" http://127.0.0.1:8000/callback?state=S&code=c\n"), Ok(()));
        assert_eq!(answer.try_recv().unwrap().outcome.unwrap().reveal(), "c");
        assert!(callback.take("state=S&code=c").is_err());
    }
}
