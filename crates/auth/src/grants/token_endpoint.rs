//! The token endpoint: client authentication, token responses and errors. Texts from the other side are
//! cleaned of everything secret that was sent to it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::{Clock, Message, Secret, message};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::client::assertion::{SigningKey, assertion};
use crate::client::authentication::{ClientAuth, OAuthClient};
use crate::discovery::www_authenticate::scopes;
use crate::http_client::{AuthHttpClient, HttpResponse, host, http_status};
use crate::oauth_error::{GrantError, MAX_TEXT_CHARS, describe_error_code, with_detail};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Minimum length of a sent value that is redacted in texts of the other side.
const MIN_REDACTED_LEN: usize = 4;

/// A successful token response.
#[derive(Clone, Debug)]
pub(crate) struct TokenResponse {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) lives_secs: Option<u64>,
    /// `None` if the granted scopes are those that were requested.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) id_token: Option<Secret>,
}

pub(crate) struct TokenEndpoint<'a> {
    pub(crate) web: &'a AuthHttpClient,
    pub(crate) url: &'a Url,
    /// The audience of client assertions.
    pub(crate) issuer: &'a str,
    pub(crate) clock: &'a dyn Clock,
}

/// Form fields, whose values may be secret.
pub(crate) type Form = Vec<(&'static str, Secret)>;

impl TokenEndpoint<'_> {
    pub(crate) async fn request(
        &self,
        client: &OAuthClient,
        form: Form,
    ) -> Result<TokenResponse, GrantError> {
        let (response, form) = self.post(client, form).await?;
        read(self.url, &response, &form)
    }

    /// Posts a form for which only success matters, such as a revocation.
    pub(crate) async fn notify(&self, client: &OAuthClient, form: Form) -> Result<(), GrantError> {
        let (response, form) = self.post(client, form).await?;
        if (200..300).contains(&response.status) {
            Ok(())
        } else {
            Err(to_grant_error(self.url, &response, &form))
        }
    }

    async fn post(&self, client: &OAuthClient, mut form: Form) -> Result<(HttpResponse, Form), GrantError> {
        let mut headers = HeaderMap::new();
        match &client.auth {
            ClientAuth::Basic(secret) => {
                headers.insert(AUTHORIZATION, basic(&client.id, secret)?);
            }
            ClientAuth::None => form.push(("client_id", Secret::new(&*client.id))),
            ClientAuth::Post(secret) => {
                form.push(("client_id", Secret::new(&*client.id)));
                form.push(("client_secret", secret.clone()));
            }
            ClientAuth::Key { key, algorithm } => {
                let signing = SigningKey { key, algorithm };
                let signed = assertion(&client.id, self.issuer, signing, self.clock.now())
                    .map_err(|error| GrantError::Unusable(error.to_string().into()))?;
                form.push(("client_id", Secret::new(&*client.id)));
                form.push(("client_assertion_type", Secret::new(JWT_BEARER)));
                form.push(("client_assertion", signed));
            }
        }
        let response = self.web.post_form(self.url, headers, &form).await.map_err(|error| {
            if error.is_temporary() {
                GrantError::Unreachable(error.into_text())
            } else {
                GrantError::Unusable(error.into_text())
            }
        })?;
        if response.status == 429 || response.status >= 500 {
            return Err(GrantError::Unreachable(http_status(&host(self.url), response.status)));
        }
        if let ClientAuth::Basic(secret) = &client.auth {
            form.push(("client_secret", secret.clone()));
        }
        Ok((response, form))
    }
}

fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, GrantError> {
    let encode = |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(id), encode(secret.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|_| GrantError::Unusable(message!("error.auth.cause.unsendable").into()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Deserialize)]
struct RawTokenResponse {
    access_token: Option<Secret>,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    id_token: Option<Secret>,
    expires_in: Option<Value>,
    scope: Option<Value>,
}

fn read(url: &Url, response: &HttpResponse, form: &Form) -> Result<TokenResponse, GrantError> {
    if !(200..300).contains(&response.status) {
        return Err(to_grant_error(url, response, form));
    }
    let given: RawTokenResponse = serde_json::from_slice(&response.body)
        .map_err(|_| GrantError::Unusable(message!("error.auth.cause.noToken", host = host(url)).into()))?;
    // Some servers report errors with a success status.
    let Some(access) = given.access_token.filter(is_token) else {
        return Err(to_grant_error(url, response, form));
    };
    // In a token exchange, `N_A` says that the result isn't an access token by itself (RFC 8693).
    if given
        .token_type
        .is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer") && !kind.eq_ignore_ascii_case("N_A"))
    {
        return Err(GrantError::Unusable(message!("error.auth.cause.otherToken", host = host(url)).into()));
    }
    let scopes = match given.scope {
        Some(Value::String(text)) => Some(scopes(&text)),
        Some(Value::Array(list)) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Some(scopes(&words.join(" ")))
        }
        _ => None,
    };
    Ok(TokenResponse {
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

fn to_grant_error(url: &Url, response: &HttpResponse, form: &Form) -> GrantError {
    #[derive(Default, Deserialize)]
    struct ErrorResponse {
        error: Option<String>,
        error_description: Option<String>,
    }
    let denial: ErrorResponse = serde_json::from_slice(&response.body).unwrap_or_default();
    let host = host(url);
    match denial.error {
        Some(code) => {
            let code: String = redact(&code, form).chars().take(64).collect();
            let detail = denial.error_description.map(|text| redact(&text, form));
            let message = with_detail(refuses(&host, &code), detail);
            GrantError::Denied { code, message }
        }
        None if response.status == 401 => GrantError::Denied {
            code: "invalid_client".to_owned(),
            message: refuses(&host, "invalid_client").into(),
        },
        None => {
            let status = response.status.to_string();
            GrantError::Unusable(
                message!("error.auth.cause.statusWithoutToken", host = host, status = status).into(),
            )
        }
    }
}

/// Says that a host refuses, with an OAuth error code.
fn refuses(host: &str, code: &str) -> Message {
    message!("error.auth.cause.refuses", host = host, reason = describe_error_code(code))
}

/// Makes a text of the other side safe to show: redacts what was sent, and removes control characters and
/// excess length.
fn redact(text: &str, form: &Form) -> String {
    let mut text = text.to_owned();
    for (name, value) in form {
        let secret = !matches!(*name, "grant_type" | "client_id" | "scope" | "resource" | "token_type_hint");
        if secret && value.reveal().len() >= MIN_REDACTED_LEN && text.contains(value.reveal()) {
            text = text.replace(value.reveal(), gatehouse_model::secret::REDACTED);
        }
    }
    one_line(&text, MAX_TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> HttpResponse {
        HttpResponse { status, body: body.as_bytes().to_vec() }
    }

    fn url() -> Url {
        Url::parse("https://id.example/token").unwrap()
    }

    #[test]
    fn parses_lenient_token_responses() {
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
            let tokens = read(&url(), &response(200, body), &vec![]).unwrap();
            assert_eq!(tokens.lives_secs, lives, "{body}");
            let expected = scopes.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(tokens.scopes, expected, "{body}");
            assert_eq!(tokens.refresh, None);
        }
        for body in [
            r#"{"access_token":"a\r\nb"}"#,
            r#"{"access_token":""}"#,
            "{}",
            "<html>",
            r#"{"access_token":"a","token_type":"mac"}"#,
        ] {
            assert!(read(&url(), &response(200, body), &vec![]).is_err(), "{body}");
        }
    }

    #[test]
    fn redacts_request_secrets_in_errors() {
        let form =
            vec![("grant_type", Secret::new("authorization_code")), ("code", Secret::new("s3cret-code"))];
        let body = r#"{"error":"invalid_grant","error_description":"code s3cret-code is \u0007gone\u202e"}"#;
        let error = read(&url(), &response(400, body), &form).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("is gone") && !message.contains("s3cret") && !message.contains('\u{202e}'),
            "{message}"
        );
        assert!(matches!(error, GrantError::Denied { code, .. } if code == "invalid_grant"));
        let as_success =
            read(&url(), &response(200, r#"{"error":"bad_verification_code"}"#), &form).unwrap_err();
        assert!(matches!(as_success, GrantError::Denied { code, .. } if code == "bad_verification_code"));
        assert!(read(&url(), &response(401, ""), &form).unwrap_err().is_about_client());
    }
}
