//! The token endpoint: client authentication, token responses and errors. Texts from the other side are
//! cleaned of everything secret that was sent to it.

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
/// Minimum length of a sent value that is redacted in texts of the other side.
const SHORTEST_SECRET: usize = 4;
/// Maximum length of a displayed text of the other side, in characters.
pub(crate) const LONGEST_WORDS: usize = 200;

/// Client authentication method.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// None: a public client.
    None,
    /// `client_secret_basic`
    Basic(Secret),
    /// `client_secret_post`
    Post(Secret),
    /// `private_key_jwt`
    Key {
        /// PEM.
        key: Secret,
        /// JWS algorithm, for example `RS256`.
        algorithm: String,
    },
}

impl Proof {
    /// Chooses the method for a client with this secret: the agreed one, else one that the server offers.
    /// Without a secret the client is public.
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

/// Origin of a client id. Only a registered one can be discarded when the server refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Entered by the user.
    Entered,
    /// The URL of a Client ID Metadata Document.
    Document,
    /// Dynamically registered by Gatehouse.
    Registered,
}

/// An OAuth client at an authorization server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) proof: Proof,
    pub(crate) origin: Origin,
}

/// A successful token response.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) lives_secs: Option<u64>,
    /// `None` if the granted scopes are those that were requested.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) id_token: Option<Secret>,
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GrantError {
    /// The server returned an OAuth error.
    #[error("{words}")]
    Denied {
        /// The OAuth error code.
        code: String,
        /// The error as a sentence.
        words: String,
    },
    /// The server can't be reached at the moment.
    #[error("{0}")]
    Unreachable(String),
    /// The response is invalid, or the settings can't be used.
    #[error("{0}")]
    Unusable(String),
}

impl GrantError {
    /// Whether the server refuses the client itself.
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

pub(crate) struct TokenEndpoint<'a> {
    pub(crate) web: &'a Web,
    pub(crate) url: &'a Url,
    /// The audience of client assertions.
    pub(crate) issuer: &'a str,
    pub(crate) clock: &'a dyn Clock,
}

/// Form fields, whose values may be secret.
pub(crate) type Form = Vec<(&'static str, Secret)>;

impl TokenEndpoint<'_> {
    /// Requests a token.
    pub(crate) async fn ask(&self, client: &Client, form: Form) -> Result<Granted, GrantError> {
        let (answer, form) = self.post(client, form).await?;
        read(self.url, &answer, &form)
    }

    /// Posts a form for which only success matters, such as a revocation.
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
    // Some servers report errors with a success status.
    let Some(access) = given.access_token.filter(is_token) else {
        return Err(denied(url, answer, form));
    };
    // In a token exchange, `N_A` says that the result isn't an access token by itself (RFC 8693).
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

/// Whether the token can be sent in a header.
fn is_token(token: &Secret) -> bool {
    let text = token.reveal();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Parses a number of seconds, also if it is a string or has a fraction. Anything invalid counts as absent.
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

/// Describes an OAuth error code (RFC 6749 and extensions). Unknown codes are quoted.
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

/// Makes a text of the other side safe to show: redacts what was sent, and removes control characters and
/// excess length.
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
