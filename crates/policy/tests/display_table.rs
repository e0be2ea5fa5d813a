//! How calls and texts are shown, case by case (PERM-9, TOOL-4, TOOL-11).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_policy::display::{clean_text, has_hidden, masked_json, one_line, render_arguments, reveal};
use gatehouse_policy::json::read;

#[test]
fn renders_arguments_whole_and_in_order() {
    for (arguments, shown) in [
        ("{}", vec![]),
        (r#"{"z":1.50,"a":"x"}"#, vec![("z", "1.50", false), ("a", r#""x""#, false)]),
        (r#"{"n":12345678901234567890}"#, vec![("n", "12345678901234567890", false)]),
        (r#"{"o": {"b": [1, null], "a": true}}"#, vec![("o", r#"{"b":[1,null],"a":true}"#, false)]),
        (r#"{"password":"hunter2"}"#, vec![("password", r#""••••••""#, true)]),
        (
            r#"{"apiKey":12345,"empty_token":""}"#,
            vec![("apiKey", r#""••••••""#, true), ("empty_token", r#""""#, false)],
        ),
        (r#"{"max_tokens":12345}"#, vec![("max_tokens", "12345", false)]),
        (r#"{"auth":{"user":"me","on":true}}"#, vec![("auth", r#"{"user":"••••••","on":true}"#, true)]),
        (
            r#"{"env":{"API_TOKEN":"abc","HOME":"/home/me"}}"#,
            vec![("env", r#"{"API_TOKEN":"••••••","HOME":"/home/me"}"#, true)],
        ),
        (r#"{"h":["x","Bearer abcdefgh12345678"]}"#, vec![("h", r#"["x","Bearer ••••••"]"#, true)]),
        ("{\"p\":\"/a\u{202e}txt\"}", vec![("p", "\"/a⟦U+202E⟧txt\"", false)]),
        (r#"{"p":"a\u200bb\u0007"}"#, vec![("p", r#""a⟦U+200B⟧b\u0007""#, false)]),
        (r#"{"p":"line\nline\t"}"#, vec![("p", r#""line\nline\t""#, false)]),
        ("{\"a\u{200d}b\\n\":{\"c\u{feff}\":1}}", vec![("a⟦U+200D⟧b⟦U+000A⟧", "{\"c⟦U+FEFF⟧\":1}", false)]),
        (r#"{"p":"⟦U+202E⟧"}"#, vec![("p", r#""⟦U+27E6⟧U+202E⟦U+27E7⟧""#, false)]),
        (r#"[1,{"secret":"x"}]"#, vec![("", r#"[1,{"secret":"••••••"}]"#, true)]),
        ("null", vec![("", "null", false)]),
    ] {
        let found = render_arguments(&read(arguments).unwrap());
        let found: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.text.as_str(), one.masked)).collect();
        assert_eq!(found, shown, "{arguments}");
    }
}

#[test]
fn does_not_truncate_prompt_arguments() {
    let long = "x".repeat(1_000_000);
    let shown = render_arguments(&read(&format!(r#"{{"a":"{long}"}}"#)).unwrap());
    assert_eq!(shown[0].text.len(), long.len() + 2);
}

#[test]
fn renders_call_as_one_line() {
    for (arguments, line) in [
        ("{}", ""),
        ("null", ""),
        (r#"{"path":"/tmp/x","recursive":true,"n":1.0}"#, "path=/tmp/x recursive=true n=1.0"),
        (r#"{"text":"two words"}"#, r#"text="two words""#),
        (r#"{"text":""}"#, r#"text="""#),
        (r#"{"text":"a=b"}"#, r#"text="a=b""#),
        (r#"{"text":"line\nline"}"#, r#"text="line\nline""#),
        (r#"{"token":"abc","list":[1,"x"]}"#, r#"token=•••••• list=[1,"x"]"#),
        ("{\"p\":\"a\u{202e}b\"}", "p=a⟦U+202E⟧b"),
        ("[1,2]", "[1,2]"),
    ] {
        assert_eq!(one_line(&read(arguments).unwrap()), line, "{arguments}");
    }
    let long = one_line(&read(&format!(r#"{{"a":"{}","b":1}}"#, "é".repeat(10_000))).unwrap());
    assert_eq!(long.chars().count(), 200);
    assert!(long.ends_with('…'));
    let secret = format!(r#"{{"a":"{} ghp_{}"}}"#, "x".repeat(180), "a".repeat(40));
    assert!(!one_line(&read(&secret).unwrap()).contains("ghp_"));
}

#[test]
fn masks_records_and_keeps_other_bytes() {
    let arguments = r#"{"z":1.0,"password":"x","a":{"u":"https://me:pw@example.com/"}}"#;
    let masked = r#"{"z":1.0,"password":"••••••","a":{"u":"https://me:••••••@example.com/"}}"#;
    assert_eq!(masked_json(&read(arguments).unwrap()), masked);
}

#[test]
fn cleans_server_texts() {
    for (text, cleaned, hidden) in [
        ("plain", "plain", false),
        ("line\nline\ttab", "line\nline\ttab", false),
        ("line\r\nline", "line\nline", false),
        ("over\rwrite", "overwrite", true),
        ("a\u{202e}b\u{2066}c\u{200f}", "abc", true),
        ("a\u{200b}b\u{feff}c\u{2060}d\u{ad}", "abcd", true),
        ("hi\u{e0068}\u{e0069}\u{e007f}", "hi", true),
        ("x\u{e0100}\u{e01ef}y\u{fe00}", "xy", true),
        ("x\u{fe0f}y", "xy", true),
        ("❤\u{fe0f} 1\u{fe0f}\u{20e3}", "❤\u{fe0f} 1\u{fe0f}\u{20e3}", false),
        ("❤\u{fe0f}\u{fe0f}\u{fe0e}", "❤\u{fe0f}", true),
        ("\u{1b}[31mred\u{1b}[0m", "red", true),
        ("\u{9b}31mred", "red", true),
        ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link", true),
        ("\u{1b}]0;never ends", "0;never ends", true),
        ("\u{1b}", "", true),
        ("\u{1b}[", "", true),
        ("nul\u{0}", "nul", true),
        ("中文 é ñ", "中文 é ñ", false),
        ("", "", false),
    ] {
        assert_eq!(clean_text(text), cleaned, "{text:?}");
        assert_eq!(has_hidden(text), hidden, "{text:?}");
    }
    assert_eq!(reveal("a\u{202e}b\nc⟦"), "a⟦U+202E⟧b\nc⟦U+27E6⟧");
}
