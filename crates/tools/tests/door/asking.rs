//! Questions and answers (PERM-1, 7, 9, 10, 12, 14).

use gatehouse_model::ask::{ChoiceLifetime, ChoiceWidth, ConfigChangeAsk, ConfigChangeKind, Warning};
use gatehouse_model::grant::AccessClass;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Answer, Ask, AskAnswer, AskUser, ErrorCode, GrantChoice, OfferedChoice};

use crate::house::*;

#[tokio::test(start_paused = true)]
async fn nothing_runs_unasked_and_an_approval_is_for_one_call() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", r#"{"text":"milk"}"#);
    let question = house.question().await;
    let about = about(&question);
    assert_eq!((about.client.name.as_str(), about.server.name.as_str()), ("Claude", "notes"));
    assert_eq!((about.title.as_str(), about.exposed_name.as_str()), ("Add a note", "add_note"));
    assert_eq!(about.arguments.as_deref().unwrap().len(), 1);
    assert_eq!(about.arguments.as_deref().unwrap()[0].name, "text");
    assert!(question.waiting);
    assert!(about.warnings.contains(&Warning::FirstUse));
    house.allow(&question).await;
    assert!(!is_error(&first.ended().await));
    assert!(house.tools.approvals().pending().is_empty());
    let again = house.begin("add_note", r#"{"text":"milk"}"#);
    let question = house.question().await;
    assert!(!crate::house::about(&question).warnings.contains(&Warning::FirstUse));
    house.answer(&question, no(None)).await.unwrap();
    assert!(is_error(&again.ended().await), "once is once");
    assert!(!house.passes("add_note", r#"{"text": "milk"}"#).await, "other bytes are another call");
    let by_whom = |event: &AuditEvent| matches!(event, AuditEvent::Decided { allowed: true, by, .. } if by.as_deref() == Some("test"));
    assert_eq!(house.audit(by_whom), 1);
}

#[tokio::test(start_paused = true)]
async fn a_denial_reaches_the_model_with_its_reason() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", r#"{"text":"x"}"#);
    let question = house.question().await;
    house.answer(&question, no(Some("use the other list"))).await.unwrap();
    let end = call.ended().await;
    assert!(is_error(&end));
    assert!(text(&end).contains("refused") && text(&end).contains("no fault of the tool"), "{end}");
    assert!(text(&end).contains("use the other list"));
    let listed = house.passes("list_notes", "{}").await;
    assert!(!listed);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_changes_nothing() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", r#"{"text":"x"}"#);
    let question = house.question().await;
    let right = to(&question, once());
    for wrong in [
        AskAnswer { hash: None, ..right.clone() },
        AskAnswer { hash: Some("other".into()), ..right.clone() },
        AskAnswer { id: "ask-none".into(), ..right.clone() },
    ] {
        let problem = house.tools.approvals().answer(vec![wrong], "test").await.unwrap_err();
        assert_eq!(problem.code, ErrorCode::StaleAnswer);
    }
    for senseless in [Answer::Accept { content: None }, Answer::Decline, Answer::Cancel] {
        assert_eq!(house.answer(&question, senseless).await.unwrap_err().code, ErrorCode::BadRequest);
    }
    let twice = house.tools.approvals().answer(vec![right.clone(), right.clone()], "test").await;
    assert_eq!(twice.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(house.tools.approvals().answer(vec![], "test").await.unwrap_err().code, ErrorCode::BadRequest);
    assert!(!call.end.is_finished());
    house.tools.approvals().answer(vec![right.clone()], "test").await.unwrap();
    assert!(!is_error(&call.ended().await));
    let late = house.tools.approvals().answer(vec![right], "test").await;
    assert_eq!(late.unwrap_err().code, ErrorCode::StaleAnswer);
}

#[tokio::test(start_paused = true)]
async fn only_what_is_offered_can_be_allowed() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", r#"{"text":"x"}"#);
    let question = house.question().await;
    // A write is no read, there is no session, and nothing is allowed on every server.
    for (lifetime, width) in [
        (ChoiceLifetime::UntilQuit, ChoiceWidth::Reads),
        (ChoiceLifetime::Session, ChoiceWidth::Tool),
        (ChoiceLifetime::Always, ChoiceWidth::Client),
        (ChoiceLifetime::Once, ChoiceWidth::Tool),
    ] {
        let problem = house.answer(&question, allow(lifetime, width)).await.unwrap_err();
        assert_eq!(problem.code, ErrorCode::BadRequest, "{lifetime:?} {width:?}");
    }
    assert!(!call.end.is_finished());
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    assert!(!is_error(&call.ended().await));
    assert!(house.passes("add_note", r#"{"text":"y"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_offered_as_wide_and_as_long_as_it_makes_sense() {
    use ChoiceWidth::{Call, Client, Reads, Server, Tool};
    let house = House::new().await;
    house.notes().await;
    let reads = Some(AccessClass::Read);
    house.tools.rights().classify(&"notes".into(), "list_notes", reads).await.unwrap();
    for (tool, widths) in [
        ("add_note", vec![Call, Tool, Server, Client]),
        ("list_notes", vec![Call, Tool, Reads, Server, Client]),
    ] {
        for session in [None, Some("ses-1")] {
            let from = session.map_or_else(|| caller("Claude"), |session| in_session("Claude", session));
            let waiting = house.begin_as(from, call(tool, r#"{"text":"x"}"#));
            let question = house.question().await;
            let denials = offered(&about(&question).denials);
            assert_eq!(denials[0], GrantChoice::once());
            let mut found: Vec<ChoiceWidth> = denials.iter().map(|choice| choice.width).collect();
            found.dedup();
            assert_eq!(found, widths, "{tool}");
            let lasts_for_session = denials.iter().any(|choice| choice.lifetime == ChoiceLifetime::Session);
            assert_eq!(lasts_for_session, session.is_some(), "{denials:?}");
            house.answer(&question, no(None)).await.unwrap();
            assert!(is_error(&waiting.ended().await));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn choices_and_conditions_come_with_their_words() {
    let house = House::new().await;
    house.notes().await;
    let waiting = house.begin("add_note", r#"{"text":"milk"}"#);
    let question = house.question().await;
    let asked = about(&question);
    let words = |choices: &[OfferedChoice]| -> Vec<String> {
        choices.iter().map(|choice| said(&choice.sentence)).collect()
    };
    let (allows, denials) = (words(&asked.choices), words(&asked.denials));
    assert!(allows.contains(&"Always allow notes: add_note, for every client".to_owned()), "{allows:?}");
    let client = "Deny everything on every server for 15 minutes, for Claude".to_owned();
    assert!(denials[0] == "Deny this exact call" && denials.contains(&client), "{denials:?}");
    let conditions: Vec<String> = asked.conditions.iter().map(|one| said(&one.sentence)).collect();
    assert!(conditions.contains(&"text is \"milk\"".to_owned()), "{conditions:?}");

    let known = house.tools.approvals().pending_beside(std::slice::from_ref(&question.id));
    let known = about(&known[0]);
    assert!(known.arguments.is_none() && known.choices.is_empty(), "{known:?}");
    assert!(known.denials.is_empty() && known.conditions.is_empty(), "{known:?}");

    // What is proposed narrows a choice that is offered.
    let narrowed = GrantChoice {
        conditions: vec![asked.conditions[0].condition.clone()],
        ..choice(ChoiceLifetime::Always, ChoiceWidth::Tool)
    };
    house.answer(&question, Answer::Allow { choice: narrowed }).await.unwrap();
    assert!(!is_error(&waiting.ended().await));
    assert!(!house.passes("add_note", r#"{"text":"eggs"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn identical_calls_share_a_question_and_run_once() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", r#"{"text":"x"}"#);
    let question = house.question().await;
    let second = house.begin("add_note", r#"{"text":"x"}"#);
    house.came_in(2).await;
    assert_eq!(house.question().await.id, question.id);
    house.allow(&question).await;
    let (first, second) = (first.ended().await, second.ended().await);
    assert!(
        !is_error(&second) && second["_meta"].is_null(),
        "the newest has its client for certain: {second}"
    );
    assert!(first["_meta"]["gatehouse/earlierResult"].is_object(), "{first}");
    assert_eq!(first["content"][0], second["content"][0]);
    house.questions(0).await;
    assert_eq!(house.notes_kept().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_for_all_identical_calls_that_wait() {
    let house = House::new().await;
    house.notes().await;
    let calls = [house.begin("add_note", "{\"text\":\"x\"}"), house.begin("add_note", "{\"text\":\"x\"}")];
    house.came_in(2).await;
    let question = house.question().await;
    house.answer(&question, no(None)).await.unwrap();
    for call in calls {
        assert!(is_error(&call.ended().await));
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_64_questions_of_a_client_wait() {
    let house = House::new().await;
    house.notes().await;
    let calls: Vec<Running> =
        (0..64).map(|n| house.begin("add_note", &format!(r#"{{"text":"{n}"}}"#))).collect();
    house.questions(64).await;
    let end = house.call("add_note", r#"{"text":"one more"}"#).await;
    assert!(is_error(&end) && text(&end).contains("64"), "{end}");
    // Another client still has room, and an identical call needs none.
    let other = house.begin_as(caller("Cursor"), call("add_note", r#"{"text":"1"}"#));
    house.questions(65).await;
    let same = house.begin("add_note", r#"{"text":"1"}"#);
    house.came_in(67).await;
    assert_eq!(house.tools.approvals().pending().len(), 65);
    drop((calls, other, same));
}

#[tokio::test(start_paused = true)]
async fn a_group_answer_covers_what_was_listed_and_nothing_else() {
    let house = House::new().await;
    house.notes().await;
    let calls: Vec<Running> =
        (0..3).map(|n| house.begin("add_note", &format!(r#"{{"text":"{n}"}}"#))).collect();
    let drawn = house.questions(3).await;
    let later = house.begin("add_note", r#"{"text":"later"}"#);
    let other = house.begin("delete_note", r#"{"id":"1"}"#);
    let all = house.questions(5).await;
    let stranger = all.iter().find(|question| about(question).exposed_name == "delete_note").unwrap();

    let mixed = drawn.iter().chain([stranger]).map(|question| to(question, once())).collect();
    let problem = house.tools.approvals().answer(mixed, "test").await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::BadRequest);
    let mut stale: Vec<AskAnswer> = drawn.iter().map(|question| to(question, once())).collect();
    stale[1].hash = Some("other".into());
    assert_eq!(house.tools.approvals().answer(stale, "test").await.unwrap_err().code, ErrorCode::StaleAnswer);
    assert_eq!(house.tools.approvals().pending().len(), 5, "all or none");

    let group = drawn.iter().map(|question| to(question, once())).collect();
    house.tools.approvals().answer(group, "test").await.unwrap();
    for call in calls {
        assert!(!is_error(&call.ended().await));
    }
    assert_eq!(house.tools.approvals().pending().len(), 2);
    assert!(!later.end.is_finished() && !other.end.is_finished());
}

#[tokio::test(start_paused = true)]
async fn another_client_is_not_in_the_group() {
    let house = House::new().await;
    house.notes().await;
    let calls = [
        house.begin("add_note", r#"{"text":"1"}"#),
        house.begin_as(caller("Cursor"), call("add_note", r#"{"text":"1"}"#)),
    ];
    let group = house.questions(2).await.iter().map(|question| to(question, once())).collect();
    assert_eq!(house.tools.approvals().answer(group, "test").await.unwrap_err().code, ErrorCode::BadRequest);
    drop(calls);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_safely_is_refused_before_anybody_is_asked() {
    let house = House::new().await;
    house.notes().await;
    for arguments in [r#"{"text":"a","text":"b"}"#, r#"{"text":"\udc00"}"#, "[1]", r#"{"a":{"b":1,"b":1}}"#] {
        let end = house.call("add_note", arguments).await;
        assert_eq!(end["error"]["code"], -32602, "{arguments}: {end}");
    }
    assert_eq!(house.call("nothing_like_it", "{}").await["error"]["code"], -32602);
    assert!(house.tools.approvals().pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn secrets_are_masked_and_hidden_characters_forbid_lasting_grants() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", "{\"text\":\"a\u{202E}b\",\"password\":\"hunter2hunter2\"}");
    let question = house.question().await;
    let about = about(&question);
    let shown: Vec<&str> = about.arguments.iter().flatten().map(|argument| argument.text.as_str()).collect();
    assert!(shown[0].contains("U+202E"), "{shown:?}");
    assert!(!shown[1].contains("hunter2"), "{shown:?}");
    assert!(about.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    assert_eq!(about.choices[0].choice(), GrantChoice::once());
    let problem =
        house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::BadRequest);
    house.answer(&question, no(None)).await.unwrap();
    assert!(is_error(&call.ended().await));
    house.store.activity().flush();
    let record = house.store.activity().list(&Default::default()).unwrap().remove(0);
    assert!(!record.arguments.unwrap().contains("hunter2"));
}

fn hand_edit() -> Ask {
    Ask::ConfigChange(ConfigChangeAsk {
        file: "servers.json".into(),
        server: "files".into(),
        changes: Vec::new(),
        kind: ConfigChangeKind::Changed,
    })
}

#[tokio::test(start_paused = true)]
async fn other_questions_wait_in_the_same_queue() {
    let house = House::new().await;
    let queue = house.tools.approvals().clone();
    let asked = tokio::spawn({
        let queue = queue.clone();
        async move { queue.ask(hand_edit()).await }
    });
    let question = house.question().await;
    let answer = |answer| AskAnswer { id: question.id.clone(), hash: None, answer };
    let wrong = queue.answer(vec![answer(once())], "test").await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BadRequest);
    queue.answer(vec![answer(Answer::Accept { content: None })], "test").await.unwrap();
    assert_eq!(asked.await.unwrap(), Answer::Accept { content: None });

    // Whoever stops waiting withdraws the question.
    let asked = tokio::spawn({
        let queue = queue.clone();
        async move { queue.ask(hand_edit()).await }
    });
    house.question().await;
    asked.abort();
    house.questions(0).await;

    // Nobody's answer is no answer.
    assert_eq!(queue.ask(hand_edit()).await, Answer::Cancel);
    assert!(queue.pending().is_empty());
}

#[tokio::test]
async fn a_tool_is_new_until_it_was_let_through_once() {
    let house = House::new().await;
    house.notes().await;
    let is_new = async |house: &House, answer: Answer| {
        let running = house.begin("add_note", r#"{"text":"milk"}"#);
        let question = house.question().await;
        house.answer(&question, answer).await.unwrap();
        running.ended().await;
        about(&question).warnings.contains(&Warning::FirstUse)
    };
    assert!(is_new(&house, no(None)).await);
    assert!(is_new(&house, once()).await, "a denial is no use");
    assert!(!is_new(&house, no(None)).await);
    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert!(!is_new(&house, no(None)).await, "the records know");
}
