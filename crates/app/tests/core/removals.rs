//! Undoing removals (UI-12): what was removed comes back with its secrets and permissions, and only that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{
    LockableSecrets, TestHome, add, draft, run, server, servers, wait_until, wait_until_state,
};
use gatehouse_app::{Core, StreamEvent};
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::*;
use gatehouse_model::grant::{AccessClass, PolicyView};
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::{
    ErrorCode, Event, GrantChoice, ProfileSettings, RemovalId, Secret, ServerId, ServerStatus, Transport,
    UserError,
};

async fn remove(core: &Core, name: &str) -> RemovalId {
    let wanted = ServersRemove { server: name.into(), undoable: true };
    run(core, wanted).await.unwrap().unwrap().id
}

async fn undo(core: &Core, removal: &RemovalId) -> Result<(), UserError> {
    run(core, RemovalsUndo { removal: Some(removal.clone()) }).await
}

async fn stop(core: &Core, name: &str) {
    run(core, ServersStop { server: name.into(), disable: false }).await.unwrap();
}

async fn names(core: &Core) -> Vec<String> {
    servers(core).await.into_iter().map(|view| view.config.name).collect()
}

/// A server that only starts when something needs it.
fn by_hand(name: &str) -> ServerDraft {
    ServerDraft { autostart: false, ..draft(name, Builtin::Time) }
}

/// A server that is off and has a secret.
async fn add_with_secret(core: &Core) {
    let env = BTreeMap::from([("KEY".to_owned(), "${secret:key}".to_owned())]);
    let transport =
        Transport::Stdio { command: "x".into(), args: vec![], env, cwd: None, streams: Default::default() };
    let draft = ServerDraft { transport, enabled: false, ..draft("With secret", Builtin::Time) };
    let secret = FieldSecret { field: "env/KEY".into(), value: RequestSecret::new(&Secret::new("s3cret")) };
    run(core, ServersAdd { draft, trust_labels: false, secrets: vec![secret], run: None }).await.unwrap();
}

#[tokio::test]
async fn undo_restores_server_with_permissions() {
    let home = TestHome::new();
    let core = home.start().await;
    let before = wait_until_state(&core, "Notes", "connected").await;
    let to_all = PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All };
    run(&core, to_all).await.unwrap();
    run(&core, ServersTrustLabels { server: "Notes".into(), trusted: true, generation: None }).await.unwrap();
    let class = Some(AccessClass::Read);
    let classify = ToolsClassify { server: "Notes".into(), tool: "add_note".into(), class };
    run(&core, classify).await.unwrap();
    let policy = run(&core, PolicyShow {}).await.unwrap();

    let removal = remove(&core, "Notes").await;
    assert!(server(&core, "Notes").await.is_none());
    let without = run(&core, PolicyShow {}).await.unwrap();
    assert!(without.rules.is_empty() && without.trusted_labels.is_empty(), "{without:?}");

    undo(&core, &removal).await.unwrap();
    let after = wait_until_state(&core, "Notes", "connected").await;
    assert_eq!(after.config, before.config);
    let restored = run(&core, PolicyShow {}).await.unwrap();
    let rules = |view: &PolicyView| view.rules.iter().map(|view| view.rule.clone()).collect::<Vec<_>>();
    assert_eq!(rules(&restored), rules(&policy));
    assert_eq!(restored.overrides, policy.overrides);
    assert_eq!(restored.trusted_labels, policy.trusted_labels);

    let again = undo(&core, &removal).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound, "it is undone once");
    core.shutdown().await;
}

#[tokio::test]
async fn undo_restores_place_in_list() {
    let home = TestHome::new();
    let core = home.start().await;
    for name in ["A", "B"] {
        add(&core, by_hand(name)).await.unwrap();
    }
    let before = names(&core).await;
    assert_eq!(before, ["Time", "Notes", "A", "B"]);
    for first in &before {
        for second in before.iter().filter(|second| *second != first) {
            for is_last_undone_first in [true, false] {
                let mut removals = [remove(&core, first).await, remove(&core, second).await];
                if is_last_undone_first {
                    removals.reverse();
                }
                for removal in &removals {
                    undo(&core, removal).await.unwrap();
                }
                assert_eq!(names(&core).await, before, "{first}, {second}, {is_last_undone_first}");
            }
        }
    }

    // Its neighbours are gone for good, and there is another server.
    let removal = remove(&core, "A").await;
    for gone in ["Notes", "B"] {
        run(&core, ServersRemove { server: gone.into(), undoable: false }).await.unwrap();
    }
    add(&core, by_hand("New")).await.unwrap();
    undo(&core, &removal).await.unwrap();
    assert_eq!(names(&core).await, ["Time", "A", "New"]);
    core.shutdown().await;
    let core = home.start().await;
    assert_eq!(names(&core).await, ["Time", "A", "New"], "the stored list is another");
    core.shutdown().await;
}

/// The statuses of a server from here on until it is removed, which is done here.
async fn statuses_until_removed(core: &Core, name: &str, work: impl AsyncFnOnce()) -> Vec<&'static str> {
    let mut events = core.events();
    work().await;
    let id: ServerId = server(core, name).await.unwrap().config.id;
    // Answered when the server has handled everything that came before.
    stop(core, name).await;
    run(core, ServersRemove { server: name.into(), undoable: false }).await.unwrap();
    let mut statuses = Vec::new();
    loop {
        let Some(StreamEvent::Event(envelope)) = events.next().await else { panic!("events were missed") };
        match &envelope.event {
            Event::StatusChanged { server, status, .. } if *server == id => statuses.push(status.as_str()),
            Event::ServerRemoved { server, .. } if *server == id => return statuses,
            _ => {}
        }
    }
}

#[tokio::test]
async fn undo_starts_only_server_that_ran() {
    let home = TestHome::new();
    let core = home.start().await;

    // Stopped by the user.
    wait_until_state(&core, "Notes", "connected").await;
    stop(&core, "Notes").await;
    let removal = remove(&core, "Notes").await;
    let statuses = statuses_until_removed(&core, "Notes", async || {
        undo(&core, &removal).await.unwrap();
        assert_eq!(server(&core, "Notes").await.unwrap().status, ServerStatus::Stopped);
    });
    let statuses = statuses.await;
    assert!(statuses.iter().all(|status| *status == "stopped"), "{statuses:?}");

    // Running, though it doesn't start by itself.
    add(&core, by_hand("Clock")).await.unwrap();
    run(&core, ServersStart { server: "Clock".into() }).await.unwrap();
    wait_until_state(&core, "Clock", "connected").await;
    undo(&core, &remove(&core, "Clock").await).await.unwrap();
    wait_until_state(&core, "Clock", "connected").await;

    // Off.
    add(&core, ServerDraft { enabled: false, ..draft("Off", Builtin::Time) }).await.unwrap();
    undo(&core, &remove(&core, "Off").await).await.unwrap();
    assert_eq!(server(&core, "Off").await.unwrap().status, ServerStatus::Disabled);
    core.shutdown().await;
}

#[tokio::test]
async fn undo_restores_known_lists() {
    let home = TestHome::with_secrets(Arc::new(LockableSecrets::default()));
    let core = home.start().await;
    add(&core, by_hand("Clock")).await.unwrap();
    run(&core, ServersStart { server: "Clock".into() }).await.unwrap();
    wait_until_state(&core, "Clock", "connected").await;
    let to_all = PolicyAutoApprove { server: Some("Clock".into()), client: None, to: AutoApprove::All };
    run(&core, to_all).await.unwrap();
    stop(&core, "Clock").await;
    let tools = async |core: &Core| run(core, ToolsList { server: Some("Clock".into()) }).await.unwrap();
    let counts = async |core: &Core| server(core, "Clock").await.unwrap().counts;
    let (tools_before, counts_before) = (tools(&core).await, counts(&core).await);
    assert!(!tools_before.is_empty() && tools_before.iter().all(|tool| tool.approved_versions == 1));

    let stored = home.data_dir().join("known-lists/serve");
    let await_stored = async |number: usize| {
        let is_number = async || (std::fs::read_dir(&stored).ok()?.count() == number).then_some(());
        wait_until(&core, &format!("the lists of {number} servers to be stored"), is_number).await;
    };
    await_stored(3).await;
    let removal = remove(&core, "Clock").await;
    await_stored(2).await;
    undo(&core, &removal).await.unwrap();
    assert_eq!(server(&core, "Clock").await.unwrap().status, ServerStatus::Stopped);
    assert_eq!(tools(&core).await, tools_before, "with the same definitions and approvals");
    assert_eq!(counts(&core).await, counts_before);
    core.shutdown().await;
    let core = home.start().await;
    assert_eq!(tools(&core).await, tools_before, "the lists were not stored again");
    core.shutdown().await;
}

#[tokio::test]
async fn removal_keeps_secrets_until_it_is_complete() {
    let secrets = Arc::new(LockableSecrets::default());
    let home = TestHome::with_secrets(Arc::<LockableSecrets>::clone(&secrets));
    let core = home.start().await;
    // The seal of a file stays when there is nothing left in it.
    let names =
        || secrets.names().into_iter().filter(|name| !name.starts_with("seal|")).collect::<BTreeSet<_>>();
    let without = names();
    add_with_secret(&core).await;
    let with = names();
    assert_ne!(with, without);

    let removal = remove(&core, "With secret").await;
    assert_eq!(names(), with);
    undo(&core, &removal).await.unwrap();
    assert!(server(&core, "With secret").await.is_some());
    assert_eq!(names(), with);

    // Without an undo there is nothing to wait for.
    run(&core, ServersRemove { server: "With secret".into(), undoable: false }).await.unwrap();
    assert_eq!(names(), without);

    add_with_secret(&core).await;
    remove(&core, "With secret").await;
    core.shutdown().await;
    assert_eq!(names(), without, "quitting completes the removal");
    let core = home.start().await;
    assert!(server(&core, "With secret").await.is_none());
    let late = run(&core, RemovalsUndo { removal: None }).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::NotFound);
    core.shutdown().await;
}

#[tokio::test]
async fn undo_waits_until_the_name_is_free() {
    let home = TestHome::new();
    let core = home.start().await;
    let removal = remove(&core, "Notes").await;
    add(&core, draft("Notes", Builtin::Time)).await.unwrap();
    assert_eq!(undo(&core, &removal).await.unwrap_err().code, ErrorCode::NameTaken);
    run(&core, ServersRemove { server: "Notes".into(), undoable: false }).await.unwrap();
    undo(&core, &removal).await.unwrap();
    assert!(server(&core, "Notes").await.is_some());
    core.shutdown().await;
}

#[tokio::test]
async fn undo_restores_rules_that_still_hold() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    let rules = async || run(&core, PolicyShow {}).await.unwrap().rules;
    for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit] {
        let choice =
            GrantChoice { lifetime, width: ChoiceScope::Server, every_client: true, conditions: Vec::new() };
        let grant = PolicyGrant { server: "Notes".into(), tool: None, client: None, choice };
        run(&core, grant).await.unwrap();
        let rule = rules().await.remove(0).rule;
        let removal = run(&core, PolicyRevoke { rule: rule.id.clone() }).await.unwrap().unwrap();
        assert!(rules().await.is_empty());
        undo(&core, &removal.id).await.unwrap();
        assert_eq!(rules().await.remove(0).rule, rule);

        // A pause ends what was allowed for a while, also what was revoked before.
        let removal = run(&core, PolicyRevoke { rule: rule.id.clone() }).await.unwrap().unwrap();
        run(&core, Pause {}).await.unwrap();
        run(&core, Resume {}).await.unwrap();
        undo(&core, &removal.id).await.unwrap();
        assert_eq!(rules().await.len(), usize::from(lifetime == ChoiceLifetime::Always));
        for view in rules().await {
            run(&core, PolicyRevoke { rule: view.rule.id }).await.unwrap();
        }
    }
    core.shutdown().await;
}

#[tokio::test]
async fn undo_restores_profile_under_its_id() {
    let home = TestHome::new();
    let core = home.start().await;
    let settings = ProfileSettings { name: "Work".into(), ..ProfileSettings::default() };
    let profile = run(&core, ProfilesAdd { settings }).await.unwrap().profile;
    run(&core, ProfilesRemove { profile: "Work".into() }).await.unwrap();
    assert!(run(&core, ProfilesList {}).await.unwrap().is_empty());
    run(&core, RemovalsUndo { removal: None }).await.unwrap();
    assert_eq!(run(&core, ProfilesList {}).await.unwrap().remove(0).profile, profile);
    core.shutdown().await;
}
