//! Strict JSON parser for the permission path (PERM-7).
//!
//! If two parsers disagree about a text, an approved call can become another call, so this parser
//! rejects everything that parsers are known to disagree about: duplicate keys at any depth, lone
//! surrogates, extreme depth, and everything that is not strictly JSON. Numbers keep their text; they
//! are never converted to a machine number here.

use std::fmt::Write as _;

use crate::keys::first_repeated;

/// Maximum nesting depth of arrays and objects.
pub const MAX_DEPTH: usize = 128;

/// A JSON value as written: members in their order, numbers as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A number, as its text.
    Number(Box<str>),
    /// A string, unescaped.
    String(Box<str>),
    Array(Vec<Json>),
    /// Members in their order; no key occurs twice.
    Object(Vec<(Box<str>, Json)>),
}

/// Why a text is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonDefect {
    /// It is not JSON.
    #[error("not valid JSON at byte {offset}")]
    Malformed {
        /// Byte offset from the start.
        offset: usize,
    },
    /// A key occurs twice in one object, so parsers may disagree about its value.
    #[error("the key {pointer:?} occurs twice")]
    DuplicateKey {
        /// JSON Pointer to the key.
        pointer: String,
    },
    /// An escape is half of a surrogate pair, which is not a character.
    #[error("a lone surrogate in the text at {pointer:?}")]
    LoneSurrogate {
        /// JSON Pointer to the string, or to the object if it is in a key.
        pointer: String,
    },
    /// It is nested deeper than [`MAX_DEPTH`].
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl JsonDefect {
    /// The same defect with a segment prepended to its pointer.
    fn inside(self, segment: &str) -> Self {
        let lift = |pointer: String| {
            let mut longer = String::with_capacity(pointer.len() + segment.len() + 1);
            push_segment(&mut longer, segment);
            longer.push_str(&pointer);
            longer
        };
        match self {
            Self::DuplicateKey { pointer } => Self::DuplicateKey { pointer: lift(pointer) },
            Self::LoneSurrogate { pointer } => Self::LoneSurrogate { pointer: lift(pointer) },
            other @ (Self::Malformed { .. } | Self::TooDeep) => other,
        }
    }
}

/// Parses one JSON text; nothing may follow it.
pub fn read(text: &str) -> Result<Json, JsonDefect> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    if reader.at < text.len() { Err(reader.malformed()) } else { Ok(value) }
}

impl Json {
    /// A member of an object by its name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => member(members, name),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    /// The string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// The canonical form: keys sorted, no white space, one way to escape, numbers as written. Two
    /// values are equal exactly if their canonical forms are.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// The value as compact JSON text, members in their own order.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Object(members) => {
                let mut sorted: Vec<&(Box<str>, Json)> = members.iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (index, (name, value)) in sorted.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, name);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => self.write_compact(out),
        }
    }

    /// Appends the value as [`compact`](Self::compact) JSON text.
    pub fn write_compact(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(out, text),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_compact(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, name);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends one segment to a JSON Pointer.
pub fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    if !segment.contains(['~', '/']) {
        pointer.push_str(segment);
        return;
    }
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Appends a text as a JSON string with the escapes of the canonical form.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Most texts have nothing to escape and are copied at once.
    loop {
        // What is escaped is one byte, so both halves are whole characters.
        let (plain, escaped) = rest.split_at(plain_length(rest.as_bytes()));
        out.push_str(plain);
        let mut chars = escaped.chars();
        let Some(c) = chars.next() else { break };
        write_char(out, c);
        rest = chars.as_str();
    }
    out.push('"');
}

/// Number of bytes before the first one that is a quotation mark, a backslash or a control character.
fn plain_length(bytes: &[u8]) -> usize {
    let is_special = |b: &u8| *b < b' ' || *b == b'"' || *b == b'\\';
    // Eight bytes are looked at without a branch, which is much faster in long texts.
    let chunks = bytes.chunks_exact(8);
    let whole =
        chunks.take_while(|chunk| !chunk.iter().fold(false, |any, b| any | is_special(b))).count() * 8;
    let rest = &bytes[whole..];
    whole + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// Appends one character of a JSON string, escaped if necessary.
pub fn write_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' => {
            // Writing to a `String` cannot fail.
            write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default();
        }
        c => out.push(c),
    }
}

fn member<'a>(members: &'a [(Box<str>, Json)], name: &str) -> Option<&'a Json> {
    members.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
}

/// Unescapes a segment of a JSON Pointer; `None` if it has an invalid escape.
#[must_use]
pub fn unescape_segment(segment: &str) -> Option<String> {
    let mut out = String::with_capacity(segment.len());
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        match c {
            '~' => match chars.next()? {
                '0' => out.push('~'),
                '1' => out.push('/'),
                _ => return None,
            },
            other => out.push(other),
        }
    }
    Some(out)
}

/// The array index that a segment of a JSON Pointer stands for, if it is one.
#[must_use]
pub fn array_index(segment: &str) -> Option<usize> {
    let digits = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
    let leading_zero = segment.len() > 1 && segment.starts_with('0');
    if digits && !leading_zero { segment.parse().ok() } else { None }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn malformed(&self) -> JsonDefect {
        JsonDefect::Malformed { offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), JsonDefect> {
        if self.take(wanted) { Ok(()) } else { Err(self.malformed()) }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonDefect> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.malformed())
        }
    }

    fn value(&mut self) -> Result<Json, JsonDefect> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.malformed()),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Json, JsonDefect>) -> Result<Json, JsonDefect> {
        if self.depth == MAX_DEPTH {
            return Err(JsonDefect::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Json, JsonDefect> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.skip_space();
            let item = self.value().map_err(|defect| defect.inside(&items.len().to_string()))?;
            items.push(item);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self) -> Result<Json, JsonDefect> {
        let mut members: Vec<(Box<str>, Json)> = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.malformed());
            }
            let name = self.string()?;
            self.skip_space();
            self.expect(b':')?;
            self.skip_space();
            let value = self.value().map_err(|defect| defect.inside(&name))?;
            members.push((name, value));
            self.skip_space();
            if self.take(b'}') {
                break;
            }
            self.expect(b',')?;
        }
        match first_repeated(members.iter().map(|(name, _)| &**name)) {
            Some(name) => Err(duplicate(name)),
            None => Ok(Json::Object(members)),
        }
    }

    fn number(&mut self) -> Result<Json, JsonDefect> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Json::Number(self.text[start..self.at].into()))
    }

    fn digits(&mut self) -> Result<(), JsonDefect> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.malformed()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Box<str>, JsonDefect> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        let plain = &self.text[start..self.at];
        if self.take(b'"') {
            return Ok(plain.into());
        }
        let mut out = String::from(plain);
        loop {
            if self.take(b'"') {
                return Ok(out.into());
            }
            self.expect(b'\\')?;
            out.push(self.escape()?);
            let run = self.at;
            self.skip_plain();
            out.push_str(&self.text[run..self.at]);
        }
    }

    /// Skips the bytes of a string up to its end, an escape, or what may not be in one.
    fn skip_plain(&mut self) {
        self.at += plain_length(&self.text.as_bytes()[self.at..]);
    }

    fn escape(&mut self) -> Result<char, JsonDefect> {
        let Some(letter) = self.peek() else { return Err(self.malformed()) };
        let plain = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.malformed()),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, JsonDefect> {
        let lone = || JsonDefect::LoneSurrogate { pointer: String::new() };
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if !(self.take(b'\\') && self.take(b'u')) {
                    return Err(lone());
                }
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(lone());
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            0xDC00..=0xDFFF => return Err(lone()),
            other => other,
        };
        char::from_u32(code).ok_or_else(lone)
    }

    fn hex4(&mut self) -> Result<u32, JsonDefect> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(b @ b'0'..=b'9') => b - b'0',
                Some(b @ b'a'..=b'f') => b - b'a' + 10,
                Some(b @ b'A'..=b'F') => b - b'A' + 10,
                _ => return Err(self.malformed()),
            };
            code = code * 16 + u32::from(digit);
            self.at += 1;
        }
        Ok(code)
    }
}

fn duplicate(name: &str) -> JsonDefect {
    let mut pointer = String::new();
    push_segment(&mut pointer, name);
    JsonDefect::DuplicateKey { pointer }
}
