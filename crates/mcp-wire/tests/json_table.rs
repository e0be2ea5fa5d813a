//! What is read as JSON and what is refused, case by case (PERM-7).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_mcp_wire::json::{JsonDefect, MAX_DEPTH, read};

#[test]
fn what_is_refused() {
    for (text, defect) in [
        ("", "not valid JSON at byte 0"),
        ("   ", "not valid JSON at byte 3"),
        ("{", "not valid JSON at byte 1"),
        ("{}x", "not valid JSON at byte 2"),
        ("{} {}", "not valid JSON at byte 3"),
        ("\u{feff}{}", "not valid JSON at byte 0"),
        ("{'a':1}", "not valid JSON at byte 1"),
        ("{a:1}", "not valid JSON at byte 1"),
        (r#"{"a":1,}"#, "not valid JSON at byte 7"),
        ("[1,]", "not valid JSON at byte 3"),
        ("[,1]", "not valid JSON at byte 1"),
        ("01", "not valid JSON at byte 1"),
        ("+1", "not valid JSON at byte 0"),
        ("1.", "not valid JSON at byte 2"),
        (".5", "not valid JSON at byte 0"),
        ("1e", "not valid JSON at byte 2"),
        ("-", "not valid JSON at byte 1"),
        ("0x10", "not valid JSON at byte 1"),
        ("NaN", "not valid JSON at byte 0"),
        ("Infinity", "not valid JSON at byte 0"),
        ("True", "not valid JSON at byte 0"),
        ("nul", "not valid JSON at byte 0"),
        ("// x\n1", "not valid JSON at byte 0"),
        ("[1\u{a0}]", "not valid JSON at byte 2"),
        ("\"a\nb\"", "not valid JSON at byte 2"),
        ("\"a\u{0}b\"", "not valid JSON at byte 2"),
        (r#""\x41""#, "not valid JSON at byte 2"),
        (r#""\u12g4""#, "not valid JSON at byte 5"),
        (r#""abc"#, "not valid JSON at byte 4"),
        (r#"{"a":1,"a":2}"#, r#"the key "/a" occurs twice"#),
        (r#"{"a":1,"\u0061":2}"#, r#"the key "/a" occurs twice"#),
        (r#"{"x":[0,{"k/~":1,"b":2,"k/~":1}]}"#, r#"the key "/x/1/k~1~0" occurs twice"#),
        (r#"{"":1,"":1}"#, r#"the key "/" occurs twice"#),
        (r#"{"a":"\ud800"}"#, r#"a lone surrogate in the text at "/a""#),
        (r#"{"a":["\udc00"]}"#, r#"a lone surrogate in the text at "/a/0""#),
        (r#"{"a":{"\ud83dx":1}}"#, r#"a lone surrogate in the text at "/a""#),
        (r#""\ud83d\ud83d""#, r#"a lone surrogate in the text at """#),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), defect, "{text}");
    }
}

#[test]
fn what_is_read() {
    for (text, canonical) in [
        ("null", "null"),
        (" true ", "true"),
        ("\t[ ]\r\n", "[]"),
        (r#"{"b":1,"a":{"d":[],"c":null}}"#, r#"{"a":{"c":null,"d":[]},"b":1}"#),
        ("-0", "-0"),
        ("1.50E+05", "1.50E+05"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        (r#""\u00e9\/\ud83d\ude00\b""#, r#""é/😀\b""#),
        (r#""\u001f""#, r#""\u001f""#),
        (r#"{"\u0062":1,"a":2}"#, r#"{"a":2,"b":1}"#),
    ] {
        assert_eq!(read(text).unwrap().canonical(), canonical, "{text}");
    }
}

#[test]
fn depth_has_an_end() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(read(&nested(MAX_DEPTH + 1)), Err(JsonDefect::TooDeep));
    assert_eq!(read(&"[".repeat(1_000_000)), Err(JsonDefect::TooDeep));
    assert_eq!(read(&r#"{"a":"#.repeat(1_000_000)), Err(JsonDefect::TooDeep));
}

#[test]
fn many_keys_are_checked_too() {
    let members: Vec<String> = (0..50_000).map(|n| format!(r#""k{n}":{n}"#)).collect();
    assert!(read(&format!("{{{}}}", members.join(","))).is_ok());
    let doubled = read(&format!(r#"{{{},"k7":0}}"#, members.join(",")));
    assert_eq!(doubled, Err(JsonDefect::DuplicateKey { pointer: "/k7".to_owned() }));
}
