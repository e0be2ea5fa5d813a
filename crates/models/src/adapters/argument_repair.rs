//! Repairs arguments that a model wrote as faulty JSON, where there is only one way to read them.
//!
//! Repaired are a code fence around the object, a JSON string that contains the object, trailing commas, Python's `True`,
//! `False` and `None`, line breaks and tabs inside strings, closing brackets that are missing at the end, and closing
//! brackets too many there. No value is changed or guessed: a string or a number that ends with the text may have been cut
//! off, so it isn't completed, and neither is an object that ends with a comma or a colon.

use gatehouse_mcp_wire::json::{Json, MAX_DEPTH, read, write_char};

/// The JSON text of an object that a faulty text stands for, if that is certain. The text must not be JSON already, or must
/// be a JSON string.
pub(super) fn repaired_object(text: &str) -> Option<String> {
    let mut text = text.trim_start_matches('\u{feff}').trim();
    if let Some(inside) = inside_code_fence(text) {
        text = inside;
    }
    match read(text) {
        Ok(Json::Object(_)) => return Some(text.to_owned()),
        // Once: a string in a string in a string is no slip.
        Ok(Json::String(inner)) => {
            let inner = inner.trim();
            return matches!(read(inner), Ok(Json::Object(_))).then(|| inner.to_owned());
        }
        Ok(_) => return None,
        Err(_) => {}
    }
    let repaired = Repair::new(text).run()?;
    // The strict reader has the last word: also about keys that occur twice.
    matches!(read(&repaired), Ok(Json::Object(_))).then_some(repaired)
}

/// What is inside a Markdown code fence around the whole text.
fn inside_code_fence(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("```")?.strip_suffix("```")?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    (!rest.contains("```")).then(|| rest.trim())
}

/// What may follow in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    /// A value, or the end of an array that just began.
    FirstItem,
    /// A key, or the end of an object that just began.
    FirstKey,
    Key,
    Colon,
    Value,
    /// A comma or the end of the container.
    Next,
}

struct Repair<'a> {
    rest: &'a str,
    out: String,
    /// Closing brackets of the open containers.
    open: Vec<char>,
    /// Whether the last token can't have been longer.
    is_whole: bool,
}

impl<'a> Repair<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, out: String::with_capacity(text.len() + 8), open: Vec::new(), is_whole: false }
    }

    fn run(mut self) -> Option<String> {
        let mut expected = ExpectedToken::Value;
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let Some(next) = self.rest.chars().next() else { break };
            expected = match (expected, next) {
                (ExpectedToken::Next, ',') => {
                    self.rest = self.rest.get(1..)?;
                    self.after_comma()?
                }
                (ExpectedToken::Next | ExpectedToken::FirstKey | ExpectedToken::FirstItem, '}' | ']') => {
                    self.close(next)?
                }
                (ExpectedToken::FirstKey | ExpectedToken::Key, '"') => {
                    self.string()?;
                    ExpectedToken::Colon
                }
                (ExpectedToken::Colon, ':') => {
                    self.push(':')?;
                    ExpectedToken::Value
                }
                (ExpectedToken::Value | ExpectedToken::FirstItem, _) => self.value(next)?,
                _ => return None,
            };
            if self.open.is_empty() {
                // The object is complete; only brackets that close nothing may follow.
                let surplus = self.rest.chars().all(|c| matches!(c, '}' | ']' | ' ' | '\t' | '\r' | '\n'));
                return surplus.then_some(self.out);
            }
        }
        (expected == ExpectedToken::Next && self.is_whole).then_some(())?;
        self.out.extend(self.open.iter().rev());
        Some(self.out)
    }

    /// Copies the next character, which is one byte.
    fn push(&mut self, c: char) -> Option<()> {
        self.out.push(c);
        self.rest = self.rest.get(1..)?;
        Some(())
    }

    /// A comma that the end of the container follows is left out.
    fn after_comma(&mut self) -> Option<ExpectedToken> {
        let following = self.rest.trim_start_matches([' ', '\t', '\r', '\n']).chars().next();
        if matches!(following, Some('}' | ']')) {
            return Some(ExpectedToken::Next);
        }
        self.out.push(',');
        Some(if self.open.last() == Some(&'}') { ExpectedToken::Key } else { ExpectedToken::Value })
    }

    fn close(&mut self, bracket: char) -> Option<ExpectedToken> {
        (self.open.pop() == Some(bracket)).then_some(())?;
        self.push(bracket)?;
        self.is_whole = true;
        Some(ExpectedToken::Next)
    }

    fn value(&mut self, next: char) -> Option<ExpectedToken> {
        match next {
            '{' | '[' if self.open.len() < MAX_DEPTH => {
                self.open.push(if next == '{' { '}' } else { ']' });
                self.push(next)?;
                return Some(if next == '{' { ExpectedToken::FirstKey } else { ExpectedToken::FirstItem });
            }
            // Only an object can be the arguments.
            _ if self.open.is_empty() => return None,
            '"' => self.string()?,
            _ => self.word()?,
        }
        Some(ExpectedToken::Next)
    }

    /// Copies a number or a literal.
    fn word(&mut self) -> Option<()> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let (json, is_whole) = match word {
            "True" => ("true", true),
            "False" => ("false", true),
            "None" => ("null", true),
            "true" | "false" | "null" => (word, true),
            _ => (word, false),
        };
        if !is_whole && !matches!(read(word), Ok(Json::Number(_))) {
            return None;
        }
        self.out.push_str(json);
        self.rest = rest;
        self.is_whole = is_whole;
        Some(())
    }

    /// Copies a string that ends; control characters in it are escaped.
    fn string(&mut self) -> Option<()> {
        let mut chars = self.rest.char_indices();
        chars.next()?;
        self.out.push('"');
        let mut is_escaped = false;
        for (at, c) in chars {
            match c {
                '"' if !is_escaped => {
                    self.out.push('"');
                    self.rest = self.rest.get(at + 1..)?;
                    self.is_whole = true;
                    return Some(());
                }
                c if c < ' ' => {
                    (!is_escaped).then_some(())?;
                    write_char(&mut self.out, c);
                }
                c => self.out.push(c),
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_what_can_be_read_in_one_way() {
        for (written, repaired) in [
            ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("```\n{\"a\": \"x\",}```", r#"{"a":"x"}"#),
            ("\u{feff}{\"a\":1}", r#"{"a":1}"#),
            (r#""{\"a\":1e-9}""#, r#"{"a":1e-9}"#),
            (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":True,"b":[False,None]}"#, r#"{"a":true,"b":[false,null]}"#),
            (r#"{"a":"True, None"  ,}"#, r#"{"a":"True, None"}"#),
            (r#"{"a":{"b":"x""#, r#"{"a":{"b":"x"}}"#),
            (r#"{"a":[true"#, r#"{"a":[true]}"#),
            (r#"{"a":[[],{}"#, r#"{"a":[[],{}]}"#),
            (r#"{"a":1}}"#, r#"{"a":1}"#),
            ("{\"a\":\"one\ntwo\t\"}", r#"{"a":"one\ntwo\t"}"#),
            (r#"{"n":12345678901234567890.10,}"#, r#"{"n":12345678901234567890.10}"#),
            (r#"{"a":"\u00e9\\",}"#, r#"{"a":"\u00e9\\"}"#),
        ] {
            assert_eq!(repaired_object(written).as_deref(), Some(repaired), "{written}");
        }
    }

    #[test]
    fn leaves_alone_what_would_be_a_guess() {
        for written in [
            "",
            "{",
            "hello",
            r#"{"a""#,
            r#"{"a":"#,
            r#"{"a":"rm -rf /home/x"#,
            r#"{"a":"b}"#,
            r#"{"a":"b\"#,
            r#"{"a":12"#,
            r#"{"a":"b","#,
            r#"{"a":"b",,}"#,
            r#"{,}"#,
            r#"{"a":tru}"#,
            r#"{"a":NaN}"#,
            r#"{"a":01}"#,
            r#"{'a':1}"#,
            r#"{a:1}"#,
            r#"{"a" 1}"#,
            r#"{"a":[1}"#,
            r#"{"a":1,"a":2,}"#,
            r#"{"a":"\ud800",}"#,
            r#"{"a":1}{"a":2}"#,
            r#"{"a":1} and more"#,
            r#"Here: {"a":1}"#,
            r#"["a",]"#,
            r#""[1]""#,
            "[1]",
            "7",
            "```json\n{\"a\":1}```\n```json\n{\"a\":2}```",
            "{\"a\":\"x\\\n\"}",
        ] {
            assert_eq!(repaired_object(written), None, "{written}");
        }
        let deep = format!("{}\"x\"", "{\"a\":".repeat(200));
        assert_eq!(repaired_object(&deep), None);
    }
}
