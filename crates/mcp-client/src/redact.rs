//! Removes the secrets of a server from what the server says.
//!
//! A server may repeat what it was given: a token in an error, a key in a log line. Results of
//! calls go to the client unchanged; everything else that a connection returns passes through a
//! [`Redactor`] in [`Connection`](crate::Connection) or in the router, and so do call records.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use gatehouse_model::Secret;
use gatehouse_model::secret::REDACTED;
use parking_lot::RwLock;
use serde_json::value::RawValue;

/// Shortest secret that is redacted, in bytes: shorter ones would redact half of every line.
const MIN_SECRET_BYTES: usize = 6;

/// Shortest line of a multi-line secret (a private key) that is redacted by itself.
const MIN_LINE_BYTES: usize = 16;

/// How many bearer tokens are remembered; each renewal adds one.
const MAX_TOKENS: usize = 16;

/// Knows the secrets of one connection. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<KnownSecrets>>);

#[derive(Default)]
struct KnownSecrets {
    /// Secrets of the settings, longest first.
    configured: Vec<Secret>,
    /// Tokens that were sent, oldest first.
    tokens: VecDeque<Secret>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// Redacts this secret from now on.
    pub fn add(&self, secret: &str) {
        let mut known = self.0.write();
        for text in encodings(secret) {
            if !known.configured.iter().any(|other| other.reveal() == text) {
                known.configured.push(Secret::new(text));
            }
        }
        known.configured.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
    }

    /// Redacts the value of a secret header: the whole value, and what follows the name of a scheme
    /// like `Bearer`.
    pub fn add_header(&self, value: &str) {
        self.add(value.trim());
        if let Some((_, token)) = value.trim().split_once(' ') {
            self.add(token.trim());
        }
    }

    /// Redacts a token that is about to be sent.
    pub(crate) fn add_token(&self, token: &Secret) {
        if self.0.read().tokens.iter().any(|known| known == token) || token.reveal().len() < MIN_SECRET_BYTES
        {
            return;
        }
        let mut known = self.0.write();
        if known.tokens.len() == MAX_TOKENS {
            known.tokens.pop_front();
        }
        known.tokens.push_back(token.clone());
    }

    /// The text without the secrets.
    #[must_use]
    pub fn text(&self, text: String) -> String {
        match self.redact_text(&text) {
            Some(clean) => clean,
            None => text,
        }
    }

    /// The JSON value without the secrets. It stays valid JSON: a secret can only be part of a
    /// string, where its replacement is legal, or make up a whole number, in which case the value
    /// becomes a string.
    #[must_use]
    pub fn raw<'a>(&self, value: &'a RawValue) -> Cow<'a, RawValue> {
        let Some(clean) = self.redact_json(value.get()) else { return Cow::Borrowed(value) };
        let whole = |text: &str| RawValue::from_string(format!("\"{text}\"")).ok();
        let clean = RawValue::from_string(clean).ok().or_else(|| whole(REDACTED));
        Cow::Owned(clean.unwrap_or_else(|| RawValue::NULL.to_owned()))
    }

    /// The message without the secrets.
    pub(crate) fn bytes<'a>(&self, message: &'a [u8]) -> Cow<'a, [u8]> {
        let clean = std::str::from_utf8(message).ok().and_then(|text| self.redact_json(text));
        clean.map_or(Cow::Borrowed(message), |clean| Cow::Owned(clean.into_bytes()))
    }

    /// The text with its secrets replaced; `None` if it contains none.
    fn redact_text(&self, text: &str) -> Option<String> {
        let known = self.0.read();
        let mut clean: Option<String> = None;
        for secret in known.configured.iter().chain(&known.tokens) {
            let current = clean.as_deref().unwrap_or(text);
            if memchr::memmem::find(current.as_bytes(), secret.reveal().as_bytes()).is_some() {
                clean = Some(current.replace(secret.reveal(), REDACTED));
            }
        }
        clean
    }

    /// JSON with its secrets replaced, including those obscured by escapes; `None` if it contains
    /// none.
    fn redact_json(&self, text: &str) -> Option<String> {
        let plain = self.redact_text(text);
        self.redact_escapes(plain.as_deref().unwrap_or(text)).or(plain)
    }

    /// Decodes each JSON string with an escape and rewrites it if it contains a secret.
    fn redact_escapes(&self, text: &str) -> Option<String> {
        if self.is_empty() || memchr::memchr(b'\\', text.as_bytes()).is_none() {
            return None;
        }
        let mut clean: Option<String> = None;
        let (mut done, mut at) = (0, 0);
        while let Some(found) = next_quoted(text, at) {
            let quoted = text.get(found.start..found.end)?;
            if found.has_escape
                && let Ok(decoded) = serde_json::from_str::<String>(quoted)
                && let Some(replaced) = self.redact_text(&decoded)
                && let Ok(written) = serde_json::to_string(&replaced)
            {
                let clean = clean.get_or_insert_default();
                clean.push_str(text.get(done..found.start)?);
                clean.push_str(&written);
                done = found.end;
            }
            at = found.end;
        }
        let mut clean = clean?;
        clean.push_str(text.get(done..)?);
        Some(clean)
    }

    fn is_empty(&self) -> bool {
        let known = self.0.read();
        known.configured.is_empty() && known.tokens.is_empty()
    }
}

/// Position of a JSON string, including its quotation marks.
struct QuotedText {
    start: usize,
    end: usize,
    has_escape: bool,
}

/// The next JSON string; `None` if there is none or it is unterminated.
fn next_quoted(text: &str, from: usize) -> Option<QuotedText> {
    let bytes = text.as_bytes();
    let start = from + memchr::memchr(b'"', bytes.get(from..)?)?;
    let (mut at, mut has_escape) = (start + 1, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(QuotedText { start, end: at + 1, has_escape });
        }
        has_escape = true;
        at += 2;
    }
}

/// The forms in which a secret is searched: verbatim, JSON-escaped, percent-encoded, line by line,
/// and the whole in base64.
fn encodings(secret: &str) -> Vec<String> {
    let whole = std::iter::once(secret).filter(|text| text.len() >= MIN_SECRET_BYTES);
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE_BYTES);
    let mut encodings: Vec<String> = whole.chain(lines).map(str::to_owned).collect();
    let in_json = |text: &String| {
        let quoted = serde_json::to_string(text).ok()?;
        quoted.strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
    };
    let mut more: Vec<String> = encodings.iter().filter_map(in_json).collect();
    for text in &encodings {
        let percent = percent_encode(text);
        // `%2f` equals `%2F`, and HTML forms encode a space as `+`.
        more.extend([lower_escapes(&percent), percent.replace("%20", "+"), percent]);
    }
    if secret.len() >= MIN_SECRET_BYTES {
        more.extend([STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret)]);
    }
    encodings.extend(more.into_iter().filter(|text| text.len() >= MIN_SECRET_BYTES));
    encodings
}

/// Percent-encodes every byte that isn't unreserved in a URL.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Converts percent escapes to lower case.
fn lower_escapes(text: &str) -> String {
    let mut digits = 0;
    let lower = |letter: char| {
        if letter == '%' {
            digits = 2;
            return letter;
        }
        let is_digit = digits > 0;
        digits -= i32::from(is_digit);
        if is_digit { letter.to_ascii_lowercase() } else { letter }
    };
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn redacts_text_and_json() {
        let redactor = Redactor::default();
        redactor.add("hunter2-hunter2");
        redactor.add("a\"quote\\d");
        redactor.add("short");
        redactor.add("\"quoted-secret\"");
        redactor.add("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n");
        for (text, clean) in [
            ("key=hunter2-hunter2!", "key=••••••!"),
            ("it is a\"quote\\d", "it is ••••••"),
            ("short words stay", "short words stay"),
            (r#"{"a":"\"quoted-secret\""}"#, r#"{"a":"••••••"}"#),
            ("line MIIEvQIBADANBgkqhkiG9w0", "line ••••••"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(redactor.text(text.to_owned()), clean, "{text}");
        }
        for (value, clean) in [
            (r#"{"a":"hunter2-hunter2"}"#, r#"{"a":"••••••"}"#),
            (r#"{"a":"it is a\"quote\\d"}"#, r#"{"a":"it is ••••••"}"#),
            (r#"{"a":1}"#, r#"{"a":1}"#),
        ] {
            assert_eq!(redactor.raw(&raw(value)).get(), clean);
            assert_eq!(redactor.bytes(value.as_bytes()), clean.as_bytes());
        }
        redactor.add("123456789");
        assert_eq!(redactor.raw(&raw(r#"{"a":123456789}"#)).get(), r#""••••••""#);
    }

    #[test]
    fn redacts_encoded_secrets() {
        let redactor = Redactor::default();
        redactor.add("pa/ss?w+rd K1");
        for (text, clean) in [
            ("x=pa%2Fss%3Fw%2Brd%20K1&y", "x=••••••&y"),
            ("x=pa%2fss%3fw%2brd%20K1&y", "x=••••••&y"),
            ("x=pa%2Fss%3Fw%2Brd+K1&y", "x=••••••&y"),
            ("x=cGEvc3M/dytyZCBLMQ==", "x=••••••=="),
            ("x=cGEvc3M_dytyZCBLMQ", "x=••••••"),
        ] {
            assert_eq!(redactor.text(text.to_owned()), clean, "{text}");
        }
        for (value, clean) in [
            (r#"{"a":"is pa\/ss?w+rd K1"}"#, r#"{"a":"is ••••••"}"#),
            (r#"{"\u0070a/ss?w+rd K1":[1.50,"\n"]}"#, r#"{"••••••":[1.50,"\n"]}"#),
            (r#"["\"","pa/ss?w+rd\u0020K1","\\"]"#, r#"["\"","••••••","\\"]"#),
            (r#"["pa\/ss","?w+rd K1"]"#, r#"["pa\/ss","?w+rd K1"]"#),
        ] {
            assert_eq!(redactor.raw(&raw(value)).get(), clean, "{value}");
            assert_eq!(redactor.bytes(value.as_bytes()), clean.as_bytes(), "{value}");
        }
        assert_eq!(redactor.bytes(br#"{"a":"\"#), &br#"{"a":"\"#[..], "what is no JSON stays");
    }

    #[test]
    fn redacts_header_values_and_tokens() {
        let redactor = Redactor::default();
        redactor.add_header("Bearer tok-123456");
        assert_eq!(redactor.text("got tok-123456".to_owned()), "got ••••••");
        for number in 0..MAX_TOKENS + 1 {
            redactor.add_token(&Secret::new(format!("token-number-{number:03}")));
        }
        assert_eq!(redactor.text("token-number-000".to_owned()), "token-number-000", "the oldest is let go");
        assert_eq!(redactor.text("token-number-016".to_owned()), "••••••");
    }
}
