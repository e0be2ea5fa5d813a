//! Settings that are broken, huge or made to mislead: an error without the file's content, and never a server that isn't
//! what it says.

use gatehouse_integrations::App;
use gatehouse_integrations::import::{read_file, read_text};
use gatehouse_model::UserError;

use crate::TestHome;

fn key(error: &UserError) -> String {
    let text = serde_json::to_value(&error.message).unwrap();
    text["key"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn errors_say_where_and_never_what() {
    for (app, text, line, column) in [
        (App::Cursor, "{\n  \"mcpServers\": {s3cret}\n}", "2", "18"),
        (App::Codex, "a = 1\nb = s3cret", "2", "5"),
        (App::Continue, "a: 1\nb: [s3cret", "", ""),
    ] {
        let home = TestHome::new();
        let path = home.write(app, text.as_bytes());
        let error = read_file(&path, &home.folders).unwrap_err();
        let shown = serde_json::to_string(&error).unwrap();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains(&path.display().to_string()), "{shown}");
        if !line.is_empty() {
            assert!(shown.contains(&format!("\"line\":{{\"text\":\"{line}\"}}")), "{column}: {shown}");
        }
    }
}

#[test]
fn refuses_what_is_no_settings_file() {
    let home = TestHome::new();
    let path = home.write(App::Cursor, b"{}");
    for (content, wanted) in [
        (&b"\xff\xfe\x00"[..], "error.import.notText"),
        (&vec![b' '; (16 << 20) + 1][..], "error.import.fileTooLarge"),
    ] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(key(&read_file(&path, &home.folders).unwrap_err()), wanted);
    }
    assert_eq!(key(&read_file(home.folders.home(), &home.folders).unwrap_err()), "error.import.notAFile");
    let missing = home.folders.home().join("none.json");
    assert_eq!(key(&read_file(&missing, &home.folders).unwrap_err()), "error.import.noFile");
    let many: String = (0..600).map(|at| format!("\"s{at}\":{{\"command\":\"x\"}},")).collect();
    let many = format!("{{\"mcpServers\":{{{}}}}}", many.trim_end_matches(','));
    assert_eq!(key(&read_text(&many, &home.folders).unwrap_err()), "error.import.tooMany");
}

#[test]
fn values_of_inputs_are_never_searched_for_others() {
    let home = TestHome::new();
    let text = r#"{"servers":{"a":{"command":"x","args":["${input:a}","${input:b}"]}}}"#;
    let settings = read_text(text, &home.folders).unwrap();
    let values = [("a", "${input:b}"), ("b", "${secret:K}")]
        .map(|(id, value)| (id.to_owned(), gatehouse_model::Secret::new(value)))
        .into();
    let filled = settings.servers[0].fill(&values, false).unwrap();
    assert_eq!(filled.entry["args"], serde_json::json!(["${input:b}", "${secret:K}"]));
}

#[test]
fn a_field_has_one_secret_at_most() {
    let home = TestHome::new();
    let text = r#"{"servers":{"a":{"url":"https://a.example","headers":{"K":"${input:a-token} ${input:b-token}"}}}}"#;
    let settings = read_text(text, &home.folders).unwrap();
    let values = ["a-token", "b-token"].map(|id| (id.to_owned(), gatehouse_model::Secret::new("v"))).into();
    let problem = settings.servers[0].fill(&values, false).unwrap_err();
    assert_eq!(problem.key, "import.problem.severalSecrets");
}
