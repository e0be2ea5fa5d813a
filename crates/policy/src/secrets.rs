//! Detects secrets in arguments and masks them (PERM-9).
//!
//! A mask also hides information from the user who decides, so it never covers more than the secret: for a
//! secret detected by member name, that value; for one detected by form, only the characters of the token.

use std::borrow::Cow;

use gatehouse_common::secret_names::is_secret_argument;
use gatehouse_common::url_password::password_range;
use gatehouse_model::secret::REDACTED;

use crate::json::Json;

/// Token formats of known issuers: prefix, and the least number of characters after it.
const TOKEN_PREFIXES: &[(&str, usize)] = &[
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("SG.", 30),
    ("dop_v1_", 32),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("glsa_", 20),
    ("gsk_", 20),
    ("hf_", 20),
    ("lin_api_", 20),
    ("npm_", 30),
    ("pypi-", 20),
    ("rk_live_", 16),
    ("shpat_", 20),
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("tskey-", 16),
    ("whsec_", 20),
    ("xai-", 20),
    ("xapp-", 10),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("ya29.", 20),
];

/// Masks the secrets of a value; borrowed if there are none. `name` is the name of the member that has this value.
pub(crate) fn mask_value<'a>(name: Option<&str>, value: &'a Json) -> Cow<'a, Json> {
    let masked = if name.is_some_and(is_secret_argument) { mask_all(value) } else { mask_found(value) };
    masked.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// The value with everything masked that could be a secret; `None` if there is nothing.
fn mask_all(value: &Json) -> Option<Json> {
    match value {
        Json::Null | Json::Bool(_) => None,
        Json::String(text) if text.is_empty() => None,
        Json::Number(_) | Json::String(_) => Some(Json::String(REDACTED.into())),
        Json::Array(items) => mask_items(items, mask_all),
        Json::Object(members) => mask_members(members, |_, value| mask_all(value)),
    }
}

/// The value with the secrets in it masked; `None` if there are none.
fn mask_found(value: &Json) -> Option<Json> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
        Json::String(text) => mask_text(text).map(|masked| Json::String(masked.into())),
        Json::Array(items) => mask_items(items, mask_found),
        Json::Object(members) => mask_members(members, |name, value| match mask_value(Some(name), value) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked),
        }),
    }
}

fn mask_items(items: &[Json], mask: impl Fn(&Json) -> Option<Json>) -> Option<Json> {
    let masked: Vec<Option<Json>> = items.iter().map(mask).collect();
    if masked.iter().all(Option::is_none) {
        return None;
    }
    let items = items.iter().zip(masked).map(|(item, masked)| masked.unwrap_or_else(|| item.clone()));
    Some(Json::Array(items.collect()))
}

fn mask_members(members: &[(Box<str>, Json)], mask: impl Fn(&str, &Json) -> Option<Json>) -> Option<Json> {
    let masked: Vec<Option<Json>> = members.iter().map(|(name, value)| mask(name, value)).collect();
    if masked.iter().all(Option::is_none) {
        return None;
    }
    let members = members
        .iter()
        .zip(masked)
        .map(|((name, value), masked)| (name.clone(), masked.unwrap_or_else(|| value.clone())));
    Some(Json::Object(members.collect()))
}

/// Masks every secret in a text; `None` if there is none.
pub(crate) fn mask_text(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        match secret_at(text, at) {
            Some((start, end)) => {
                out.push_str(&text[done..start]);
                out.push_str(REDACTED);
                done = end;
                at = end;
            }
            None => at += 1,
        }
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// Byte range of the secret that starts, or is announced, at a byte position, which may be inside a character.
/// Called for every byte of results, so most bytes are told by the first comparison.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b':' if bytes[at..].starts_with(b"://") => password_in_address(text, at + 3),
        b'-' if bytes[at..].starts_with(b"-----BEGIN ") => private_key(text, at),
        b'=' => assigned_secret(text, at),
        first if first.is_ascii_alphabetic() && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric()) => {
            token_at(text, at)
        }
        _ => None,
    }
}

/// A token at the start of a word.
fn token_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let first = rest.as_bytes()[0];
    let starts = |prefix: &str| prefix.as_bytes()[0] == first && rest.starts_with(prefix);
    if let Some((prefix, least)) = TOKEN_PREFIXES.iter().find(|(prefix, _)| starts(prefix)) {
        let length = token_length(&rest[prefix.len()..]);
        return (length >= *least).then_some((at, at + prefix.len() + length));
    }
    if rest.starts_with("eyJ") {
        return jwt_at(text, at);
    }
    let scheme = rest.get(..7).filter(|word| word.eq_ignore_ascii_case("bearer "));
    let scheme = scheme.or_else(|| rest.get(..6).filter(|word| word.eq_ignore_ascii_case("basic ")))?;
    let length = token_length(&rest[scheme.len()..]);
    let credential = &rest[scheme.len()..scheme.len() + length];
    let made_up = credential.bytes().any(|b| b.is_ascii_digit() || b == b'=');
    (length >= 8 && made_up).then_some((at + scheme.len(), at + scheme.len() + length))
}

/// A JWT: three parts of base64url separated by dots.
fn jwt_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let part_of = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    if text.as_bytes()[..at].last().is_some_and(part_of) {
        return None;
    }
    let length = text[at..].bytes().take_while(part_of).count();
    let dots = text[at..at + length].matches('.').count();
    (length >= 30 && dots >= 2).then_some((at, at + length))
}

fn token_length(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"_-.+/=~".contains(b)).count()
}

/// The password of `user:password@` at the start of a URL's authority.
fn password_in_address(text: &str, start: usize) -> Option<(usize, usize)> {
    let authority = text[start..].split(['/', '?', '#', ' ', '\n', '"', '\'']).next()?;
    let password = password_range(authority).filter(|password| !password.is_empty())?;
    Some((start + password.start, start + password.end))
}

fn private_key(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let title = &rest["-----BEGIN ".len()..];
    let title_length = title.bytes().take_while(|b| b.is_ascii_uppercase() || *b == b' ').count();
    if !title[..title_length].ends_with("PRIVATE KEY") || !title[title_length..].starts_with("-----") {
        return None;
    }
    let from = "-----BEGIN ".len() + title_length + "-----".len();
    let to = rest[from..].find("-----END ").map_or(rest.len(), |end| from + end);
    (to > from).then_some((at + from, at + to))
}

/// The value of `password=…` in a command line or URL.
fn assigned_secret(text: &str, at: usize) -> Option<(usize, usize)> {
    let name_from = text[..at]
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last()
        .map(|(from, _)| from)?;
    if !is_secret_argument(&text[name_from..at]) {
        return None;
    }
    let value_from = at + 1;
    let length = token_length(&text[value_from..]);
    (length > 0).then_some((value_from, value_from + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_secrets_in_text() {
        for (text, masked) in [
            ("Bearer abcdef0123456789", Some("Bearer ••••••")),
            ("curl -H 'authorization: bearer abc.DEF_123'", Some("curl -H 'authorization: bearer ••••••'")),
            ("use ghp_abcdefghijklmnopqrstuvwxyz0123 now", Some("use •••••• now")),
            ("https://me:pa%20ss@example.com/x", Some("https://me:••••••@example.com/x")),
            ("https://example.com/?token=abc&x=1", Some("https://example.com/?token=••••••&x=1")),
            ("API_KEY=abc123 run; rm -rf /", Some("API_KEY=•••••• run; rm -rf /")),
            ("password=$(rm -rf /)", None),
            (
                "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
                Some("-----BEGIN PRIVATE KEY-----••••••-----END PRIVATE KEY-----"),
            ),
            ("-----BEGIN CERTIFICATE-----\nMIIB", None),
            ("bearer of good news", None),
            ("a basic understanding", None),
            ("task-oriented", None),
            ("x=1", None),
            ("https://example.com/a@b:c", None),
            ("plain", None),
            ("", None),
        ] {
            assert_eq!(mask_text(text).as_deref(), masked, "{text}");
        }
    }
}
