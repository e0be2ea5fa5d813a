//! Generated MCP messages, for tests that nothing changes them on their way: what `fixture-server --fault generated` lists
//! and answers, and what `tests/tests/lossless.rs` sends. The same seed gives the same text everywhere. Must never share
//! code with the product.

use std::collections::HashSet;

/// How many tools, resources and prompts are listed.
pub const TOOLS: usize = 120;
pub const RESOURCES: usize = 40;
pub const PROMPTS: usize = 40;

const TOOL: &str = "generated_";
const RESOURCE: &str = "generated://resource/";
const PROMPT: &str = "generated-";

/// Names that parsers and people confuse, but that differ.
const KEYS: &[&str] = &[
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "\u{430}",
    "\u{ff41}",
    "a\u{200b}",
    "\u{202e}a",
    "\u{e9}",
    "e\u{301}",
    "\u{c9}",
    "\u{df}",
    "ss",
    "\u{17f}",
    "0",
    "-0",
    "00",
    "1e3",
    "1000",
    "null",
    "__proto__",
    "constructor",
    "toString",
    "x.y",
    "x/y",
    "x~1y",
    "\u{1f600}",
    "\u{1f469}\u{200d}\u{1f467}",
    "\u{1d11e}",
    "\u{0}",
    "\n",
    "\t",
    "\"",
    "\\",
    "/",
    "\u{7f}",
    "\u{2028}",
    "\u{feff}",
    "\u{ffff}",
    "\u{10ffff}",
    "x-unknown",
    "X-Unknown",
    "x_unknown",
    "future",
];

/// Texts that everybody can see.
const VISIBLE: &[&str] = &[
    "a",
    "Z",
    "0",
    " ",
    "/",
    "\"",
    "\\",
    "\u{e9}",
    "e\u{301}",
    "\u{df}",
    "\u{4e2d}",
    "\u{1f600}",
    "\u{1d11e}",
    "<b>",
    "&",
];

/// Texts that hide, end lines, or are no characters.
const HIDDEN: &[&str] = &[
    "\u{0}",
    "\u{1}",
    "\u{1b}[2J",
    "\u{1f}",
    "\u{7f}",
    "\u{85}",
    "\u{8}",
    "\u{c}",
    "\n",
    "\r\n",
    "\t",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10ffff}",
    "\u{e000}",
    "\u{e0041}",
    "\u{fe0f}",
];

/// Numbers that lose something in 64 bits, or if they are written again.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "0e0",
    "1e-9",
    "1E+9",
    "-1.50e-03",
    "1e400",
    "-1E-400",
    "1.0",
    "0.1000",
    "100e0",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "340282366920938463463374607431768211456",
    "4.9406564584124654e-324",
    "1234567890.12345678901234567890",
];

const SPACES: &[&str] = &["", "", "", "", " ", "  ", "\t"];

/// Levels of the deepest values. What clients send may have 128.
const DEEP: usize = 100;

/// Writes random JSON.
#[derive(Debug)]
struct JsonGenerator(u64);

impl JsonGenerator {
    /// The next number of SplitMix64.
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn space(&mut self) -> &'static str {
        self.pick(SPACES)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }

    fn number(&mut self) -> String {
        if self.below(3) > 0 {
            return self.pick(NUMBERS).to_owned();
        }
        let digits = 1 + self.below(40);
        (0..digits).map(|_| char::from(b'1' + self.below(9) as u8)).collect()
    }

    /// A text as a JSON string. Each character is written in one of the ways that there are for it.
    fn spelled(&mut self, text: &str) -> String {
        let mut out = String::from("\"");
        for c in text.chars() {
            let short = match c {
                '"' | '\\' | '/' => Some(c),
                '\u{8}' => Some('b'),
                '\u{c}' => Some('f'),
                '\n' => Some('n'),
                '\r' => Some('r'),
                '\t' => Some('t'),
                _ => None,
            };
            let may_be_plain = c >= ' ' && !matches!(c, '"' | '\\');
            match (self.below(4), short) {
                (0 | 1, _) if may_be_plain => out.push(c),
                (0..=2, Some(short)) => out.extend(['\\', short]),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]).iter() {
                        let is_lower = self.below(2) == 0;
                        out.push_str(&if is_lower {
                            format!("\\u{unit:04x}")
                        } else {
                            format!("\\u{unit:04X}")
                        });
                    }
                }
            }
        }
        out.push('"');
        out
    }

    fn visible(&mut self) -> String {
        let text: String = (0..1 + self.below(12)).map(|_| self.pick(VISIBLE)).collect();
        self.spelled(&text)
    }

    fn string(&mut self) -> String {
        let text: String = (0..self.below(8))
            .map(|_| if self.below(2) == 0 { self.pick(VISIBLE) } else { self.pick(HIDDEN) })
            .collect();
        self.spelled(&text)
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => self.number(),
            1 => self.string(),
            2 => "null".to_owned(),
            3 => self.pick(&["true", "false"]).to_owned(),
            4 => self.pick(&["{}", "[]", "{ }", "[ ]", "\"\"", "[{}]", "[null]"]).to_owned(),
            5 | 6 => {
                let items = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                self.array(items)
            }
            _ => {
                let extra = self.below(5);
                self.object(Vec::new(), extra, depth - 1)
            }
        }
    }

    fn array(&mut self, items: Vec<String>) -> String {
        let mut out = String::from("[");
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            out.extend([self.space(), item.as_str(), self.space()]);
        }
        out.push(']');
        out
    }

    /// An object with these members, and with more that nobody knows, in any order.
    fn object(&mut self, known: Vec<(&str, String)>, extra: usize, depth: usize) -> String {
        let members = self.members(known, extra, depth);
        format!("{{{}{members}{}}}", self.space(), self.space())
    }

    /// The members of such an object. White space is only between them.
    fn members(&mut self, known: Vec<(&str, String)>, extra: usize, depth: usize) -> String {
        let mut names: HashSet<&str> = known.iter().map(|(name, _)| *name).collect();
        let mut members = Vec::with_capacity(known.len() + extra);
        for (name, value) in &known {
            members.push((self.spelled(name), value.clone()));
        }
        for _ in 0..extra {
            let name = self.pick(KEYS);
            if names.insert(name) {
                members.push((self.spelled(name), self.value(depth)));
            }
        }
        self.shuffle(&mut members);
        let mut out = String::new();
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                out.extend([self.space(), ",", self.space()]);
            }
            out.extend([name.as_str(), self.space(), ":", self.space(), value.as_str()]);
        }
        out
    }

    /// Objects and arrays within each other.
    fn deep(&mut self) -> String {
        let (mut head, mut tail) = (String::new(), String::new());
        for _ in 0..DEEP {
            let (open, close) = if self.below(2) == 0 { ("[", "]") } else { ("{\"\":", "}") };
            head.push_str(open);
            tail.insert_str(0, close);
        }
        format!("{{\"deep\":{head}null{tail}}}")
    }

    fn odd_object(&mut self) -> String {
        let extra = 1 + self.below(5);
        self.object(Vec::new(), extra, 2)
    }
}

/// All messages of a seed.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedMessages {
    pub seed: u64,
}

impl GeneratedMessages {
    #[must_use]
    pub fn tool_name(number: usize) -> String {
        format!("{TOOL}{number:03}")
    }

    #[must_use]
    pub fn resource_uri(number: usize) -> String {
        format!("{RESOURCE}{number:03}")
    }

    #[must_use]
    pub fn prompt_name(number: usize) -> String {
        format!("{PROMPT}{number:03}")
    }

    /// Messages of different kinds have nothing in common.
    fn json(self, kind: u64, number: usize) -> JsonGenerator {
        let mut mixed = JsonGenerator(self.seed ^ (kind << 32) ^ number as u64);
        JsonGenerator(mixed.draw())
    }

    /// The definition of a tool. Its input schema is complete, its title and description hide nothing, and it says nothing
    /// of tasks, which its server doesn't have, so that Gatehouse has nothing to mend.
    #[must_use]
    pub fn tool(self, number: usize) -> String {
        let mut json = self.json(1, number);
        let properties = (0..json.below(4))
            .map(|index| {
                let known = vec![
                    ("type", json.spelled("string")),
                    ("default", json.value(2)),
                    ("maximum", json.number()),
                    ("description", json.string()),
                ];
                (["path", "count", "p\u{e4}th", "COUNT"][index], json.object(known, 2, 1))
            })
            .collect();
        let schema = vec![
            ("type", json.spelled("object")),
            ("properties", json.object(properties, 0, 0)),
            ("examples", json.value(3)),
            ("additionalProperties", json.pick(&["true", "false", "{}"]).to_owned()),
        ];
        let mut known = vec![
            ("name", json.spelled(&Self::tool_name(number))),
            ("description", json.visible()),
            ("inputSchema", json.object(schema, 3, 2)),
        ];
        let title = ("title", json.visible());
        let annotations = ("annotations", json.object(vec![("idempotentHint", "true".to_owned())], 2, 1));
        let meta = ("_meta", json.odd_object());
        let execution = ("execution", json.object(vec![("isolation", "\"optional\"".to_owned())], 1, 1));
        known.extend([title, annotations, meta, execution].into_iter().filter(|_| json.below(2) == 0));
        json.object(known, 3, 3)
    }

    /// The arguments of a call; some calls have none.
    #[must_use]
    pub fn arguments(self, number: usize) -> Option<String> {
        let mut json = self.json(2, number);
        match number % 20 {
            0 => None,
            1 => Some("{ }".to_owned()),
            2 => Some(json.deep()),
            _ => {
                let extra = 1 + json.below(8);
                Some(json.object(Vec::new(), extra, 4))
            }
        }
    }

    /// What a client may add to a request, as the value of a member that nobody knows.
    #[must_use]
    pub fn addition(self, number: usize) -> String {
        self.json(3, number).value(3)
    }

    /// What a tool answers: the members of a result, or an error.
    pub fn answer(self, number: usize) -> Result<String, String> {
        let mut json = self.json(4, number);
        if number % 10 == 9 {
            let known =
                vec![("code", "-32050".to_owned()), ("message", json.string()), ("data", json.value(4))];
            return Err(json.object(known, 2, 2));
        }
        let blocks = (0..json.below(4))
            .map(|_| {
                let kind = json.pick(&["text", "hologram"]);
                let known = vec![("type", json.spelled(kind)), ("text", json.string())];
                json.object(known, 3, 2)
            })
            .collect();
        let mut known = vec![("content", json.array(blocks))];
        let structured = if number % 20 == 2 { json.deep() } else { json.odd_object() };
        let structured = ("structuredContent", structured);
        let meta = ("_meta", json.odd_object());
        let is_error = ("isError", json.pick(&["true", "false"]).to_owned());
        known.extend([structured, meta, is_error].into_iter().filter(|_| json.below(2) == 0));
        Ok(json.members(known, 4, 3))
    }

    /// The definition of a resource.
    #[must_use]
    pub fn resource(self, number: usize) -> String {
        let mut json = self.json(5, number);
        let known = vec![
            ("uri", json.spelled(&Self::resource_uri(number))),
            ("name", json.visible()),
            ("description", json.string()),
            ("mimeType", json.spelled("text/plain; charset=utf-8")),
            ("size", json.number()),
            ("annotations", json.object(vec![("priority", "1e-9".to_owned())], 2, 1)),
            ("_meta", json.odd_object()),
        ];
        json.object(known, 3, 3)
    }

    /// The members of the result of reading it.
    #[must_use]
    pub fn contents(self, number: usize) -> String {
        let mut json = self.json(6, number);
        let contents = (0..1 + json.below(3))
            .map(|_| {
                let known = vec![
                    ("uri", json.spelled(&Self::resource_uri(number))),
                    ("text", json.string()),
                    ("_meta", json.odd_object()),
                ];
                json.object(known, 3, 2)
            })
            .collect();
        let known = vec![("contents", json.array(contents))];
        json.members(known, 4, 3)
    }

    /// The definition of a prompt.
    #[must_use]
    pub fn prompt(self, number: usize) -> String {
        let mut json = self.json(7, number);
        let arguments = (0..json.below(3))
            .map(|index| {
                let known = vec![
                    ("name", json.spelled(["tone", "t\u{f6}ne"][index])),
                    ("description", json.string()),
                    ("required", "false".to_owned()),
                ];
                json.object(known, 3, 2)
            })
            .collect();
        let known = vec![
            ("name", json.spelled(&Self::prompt_name(number))),
            ("description", json.string()),
            ("arguments", json.array(arguments)),
            ("_meta", json.odd_object()),
        ];
        json.object(known, 3, 3)
    }

    /// The arguments of getting a prompt, which are texts.
    #[must_use]
    pub fn prompt_arguments(self, number: usize) -> String {
        let mut json = self.json(8, number);
        let known = vec![("tone", json.string()), ("t\u{f6}ne", json.string()), ("Tone", json.string())];
        json.object(known, 0, 0)
    }

    /// The members of the result of getting it.
    #[must_use]
    pub fn messages(self, number: usize) -> String {
        let mut json = self.json(9, number);
        let messages = (0..1 + json.below(3))
            .map(|_| {
                let text = vec![("type", json.spelled("text")), ("text", json.string())];
                let known = vec![("role", json.spelled("user")), ("content", json.object(text, 3, 2))];
                json.object(known, 2, 2)
            })
            .collect();
        let known = vec![("messages", json.array(messages)), ("description", json.string())];
        json.members(known, 4, 3)
    }

    /// The number of a tool.
    pub(crate) fn find_tool(name: &str) -> Option<usize> {
        Self::find(name, TOOL, TOOLS)
    }

    /// The number of a resource.
    pub(crate) fn find_resource(uri: &str) -> Option<usize> {
        Self::find(uri, RESOURCE, RESOURCES)
    }

    /// The number of a prompt.
    pub(crate) fn find_prompt(name: &str) -> Option<usize> {
        Self::find(name, PROMPT, PROMPTS)
    }

    fn find(name: &str, prefix: &str, count: usize) -> Option<usize> {
        name.strip_prefix(prefix)?.parse().ok().filter(|number| *number < count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn all(seed: u64) -> Vec<String> {
        let messages = GeneratedMessages { seed };
        let object = |members: String| format!("{{{members}}}");
        let of_tool = |number: usize| {
            let answer = messages.answer(number).map_or_else(|error| error, object);
            [Some(messages.tool(number)), messages.arguments(number), Some(answer)]
        };
        let of_resource = |number: usize| [messages.resource(number), object(messages.contents(number))];
        let of_prompt = |number: usize| {
            [messages.prompt(number), messages.prompt_arguments(number), object(messages.messages(number))]
        };
        let mut all: Vec<String> = (0..TOOLS).flat_map(of_tool).flatten().collect();
        all.extend((0..RESOURCES).flat_map(of_resource));
        all.extend((0..PROMPTS).flat_map(of_prompt));
        all
    }

    #[test]
    fn writes_valid_json_on_one_line() {
        for seed in 0..20 {
            for message in all(seed) {
                serde_json::from_str::<&RawValue>(&message)
                    .unwrap_or_else(|error| panic!("{error}: {message}"));
                assert!(!message.contains(['\n', '\r']), "{message}");
            }
        }
    }

    #[test]
    fn writes_everything_that_gets_lost() {
        let text = all(1).join("\n");
        let (pair, upper_pair) = ("\\ud83d\\ude00", "\\uD83D\\uDE00");
        for odd in [
            "18446744073709551616",
            "1e-9",
            "-0,",
            "1e400",
            "\\/",
            pair,
            upper_pair,
            "\u{1f600}",
            "null",
            "{}",
            "{ }",
        ] {
            assert!(text.contains(odd), "{odd}");
        }
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }
}
