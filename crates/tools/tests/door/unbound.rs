//! Allows for one client that were given before any program was seen: their first use asks, and binds them.

use std::sync::Arc;

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth, Warning};
use gatehouse_model::grant::Width;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, Grant, GrantId, PendingAsk, Rule};
use gatehouse_policy::describe::describe_width;
use gatehouse_tools::{Caller, Peer, PresetOrder, RuleOrder};

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;
const EGGS: &str = r#"{"text":"eggs"}"#;

fn from_program(path: &str) -> Caller {
    Caller { peer: peer(path), ..caller("Claude") }
}

async fn granted(house: &House, lifetime: ChoiceLifetime, width: ChoiceWidth) -> GrantId {
    let tool = (width == ChoiceWidth::Tool).then(|| "add_note".to_owned());
    let (server, client) = (Some("notes".into()), Some("Claude".into()));
    let order = RuleOrder { server, tool, client, choice: choice(lifetime, width) };
    house.tools.rights().grant(order).await.unwrap()
}

fn rule(house: &House, id: &GrantId) -> Grant {
    let rules = house.tools.rights().view().rules;
    rules.into_iter().map(|view| view.rule).find(|rule| rule.id == *id).unwrap()
}

fn bindings(house: &House) -> usize {
    house.audit(|event| matches!(event, AuditEvent::GrantBound { program: Some(_), .. }))
}

#[tokio::test(start_paused = true)]
async fn the_first_use_asks_and_binds() {
    for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit, ChoiceLifetime::QuarterHour] {
        let house = House::new().await;
        house.notes().await;
        let id = granted(&house, lifetime, ChoiceWidth::Tool).await;
        let waiting = house.begin("add_note", MILK);
        let question = house.question().await;
        let expected = Warning::UnboundGrant {
            grant: id.clone(),
            what: describe_width(&Width::Tool { tool: "add_note".into() }),
            program: "/usr/bin/test".into(),
        };
        assert!(about(&question).warnings.contains(&expected), "{:?}", about(&question).warnings);
        house.answer(&question, no(None)).await.unwrap();
        assert!(is_error(&waiting.ended().await));
        assert_eq!((rule(&house, &id).program, bindings(&house)), (None, 0), "a no binds nothing");

        let waiting = house.begin("add_note", MILK);
        let question = house.question().await;
        house.allow(&question).await;
        assert!(!is_error(&waiting.ended().await));
        assert_eq!(rule(&house, &id).program.as_deref(), Some("/usr/bin/test"), "{lifetime:?}");
        assert_eq!(bindings(&house), 1);
        assert!(house.passes("add_note", EGGS).await, "{lifetime:?}");
        assert!(!house.passes("list_notes", "{}").await, "it is for one tool");

        let thief = house.begin_as(from_program("/tmp/thief"), call("add_note", r#"{"text":"x"}"#));
        let question = house.question().await;
        let warnings = &about(&question).warnings;
        assert!(
            !warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. })),
            "{warnings:?}"
        );
        house.answer(&question, no(None)).await.unwrap();
        assert!(is_error(&thief.ended().await));
        assert_eq!(bindings(&house), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_lasts_past_a_restart() {
    let house = House::new().await;
    house.notes().await;
    let id = granted(&house, ChoiceLifetime::Always, ChoiceWidth::Server).await;
    let waiting = house.begin("add_note", MILK);
    house.allow(&house.question().await).await;
    waiting.ended().await;
    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert_eq!(rule(&house, &id).program.as_deref(), Some("/usr/bin/test"));
    assert!(house.passes("add_note", EGGS).await);
    let thief = house.begin_as(from_program("/tmp/thief"), call("add_note", MILK));
    house.question().await;
    drop(thief);
}

/// Nothing is allowed, and nothing is bound, when it cannot be written down.
#[tokio::test(start_paused = true)]
async fn a_binding_counts_only_when_it_is_kept() {
    let keychain: Arc<Keychain> = Default::default();
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let house = House::on(dir, keychain.clone(), Default::default()).await;
    house.notes().await;
    let id = granted(&house, ChoiceLifetime::Always, ChoiceWidth::Tool).await;
    let waiting = house.begin("add_note", MILK);
    let question = house.question().await;
    keychain.lock(true);
    assert!(house.answer(&question, once()).await.is_err());
    assert_eq!(rule(&house, &id).program, None);
    keychain.lock(false);
    house.allow(&house.question().await).await;
    assert!(!is_error(&waiting.ended().await));
    assert_eq!(rule(&house, &id).program.as_deref(), Some("/usr/bin/test"));
}

/// A question that waits says what is true: once the grant is another program's, or gone, it is put anew.
#[tokio::test(start_paused = true)]
async fn what_waits_is_put_anew_when_the_grant_is_bound() {
    let house = House::new().await;
    house.notes().await;
    let order =
        PresetOrder { server: Some("notes".into()), client: Some("Claude".into()), to: AutoApprove::All };
    house.tools.rights().set_preset(order).await.unwrap();
    let own_1 = house.begin("add_note", MILK);
    let first = house.question().await;
    let own_2 = house.begin("add_note", EGGS);
    let thief = house.begin_as(from_program("/tmp/thief"), call("add_note", r#"{"text":"x"}"#));
    let is_stolen = |question: &PendingAsk| {
        about(question).client.seen_from.as_ref().unwrap().program.path == "/tmp/thief"
    };
    let stolen = house.questions(3).await.into_iter().find(is_stolen).unwrap();
    house.allow(&first).await;
    assert!(!is_error(&own_1.ended().await));
    assert!(!is_error(&own_2.ended().await), "the same program is let through by the grant");
    house.until(|house| house.tools.approvals().pending().iter().all(|one| one.id != stolen.id)).await;
    assert_eq!(house.answer(&stolen, once()).await.unwrap_err().code, ErrorCode::StaleAnswer);
    let anew = house.question().await;
    assert!(!about(&anew).warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. })));
    house.answer(&anew, no(None)).await.unwrap();
    assert!(is_error(&thief.ended().await));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_program_binds_nothing() {
    let house = House::new().await;
    house.notes().await;
    let id = granted(&house, ChoiceLifetime::Always, ChoiceWidth::Tool).await;
    for (text, peer) in [("a", unknown_peer("/usr/bin/test", 1000)), ("b", Peer::unseen())] {
        let arguments = format!(r#"{{"text":"{text}"}}"#);
        let unknown = Caller { peer, ..in_session("Claude", "ses-1") };
        let waiting = house.begin_as(unknown, call("add_note", &arguments));
        let question = house.question().await;
        let asked = about(&question);
        assert!(asked.warnings.contains(&Warning::UnknownProgram), "{:?}", asked.warnings);
        assert!(!asked.warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. })));
        let lasts = |lifetime| matches!(lifetime, ChoiceLifetime::Once | ChoiceLifetime::Session);
        assert!(asked.choices.iter().all(|choice| lasts(choice.lifetime) && !choice.every_client));
        house.allow(&question).await;
        assert!(!is_error(&waiting.ended().await));
        assert_eq!(rule(&house, &id).program, None);
    }
    house.store.activity().flush();
    let records = house.store.activity().list(&Default::default()).unwrap();
    assert!(records.iter().all(|record| matches!(record.verdict.rule, Rule::Answered { .. })));
}
