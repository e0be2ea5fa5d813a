//! The token endpoint: how a client proves itself there, what it gets, and why it gets nothing. What
//! the other side says in its own words is cleaned of everything that was sent to it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::sign_in::TokenMethod;
use gatehouse_model::{Clock, ErrorCode, Problem, Secret};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::AuthError;
use crate::assertion::assertion;
use crate::challenge::scopes;
use crate::web::{Answer, Web, host};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Shortest value that is taken out of what the other side says.
const SHORTEST_SECRET: usize = 4;
/// Longest text of the other side that is shown, in characters.
pub(crate) const LONGEST_WORDS: usize = 200;

/// How a client proves that it is the one.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// Not at all: a public client.
    None,
    /// With its secret, in a header.
    Basic(Secret),
    /// With its secret, in the form.
    Post(Secret),
    /// With a signed statement.
    Key {
        /// PEM
        key: Secret,
        /// `RS256` and its like.
        algorithm: String,
    },
}

impl Proof {
    /// With a secret if there is one, in the way that was agreed upon or else that is offered.
    pub(crate) fn with(secret: Option<Secret>, agreed: Option<TokenMethod>, offered: &[String]) -> Self {
        let Some(secret) = secret else { return Self::None };
        let offers = |method: &str| offered.iter().any(|offer| offer == method);
        match agreed {
            Some(TokenMethod::ClientSecretBasic) => Self::Basic(secret),
            Some(TokenMethod::ClientSecretPost) => Self::Post(secret),
            Some(TokenMethod::None) => Self::None,
            None if offered.is_empty() || offers("client_secret_basic") => Self::Basic(secret),
            None if offers("client_secret_post") => Self::Post(secret),
            None if offers("none") => Self::None,
            None => Self::Basic(secret),
        }
    }
}

/// Where a client comes from; that decides whether it can be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user entered it.
    Entered,
    /// It is described by a document at its own address.
    Document,
    /// Gatehouse registered it.
    Registered,
}

/// A client at an authorization server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) proof: Proof,
    pub(crate) origin: Origin,
}

/// What a token endpoint gave.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) lives_secs: Option<u64>,
    /// `None` where it is just what was asked for.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) id_token: Option<Secret>,
}

/// Why a token endpoint gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GrantError {
    /// It refuses.
    #[error("{words}")]
    Denied {
        /// Its code for why.
        code: String,
        /// The same in a sentence.
        words: String,
    },
    /// It cannot be reached now.
    #[error("{0}")]
    Unreachable(String),
    /// What it says is not what it should be; or the settings cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl GrantError {
    /// Whether the client itself is what it refuses.
    pub(crate) fn is_about_client(&self) -> bool {
        matches!(self, Self::Denied { code, .. } if code == "invalid_client" || code == "unauthorized_client")
    }
}

impl From<GrantError> for AuthError {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Unreachable(why) => Self::Unreachable(why),
            GrantError::Denied { .. } | GrantError::Unusable(_) => Self::Refused(
                Problem::new(ErrorCode::Refused, "The sign-in did not work.").why(error.to_string()),
            ),
        }
    }
}

/// A token endpoint.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) web: &'a Web,
    pub(crate) url: &'a Url,
    /// To whom statements are made.
    pub(crate) issuer: &'a str,
    pub(crate) clock: &'a dyn Clock,
}

/// A form: names and values that may be secret.
pub(crate) type Form = Vec<(&'static str, Secret)>;

impl TokenEndpoint<'_> {
    /// Asks for a token.
    pub(crate) async fn ask(&self, client: &Client, form: Form) -> Result<Granted, GrantError> {
        let (answer, form) = self.post(client, form).await?;
        read(self.url, &answer, &form)
    }

    /// Posts a form of which nothing but success is wanted, as a revocation is.
    pub(crate) async fn tell(&self, client: &Client, form: Form) -> Result<(), GrantError> {
        let (answer, form) = self.post(client, form).await?;
        if (200..300).contains(&answer.status) { Ok(()) } else { Err(denied(self.url, &answer, &form)) }
    }

    async fn post(&self, client: &Client, mut form: Form) -> Result<(Answer, Form), GrantError> {
        let mut headers = HeaderMap::new();
        match &client.proof {
            Proof::Basic(secret) => {
                headers.insert(AUTHORIZATION, basic(&client.id, secret)?);
            }
            Proof::None => form.push(("client_id", Secret::new(&*client.id))),
            Proof::Post(secret) => {
                form.push(("client_id", Secret::new(&*client.id)));
                form.push(("client_secret", secret.clone()));
            }
            Proof::Key { key, algorithm } => {
                let statement = assertion(&client.id, self.issuer, (key, algorithm), self.clock.now())
                    .map_err(|fault| GrantError::Unusable(fault.to_string()))?;
                form.push(("client_id", Secret::new(&*client.id)));
                form.push(("client_assertion_type", Secret::new(JWT_BEARER)));
                form.push(("client_assertion", statement));
            }
        }
        let answer = self.web.post_form(self.url, headers, &form).await.map_err(|error| {
            if error.is_temporary() {
                GrantError::Unreachable(error.to_string())
            } else {
                GrantError::Unusable(error.to_string())
            }
        })?;
        if answer.status == 429 || answer.status >= 500 {
            let what = format!("{} answered with HTTP {}.", host(self.url), answer.status);
            return Err(GrantError::Unreachable(what));
        }
        if let Proof::Basic(secret) = &client.proof {
            form.push(("client_secret", secret.clone()));
        }
        Ok((answer, form))
    }
}

fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, GrantError> {
    let encode = |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(id), encode(secret.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|_| GrantError::Unusable("The client's secret cannot be sent.".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Deserialize)]
struct Given {
    access_token: Option<Secret>,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    id_token: Option<Secret>,
    expires_in: Option<Value>,
    scope: Option<Value>,
}

fn read(url: &Url, answer: &Answer, form: &Form) -> Result<Granted, GrantError> {
    let unusable = |what: &str| GrantError::Unusable(format!("{} {what}", host(url)));
    if !(200..300).contains(&answer.status) {
        return Err(denied(url, answer, form));
    }
    let given: Given =
        serde_json::from_slice(&answer.body).map_err(|_| unusable("answered something that is no token."))?;
    // Some report errors as a success.
    let Some(access) = given.access_token.filter(is_token) else {
        return Err(denied(url, answer, form));
    };
    // A grant that is exchanged further says that it is no token by itself (RFC 8693).
    if given
        .token_type
        .is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer") && !kind.eq_ignore_ascii_case("N_A"))
    {
        return Err(unusable("gives tokens of a kind that Gatehouse does not know."));
    }
    let scopes = match given.scope {
        Some(Value::String(text)) => Some(scopes(&text)),
        Some(Value::Array(list)) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Some(scopes(&words.join(" ")))
        }
        _ => None,
    };
    Ok(Granted {
        access,
        refresh: given.refresh_token.filter(|token| !token.reveal().is_empty()),
        lives_secs: given.expires_in.as_ref().and_then(seconds),
        scopes: scopes.filter(|scopes| !scopes.is_empty()),
        id_token: given.id_token,
    })
}

/// Whether a header can carry it.
fn is_token(token: &Secret) -> bool {
    let text = token.reveal();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Seconds, also where they are written as text or with a fraction. What is no time is not said.
fn seconds(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok().map(|span| span.as_secs())
}

fn denied(url: &Url, answer: &Answer, form: &Form) -> GrantError {
    #[derive(Default, Deserialize)]
    struct Denial {
        error: Option<String>,
        error_description: Option<String>,
    }
    let denial: Denial = serde_json::from_slice(&answer.body).unwrap_or_default();
    let host = host(url);
    match denial.error {
        Some(code) => {
            let code: String = clean(&code, form).chars().take(64).collect();
            let said =
                denial.error_description.map(|text| clean(&text, form)).filter(|text| !text.is_empty());
            let said = said.map(|text| format!(" It says: “{text}”.")).unwrap_or_default();
            let words = format!("{host} refuses: {}.{said}", meaning(&code));
            GrantError::Denied { code, words }
        }
        None if answer.status == 401 => GrantError::Denied {
            code: "invalid_client".to_owned(),
            words: format!("{host} refuses: {}.", meaning("invalid_client")),
        },
        None => GrantError::Unusable(format!("{host} answered with HTTP {} and no token.", answer.status)),
    }
}

/// What a code of RFC 6749 and its companions means; other codes are told as they are.
pub(crate) fn meaning(code: &str) -> String {
    match code {
        "access_denied" => "access was not granted".to_owned(),
        "invalid_client" => "it does not know this client, or its secret is wrong".to_owned(),
        "invalid_grant" => "what was granted before is not valid any more".to_owned(),
        "invalid_request" => "the request is not as it wants it".to_owned(),
        "invalid_scope" => "a scope is unknown there, or not for this user".to_owned(),
        "invalid_target" => "it gives no tokens for this server".to_owned(),
        "unauthorized_client" => "this client may not sign in this way".to_owned(),
        "unsupported_grant_type" => "it does not offer this way to sign in".to_owned(),
        "server_error" | "temporarily_unavailable" => "it has trouble of its own; try again later".to_owned(),
        other => format!("“{other}”"),
    }
}

/// A text of the other side as it may be shown: without what was sent, control characters and length.
fn clean(text: &str, form: &Form) -> String {
    let mut text = text.to_owned();
    for (name, value) in form {
        let secret = !matches!(*name, "grant_type" | "client_id" | "scope" | "resource" | "token_type_hint");
        if secret && value.reveal().len() >= SHORTEST_SECRET && text.contains(value.reveal()) {
            text = text.replace(value.reveal(), gatehouse_model::secret::REDACTED);
        }
    }
    one_line(&text, LONGEST_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.as_bytes().to_vec() }
    }

    fn url() -> Url {
        Url::parse("https://id.example/token").unwrap()
    }

    #[test]
    fn answers_are_read_as_they_come() {
        for (body, lives, scopes) in [
            (r#"{"access_token":"a","expires_in":60,"scope":"x y"}"#, Some(60), Some(vec!["x", "y"])),
            (
                r#"{"access_token":"a","expires_in":"60","scope":["x"],"token_type":"bearer"}"#,
                Some(60),
                Some(vec!["x"]),
            ),
            (r#"{"access_token":"a","expires_in":59.7,"scope":""}"#, Some(59), None),
            (r#"{"access_token":"a","expires_in":null,"refresh_token":""}"#, None, None),
            (r#"{"access_token":"a","expires_in":-1}"#, None, None),
        ] {
            let granted = read(&url(), &answer(200, body), &vec![]).unwrap();
            assert_eq!(granted.lives_secs, lives, "{body}");
            let expected = scopes.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(granted.scopes, expected, "{body}");
            assert_eq!(granted.refresh, None);
        }
        for body in [
            r#"{"access_token":"a\r\nb"}"#,
            r#"{"access_token":""}"#,
            "{}",
            "<html>",
            r#"{"access_token":"a","token_type":"mac"}"#,
        ] {
            assert!(read(&url(), &answer(200, body), &vec![]).is_err(), "{body}");
        }
    }

    #[test]
    fn what_was_sent_is_not_said() {
        let form =
            vec![("grant_type", Secret::new("authorization_code")), ("code", Secret::new("s3cret-code"))];
        let body = r#"{"error":"invalid_grant","error_description":"code s3cret-code is \u0007gone\u202e"}"#;
        let error = read(&url(), &answer(400, body), &form).unwrap_err();
        let words = error.to_string();
        assert!(
            words.contains("is gone") && !words.contains("s3cret") && !words.contains('\u{202e}'),
            "{words}"
        );
        assert!(matches!(error, GrantError::Denied { code, .. } if code == "invalid_grant"));
        let as_success =
            read(&url(), &answer(200, r#"{"error":"bad_verification_code"}"#), &form).unwrap_err();
        assert!(matches!(as_success, GrantError::Denied { code, .. } if code == "bad_verification_code"));
        assert!(read(&url(), &answer(401, ""), &form).unwrap_err().is_about_client());
    }

    #[test]
    fn a_secret_is_sent_as_agreed_or_offered() {
        let with = |agreed, offered: &[&str]| {
            let offered: Vec<String> = offered.iter().map(|offer| (*offer).to_owned()).collect();
            Proof::with(Some(Secret::new("s")), agreed, &offered)
        };
        assert!(matches!(with(None, &[]), Proof::Basic(_)));
        assert!(matches!(with(None, &["client_secret_post", "client_secret_basic"]), Proof::Basic(_)));
        assert!(matches!(with(None, &["none", "client_secret_post"]), Proof::Post(_)));
        assert!(matches!(with(None, &["none"]), Proof::None));
        assert!(matches!(
            with(Some(TokenMethod::ClientSecretPost), &["client_secret_basic"]),
            Proof::Post(_)
        ));
        assert!(matches!(Proof::with(None, Some(TokenMethod::ClientSecretBasic), &[]), Proof::None));
    }
}
