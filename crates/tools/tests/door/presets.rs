//! What runs without asking by client and on every server (PERM-3), when a rule was last used, what the
//! administrator forbids of what runs (PERM-6), and the words of a refusal (PERM-12).

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{ClientScope, Width};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ClientId, ErrorCode, GrantChoice, Rule};
use gatehouse_tools::{AccessCall, AccessKind, PresetOrder, RuleOrder};
use tokio_util::sync::CancellationToken;

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;
const TIME: &str = r#"{"timezone":"UTC"}"#;

fn preset(server: Option<&str>, client: Option<&str>, to: AutoApprove) -> PresetOrder {
    PresetOrder { server: server.map(Into::into), client: client.map(Into::into), to }
}

async fn two_servers() -> House {
    let house = House::new().await;
    house.notes().await;
    house.serve(builtin("time", Builtin::Time)).await;
    house
}

/// Server, client and width of each rule.
fn rules(house: &House) -> Vec<(String, Option<ClientId>, Width)> {
    let rules = house.tools.rights().view().rules.into_iter().map(|view| view.rule);
    let mut rules: Vec<_> = rules
        .map(|rule| {
            let client = match rule.clients {
                ClientScope::One { client } => Some(client),
                ClientScope::Every => None,
            };
            (rule.server.unwrap().server.to_string(), client, rule.width)
        })
        .collect();
    rules.sort_by_key(|(server, client, _)| (server.clone(), client.clone()));
    rules
}

async fn runs(house: &House, client: &str, tool: &str, arguments: &str) -> bool {
    let before = house.tools.approvals().pending().len();
    let mut running = house.begin_as(caller(client), call(tool, arguments));
    tokio::select! {
        biased;
        end = &mut running.end => !is_error(&end.unwrap()),
        () = house.until(|house| house.tools.approvals().pending().len() > before) => {
            let asked = house.tools.approvals().pending().pop().unwrap();
            house.answer(&asked, no(None)).await.unwrap();
            running.ended().await;
            false
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_preset_for_a_client_is_for_it_alone_and_on_every_server() {
    let house = two_servers().await;
    let rights = house.tools.rights();
    rights.set_preset(preset(Some("notes"), None, AutoApprove::Reads)).await.unwrap();
    rights.set_preset(preset(None, Some("Claude"), AutoApprove::All)).await.unwrap();
    let claude = || Some(ClientId::from("Claude"));
    assert_eq!(
        rules(&house),
        [
            ("notes".into(), None, Width::Reads),
            ("notes".into(), claude(), Width::Everything),
            ("time".into(), claude(), Width::Everything),
        ]
    );
    // The first use on each server asks, and binds what was set to the program that it comes from.
    for (tool, arguments) in
        [("add_note", r#"{"text":"first"}"#), ("current_time", r#"{"timezone":"Asia/Tokyo"}"#)]
    {
        let first = house.begin(tool, arguments);
        house.allow(&house.question().await).await;
        assert!(!is_error(&first.ended().await), "{tool}");
    }
    assert!(runs(&house, "Claude", "add_note", MILK).await);
    assert!(runs(&house, "Claude", "current_time", TIME).await);
    assert!(!runs(&house, "Cursor", "add_note", MILK).await);
    assert!(!runs(&house, "Cursor", "current_time", TIME).await);
    let set = |wanted: &str| {
        let server = wanted.to_owned();
        house.audit(move |event| {
            matches!(event, AuditEvent::AutoApproveSet { server: of, client: Some(client), to: AutoApprove::All }
                if of.as_str() == server && client.as_str() == "Claude")
        })
    };
    assert_eq!((set("notes"), set("time")), (1, 1));

    // What was given in another way stays: for a tool, on conditions, for a while.
    let tool = RuleOrder {
        server: Some("notes".into()),
        tool: Some("add_note".into()),
        client: claude(),
        choice: choice(ChoiceLifetime::Always, ChoiceWidth::Tool),
    };
    rights.grant(tool).await.unwrap();
    let while_it_runs = RuleOrder {
        server: Some("notes".into()),
        tool: None,
        client: claude(),
        choice: choice(ChoiceLifetime::UntilQuit, ChoiceWidth::Server),
    };
    let timed = rights.grant(while_it_runs).await.unwrap();
    rights.set_preset(preset(None, Some("Claude"), AutoApprove::Ask)).await.unwrap();
    let add_note = Width::Tool { tool: "add_note".into() };
    assert_eq!(
        rules(&house),
        [
            ("notes".into(), None, Width::Reads),
            ("notes".into(), claude(), add_note.clone()),
            ("notes".into(), claude(), Width::Everything),
        ]
    );
    rights.revoke(&timed).await.unwrap();
    assert!(!runs(&house, "Claude", "current_time", TIME).await);

    // For every client: what is for one client stays.
    rights.set_preset(preset(None, None, AutoApprove::Writes)).await.unwrap();
    assert_eq!(
        rules(&house),
        [
            ("notes".into(), None, Width::Writes),
            ("notes".into(), claude(), add_note),
            ("time".into(), None, Width::Writes),
        ]
    );
    rights.client_removed(&"Claude".into()).await.unwrap();
    assert!(rules(&house).iter().all(|(_, client, _)| client.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_preset_counts_as_a_whole_or_not_at_all() {
    let keychain: std::sync::Arc<Keychain> = Default::default();
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let house = House::on(dir, keychain.clone(), Default::default()).await;
    house.notes().await;
    house.serve(builtin("time", Builtin::Time)).await;
    let rights = house.tools.rights();
    keychain.lock(true);
    let all = preset(None, Some("Claude"), AutoApprove::All);
    assert!(rights.set_preset(all).await.is_err());
    keychain.lock(false);
    assert!(rules(&house).is_empty());
    let nowhere = preset(Some("none"), None, AutoApprove::All);
    assert_eq!(rights.set_preset(nowhere).await.unwrap_err().code, ErrorCode::NotFound);
    assert!(rules(&house).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rule_says_when_it_last_decided() {
    let house = two_servers().await;
    let rights = house.tools.rights();
    rights.set_preset(preset(Some("notes"), None, AutoApprove::All)).await.unwrap();
    let last = |house: &House| house.tools.rights().view().rules[0].last_used;
    assert_eq!(last(&house), None);
    for text in ["a", "b"] {
        assert!(house.passes("add_note", &format!(r#"{{"text":"{text}"}}"#)).await);
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    }
    assert!(!house.passes("current_time", TIME).await);
    house.store.activity().flush();
    let records = house.store.activity().list(&Default::default()).unwrap();
    let newest = records.iter().find(|record| record.server.as_str() == "notes").unwrap().at;
    assert_eq!(last(&house), Some(newest));
    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    assert_eq!(last(&house), Some(newest), "also after a restart");
}

#[tokio::test(start_paused = true)]
async fn what_the_administrator_forbids_is_refused_while_it_still_runs() {
    let house = two_servers().await;
    let rights = house.tools.rights();
    rights.set_preset(preset(None, None, AutoApprove::All)).await.unwrap();
    assert!(house.passes("add_note", MILK).await);
    let file = house.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"builtin":"notes"}],"reason":"Ask IT."}}"#).unwrap();
    let end = house.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("administrator"), "{end}");
    assert!(text(&end).contains("Ask IT.") && text(&end).contains("no fault of the tool"), "{end}");
    assert!(house.passes("current_time", TIME).await, "the other server is allowed");
    house.store.activity().flush();
    let records = house.store.activity().list(&Default::default()).unwrap();
    let rule = &records.iter().find(|record| record.server.as_str() == "notes").unwrap().verdict.rule;
    assert!(matches!(rule, Rule::PolicyFile { reason } if reason.contains("Ask IT.")), "{rule:?}");

    // The user's own call is none of the user's business then, either.
    let own = value(house.tools.call_for_user(call("add_note", MILK)).await);
    assert!(is_error(&own), "{own}");
    std::fs::write(&file, "{").unwrap();
    let end = house.call("current_time", TIME).await;
    assert!(is_error(&end) && text(&end).contains("cannot be read"), "{end}");
    std::fs::remove_file(&file).unwrap();
    assert!(house.passes("add_note", r#"{"text":"eggs"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_outweigh_the_administrator() {
    let house = two_servers().await;
    let waiting = house.begin("add_note", MILK);
    let question = house.question().await;
    let file = house.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"name":"notes"}]}}"#).unwrap();
    house.allow(&question).await;
    let end = waiting.ended().await;
    assert!(is_error(&end) && text(&end).contains("administrator"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_what_was_refused() {
    let house = two_servers().await;
    let block = RuleOrder {
        server: Some("notes".into()),
        tool: None,
        client: None,
        choice: GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, ChoiceWidth::Server) },
    };
    house.tools.rights().deny(block, None, Authority::Operator).await.unwrap();
    for (kind, thing) in [
        (AccessKind::ReadResource, "no fault of the resource"),
        (AccessKind::GetPrompt, "no fault of the prompt"),
        (AccessKind::CompletePrompt, "no fault of the server"),
    ] {
        let access = AccessCall {
            server: "notes".into(),
            kind,
            target: "it".to_owned(),
            exposed_name: "it".to_owned(),
            rest: Vec::new(),
            meta: None,
            progress: None,
            asks: None,
            listening: None,
            cancel: CancellationToken::new(),
        };
        let end = value(house.tools.access(caller("Claude"), access).await);
        let words = end["error"]["message"].as_str().unwrap();
        assert!(words.contains(thing) && !words.contains("tool"), "{words}");
    }
}
