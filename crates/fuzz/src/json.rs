//! JSON text in all its spellings: white space, escapes, numbers that no machine number holds, and sometimes
//! a key twice or half a surrogate pair.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What is put into JSON text to break it.
pub const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "\\u0000",
    "0",
    "-",
    "e",
    ".",
    "null",
    "true",
    "{\"a\":",
    "\"a\":1,",
    "\n",
    "\u{feff}",
    "\u{202e}",
    "é",
    "\u{1f600}",
    "\u{0}",
];

const SPACES: &[&str] = &["", "", "", " ", "\n", "\t \r\n"];

const NUMBERS: &[&str] =
    &["0", "-0", "1", "-7", "1.0", "1e0", "1E+2", "10", "-2.50e-3", "12345678901234567890", "1e400", "0.1"];

const PIECES: &[&str] = &[
    "a",
    "b",
    "path",
    "/",
    "~",
    ".",
    "..",
    " ",
    "é",
    "e\u{301}",
    "\u{1f600}",
    "\u{202e}",
    "\u{ff41}",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0061",
    "\\u00e9",
    "\\u0000",
    "\\ud83d\\ude00",
];

/// A JSON string.
pub fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![60 => select(PIECES), 1 => Just("\\ud800"), 1 => Just("\\udc00x")];
    vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// A name of a member: few and short ones, so that some are there twice.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(&["\"a\"", "\"b\"", "\"c\"", "\"path\"", "\"Path\"", "\"x/y\"", "\"\\u0061\"", "\"\"", "\"é\""][..])
            .prop_map(str::to_owned),
        2 => string(),
    ]
}

/// Any JSON text.
pub fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(&["null", "true", "false"][..]).prop_map(str::to_owned),
        select(NUMBERS).prop_map(str::to_owned),
        string(),
    ];
    let leaf = (select(SPACES), leaf, select(SPACES)).prop_map(|(a, leaf, b)| format!("{a}{leaf}{b}"));
    leaf.prop_recursive(4, 32, 5, |inner| {
        let space = || select(SPACES);
        let array = (vec(inner.clone(), 0..5), space())
            .prop_map(|(items, space)| format!("[{space}{}]", items.join(",")));
        prop_oneof![1 => array, 3 => members(name(), inner)]
    })
}

/// An object with these names and values.
pub fn members(
    names: impl Strategy<Value = String>,
    values: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let member = (select(SPACES), names, select(SPACES), values)
        .prop_map(|(a, name, b, value)| format!("{a}{name}{b}:{value}"));
    (vec(member, 0..6), select(SPACES))
        .prop_map(|(members, space)| format!("{{{space}{}}}", members.join(",")))
}

/// An object of which each member is there or not, in any order, and now and then one is there twice.
pub fn object(known: Vec<(&'static str, BoxedStrategy<String>)>) -> impl Strategy<Value = String> {
    let each: Vec<BoxedStrategy<(u32, String)>> = known
        .into_iter()
        .map(|(name, value)| {
            let member =
                (any::<u32>(), value).prop_map(move |(at, value)| (at, format!("\"{name}\":{value}")));
            prop_oneof![
                8 => member.clone().prop_map(|(at, member)| (at, member)),
                2 => Just((0, String::new())),
                1 => member.prop_map(|(at, member)| (at, format!("{member},{member}"))),
            ]
            .boxed()
        })
        .collect();
    each.prop_map(|mut members| {
        members.sort();
        let there: Vec<String> =
            members.into_iter().map(|(_, member)| member).filter(|member| !member.is_empty()).collect();
        format!("{{{}}}", there.join(","))
    })
}
