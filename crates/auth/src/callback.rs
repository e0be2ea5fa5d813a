//! Validates authorization responses: whether a response belongs to the pending sign-in (`state`), which
//! issuer it is from (RFC 9207), and what it contains. Used both for the listener and for a pasted address;
//! only one response is ever accepted.

use gatehouse_common::constant_time;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::Secret;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use url::{Url, form_urlencoded};

use crate::grant::{GrantError, LONGEST_WORDS, meaning};

/// The expected response.
pub(crate) struct Expected {
    /// The redirect URI.
    pub(crate) redirect: Url,
    /// The random `state` parameter, which shows that a response belongs to this request (CSRF protection).
    pub(crate) state: Secret,
    /// The expected issuer; `None` if it isn't known from a metadata document.
    pub(crate) issuer: Option<String>,
    /// Whether the response must contain `iss` (RFC 9207).
    pub(crate) names_issuer: bool,
}

/// A response that belongs to the sign-in.
pub(crate) struct Answered {
    /// The code, or the error.
    pub(crate) outcome: Result<Secret, GrantError>,
    /// Must be told whether the sign-in succeeded, for the final page.
    pub(crate) told: oneshot::Sender<bool>,
}

/// A response that doesn't belong to the pending sign-in. The sign-in keeps waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stranger;

/// Accepts the one response to a pending sign-in.
pub(crate) struct Desk {
    expected: Expected,
    waiting: Mutex<Option<oneshot::Sender<Answered>>>,
    /// Cancelled once the outcome was determined: the listener then finishes open connections and stops.
    pub(crate) closing: CancellationToken,
}

impl Desk {
    /// Opens for one response.
    pub(crate) fn open(expected: Expected) -> (Self, oneshot::Receiver<Answered>) {
        let (sender, receiver) = oneshot::channel();
        (Self { expected, waiting: Mutex::new(Some(sender)), closing: CancellationToken::new() }, receiver)
    }

    /// The redirect URI.
    pub(crate) fn redirect(&self) -> &Url {
        &self.expected.redirect
    }

    /// Takes the query of a redirect. The returned receiver gets whether the sign-in succeeded.
    pub(crate) fn take(&self, query: &str) -> Result<oneshot::Receiver<bool>, Stranger> {
        let outcome = self.expected.judge(query)?;
        let waiting = self.waiting.lock().take().ok_or(Stranger)?;
        let (told, ended) = oneshot::channel();
        waiting.send(Answered { outcome, told }).map_err(|_| Stranger)?;
        Ok(ended)
    }

    /// Takes a whole address, as the user pastes it.
    pub(crate) fn take_address(&self, address: &str) -> Result<(), Stranger> {
        let url = Url::parse(address.trim()).map_err(|_| Stranger)?;
        let redirect = &self.expected.redirect;
        let same = url.origin() == redirect.origin() && url.path() == redirect.path();
        if !same {
            return Err(Stranger);
        }
        self.take(url.query().unwrap_or_default()).map(drop)
    }
}

impl Expected {
    fn judge(&self, query: &str) -> Result<Result<Secret, GrantError>, Stranger> {
        let one = |name: &str| {
            let mut values = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value);
            match (values.next(), values.next()) {
                (first, None) => Ok(first.map(std::borrow::Cow::into_owned)),
                (_, Some(_)) => Err(()),
            }
        };
        let Ok(Some(state)) = one("state") else { return Err(Stranger) };
        if !constant_time::is_equal(state.as_bytes(), self.state.reveal().as_bytes()) {
            return Err(Stranger);
        }
        let unusable = |why: &str| Ok(Err(GrantError::Unusable(why.to_owned())));
        let (Ok(code), Ok(error), Ok(issuer)) = (one("code"), one("error"), one("iss")) else {
            return unusable("The browser brought an answer that says things twice. It was not used.");
        };
        if let Err(why) = self.judge_issuer(issuer.as_deref()) {
            return unusable(why);
        }
        if let Some(error) = error {
            let said = one("error_description").ok().flatten().map(|text| one_line(&text, LONGEST_WORDS));
            let said = said.filter(|text| !text.is_empty()).map(|text| format!(" It says: “{text}”."));
            let code = one_line(&error, 64);
            let words =
                format!("The authorization server refuses: {}.{}", meaning(&code), said.unwrap_or_default());
            return Ok(Err(GrantError::Denied { code, words }));
        }
        match code.filter(|code| !code.is_empty()) {
            Some(code) => Ok(Ok(Secret::new(code))),
            None => unusable("The browser came back without a code."),
        }
    }

    /// Issuers are compared as strings without normalization (RFC 9207 section 2.4), so that a similar
    /// identifier isn't accepted.
    fn judge_issuer(&self, named: Option<&str>) -> Result<(), &'static str> {
        match (named, &self.issuer) {
            (Some(named), Some(expected)) if named != expected => Err(
                "The answer came from another authorization server than the one that was asked. It was not used.",
            ),
            (None, Some(_)) if self.names_issuer => Err(
                "The answer does not say from which authorization server it is, and has to. It was not used.",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(names_issuer: bool) -> Expected {
        Expected {
            redirect: Url::parse("http://127.0.0.1:8000/callback").unwrap(),
            state: Secret::new("S"),
            issuer: Some("https://id.example".to_owned()),
            names_issuer,
        }
    }

    #[test]
    fn only_the_right_state_counts() {
        for query in
            ["", "code=c", "state=X&code=c", "state=S&state=S&code=c", "state=&code=c", "STATE=S&code=c"]
        {
            assert_eq!(expected(false).judge(query).unwrap_err(), Stranger, "{query}");
        }
        let code = expected(false).judge("state=S&code=c%2Bd").unwrap().unwrap();
        assert_eq!(code.reveal(), "c+d");
    }

    #[test]
    fn the_issuer_is_compared_letter_by_letter() {
        let good = "state=S&code=c&iss=https%3A%2F%2Fid.example";
        assert!(expected(true).judge(good).unwrap().is_ok());
        assert!(expected(false).judge(good).unwrap().is_ok());
        assert!(expected(false).judge("state=S&code=c").unwrap().is_ok());
        assert!(expected(true).judge("state=S&code=c").unwrap().is_err());
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
            assert!(expected(false).judge(&query).unwrap().is_err(), "{wrong}");
            let error = query.replace("code=c", "error=access_denied");
            assert!(
                expected(false).judge(&error).unwrap().unwrap_err().to_string().contains("another"),
                "{wrong}"
            );
        }
        assert!(expected(false).judge(&format!("{good}&iss=x")).unwrap().is_err());
        let unknown = Expected { issuer: None, ..expected(false) };
        assert!(unknown.judge("state=S&code=c&iss=x").unwrap().is_ok());
    }

    #[test]
    fn errors_end_it_in_words() {
        let said = "state=S&error=access_denied&error_description=not%20you%0A%E2%80%AE";
        assert_eq!(
            expected(false).judge(said).unwrap().unwrap_err().to_string(),
            "The authorization server refuses: access was not granted. It says: “not you”."
        );
        assert!(expected(false).judge("state=S").unwrap().is_err());
        assert!(expected(false).judge("state=S&code=a&code=b").unwrap().is_err());
    }

    #[test]
    fn one_answer_is_taken_and_no_second() {
        let (desk, mut answer) = Desk::open(expected(false));
        assert_eq!(desk.take_address("http://127.0.0.1:8000/other?state=S&code=c"), Err(Stranger));
        assert_eq!(desk.take_address("http://localhost:8000/callback?state=S&code=c"), Err(Stranger));
        assert_eq!(desk.take_address("http://127.0.0.1:8000/callback?state=X&code=c"), Err(Stranger));
        assert!(answer.try_recv().is_err());
        assert_eq!(desk.take_address(" http://127.0.0.1:8000/callback?state=S&code=c\n"), Ok(()));
        assert_eq!(answer.try_recv().unwrap().outcome.unwrap().reveal(), "c");
        assert!(desk.take("state=S&code=c").is_err());
    }
}
