//! Texts of rules: the core selects the text, the command line renders it in the terminal's language,
//! and an approval request offers every way to allow and to deny with its text.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http};
use serde_json::{Value, json};

const CHINESE: (&str, &str) = ("LC_ALL", "zh_CN.UTF-8");

/// The output of a command.
fn printed(gatehouse: &Gatehouse, variable: (&str, &str), words: &[&str]) -> Result<String> {
    let output = gatehouse.operator_in(variable, words)?;
    ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn rules_are_printed_in_the_language_of_the_terminal() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "deny", "Notes", "--tool", "delete_note"])?;
    let when = "text starts-with milk";
    gatehouse
        .ask(&["policy", "grant", "Notes", "--tool", "add_note", "--client", "agent", "--when", when])?;
    for (variable, expected) in [
        (
            ("LC_ALL", "C.UTF-8"),
            [
                "Always deny Notes: delete_note, for every client",
                "Always allow Notes: add_note when text starts with milk, for agent; asks on first use",
            ],
        ),
        (
            CHINESE,
            [
                "始终拒绝 所有客户端 使用 Notes：delete_note",
                "始终允许 agent 使用 Notes：add_note（仅当 text 以 milk 开头）；首次使用时询问",
            ],
        ),
    ] {
        for words in [&["policy", "show"][..], &["audit"]] {
            let text = printed(&gatehouse, variable, words)?;
            for sentence in expected {
                ensure!(text.contains(sentence), "“{sentence}” is not in {words:?}: {text}");
            }
        }
    }
    Ok(())
}

#[test]
fn approval_requests_are_printed_in_the_language_of_the_terminal() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let arguments = r#"{"text":"\u202emilk"}"#;
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", arguments);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let english =
        ["Client      agent", "Warning     There are hidden characters in the argument text", "Time left   "];
    let chinese = ["客户端      agent", "警告        发现隐藏字符：参数 text", "剩余时间    "];
    for (variable, expected, others) in
        [(("LC_ALL", "C.UTF-8"), english, chinese), (CHINESE, chinese, english)]
    {
        let text = printed(&gatehouse, variable, &["approvals", "list"])?;
        for words in expected {
            ensure!(text.contains(words), "“{words}” is missing: {text}");
        }
        for words in others {
            ensure!(!text.contains(words), "“{words}” is of the other language: {text}");
        }
        ensure!(text.contains("⟦U+202E⟧milk") && !text.contains('\u{202e}'), "{text:?}");
    }
    approvals::deny(&gatehouse, &question)?;
    ensure!(call.end()?.body.contains(r#""isError":true"#), "it ran");
    Ok(())
}

/// The scopes of the offered choices, without duplicates, in order.
fn widths(offered: &Value) -> Result<Vec<&str>> {
    let offered = offered.as_array().context("nothing is offered")?;
    let mut widths: Vec<&str> = offered.iter().filter_map(|choice| choice["width"].as_str()).collect();
    widths.dedup();
    Ok(widths)
}

#[test]
fn offered_denials_can_be_given_as_they_are() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", r#"{"text":"milk"}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let asked = &question["request"];
    ensure!(widths(&asked["denials"])? == ["call", "tool", "server", "client"], "{asked:#}");
    let conditions = asked["conditions"].as_array().context("conditions")?;
    ensure!(conditions.iter().all(|one| one["sentence"]["key"].is_string()), "{asked:#}");

    let denials = asked["denials"].as_array().context("denials")?;
    let fits = |choice: &&Value| choice["width"] == "client" && choice["lifetime"] == "quarter_hour";
    let denial = denials.iter().find(fits).with_context(|| format!("not offered: {asked:#}"))?;
    ensure!(denial["sentence"]["key"] == "rule.deny.quarter_hour", "{denial:#}");
    let answer = json!({ "answer": "deny", "choice": denial, "reason": null });
    let answers = json!({ "answers": [{ "id": question["id"], "hash": asked["hash"], "answer": answer }] });
    gatehouse.command("approvals.answer", &answers)?;
    ensure!(call.end()?.body.contains("isError\":true"), "it ran");
    let rules = gatehouse.ask(&["policy", "show"])?["rules"].clone();
    let [rule] = rules.as_array().context("rules")?.as_slice() else { anyhow::bail!("{rules:#}") };
    ensure!(rule["rule"]["server"].is_null() && rule["rule"]["effect"] == "deny", "{rule:#}");
    ensure!(rule["sentence"]["key"] == "rule.deny.until", "{rule:#}");
    ensure!(rule["sentence"]["text"].as_str().is_some_and(|text| text.starts_with("Deny ")), "{rule:#}");
    Ok(())
}
