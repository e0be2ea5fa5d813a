//! From start to stop: what a new folder begins with, what a restart keeps, what a start refuses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::common::{Home, add, draft, run, server, servers, until_state};
use gatehouse_app::{Core, CoreOptions, Owner, memory, open_vault};
use gatehouse_model::ask::AutoApprove;
use gatehouse_model::command::*;
use gatehouse_model::record::AuditVerdict;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ErrorCode, Secret};

#[tokio::test]
async fn a_new_folder_begins_with_time_and_notes() {
    let home = Home::new();
    let core = home.start().await;
    for name in ["Time", "Notes"] {
        let view = until_state(&core, name, "connected").await;
        assert!(view.config.enabled && view.counts.tools > 0, "{view:?}");
    }
    assert_eq!(servers(&core).await.len(), 2);
    core.shutdown().await;
}

#[tokio::test]
async fn what_was_removed_does_not_come_back() {
    let home = Home::new();
    let core = home.start().await;
    for name in ["Time", "Notes"] {
        run(&core, ServersRemove { server: name.into() }).await.unwrap();
    }
    core.shutdown().await;
    let core = home.start().await;
    assert!(servers(&core).await.is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn a_restart_with_a_vault_keeps_servers_clients_and_grants() {
    let home = Home::new();
    std::fs::create_dir_all(home.data_dir()).unwrap();
    let start = async || {
        let vault = open_vault(&home.data_dir(), &Secret::new("correct horse")).unwrap();
        Core::start(CoreOptions { secrets: vault, ..home.options() }).await.unwrap()
    };
    let core = start().await;
    add(&core, draft("Second notes", Builtin::Notes)).await.unwrap();
    until_state(&core, "Notes", "connected").await;
    let minted = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let before = servers(&core).await;
    core.shutdown().await;

    let core = start().await;
    until_state(&core, "Notes", "connected").await;
    let after = servers(&core).await;
    let ids = |views: &[gatehouse_model::server::ServerView]| {
        views.iter().map(|view| view.config.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&before), ids(&after));
    let clients = run(&core, ClientsList {}).await.unwrap();
    assert_eq!(clients.iter().map(|c| &c.name).collect::<Vec<_>>(), ["Claude"]);
    let policy = run(&core, PolicyShow {}).await.unwrap();
    assert!(policy.verified && !policy.rules.is_empty(), "{policy:?}");
    // The token and the grant together let a call through, unasked.
    let call = Call { token: minted.token, tool: "add_note".into(), arguments: r#"{"text":"kept"}"#.into() };
    let reply = run(&core, call).await.unwrap();
    assert!(!reply.is_rpc_error && !reply.is_tool_error, "{reply:?}");
    assert!(
        matches!(run(&core, AuditVerify {}).await.unwrap(), AuditVerdict::Whole { entries } if entries > 4)
    );
    core.shutdown().await;
}

#[tokio::test]
async fn what_memory_kept_is_gone_with_it() {
    let home = Home::new();
    let core = home.start().await;
    until_state(&core, "Notes", "connected").await;
    run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    core.shutdown().await;
    let core = Core::start(CoreOptions { secrets: memory(), ..home.options() }).await.unwrap();
    assert!(run(&core, PolicyShow {}).await.unwrap().rules.is_empty());
    assert!(run(&core, ClientsList {}).await.unwrap().is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn without_the_key_of_its_seal_nothing_that_was_allowed_counts() {
    let home = Home::new();
    std::fs::create_dir_all(home.data_dir()).unwrap();
    let start = async || {
        let vault = open_vault(&home.data_dir(), &Secret::new("correct horse")).unwrap();
        Core::start(CoreOptions { secrets: vault, ..home.options() }).await.unwrap()
    };
    let core = start().await;
    until_state(&core, "Notes", "connected").await;
    run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    core.shutdown().await;
    for entry in std::fs::read_dir(home.data_dir()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().contains("vault") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let core = start().await;
    let policy = run(&core, PolicyShow {}).await.unwrap();
    assert!(!policy.verified && policy.rules.is_empty(), "{policy:?}");
    assert!(run(&core, ClientsList {}).await.unwrap().is_empty());
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.problems.iter().any(|p| p.what.contains("rights")), "{status:?}");
    core.shutdown().await;
}

#[tokio::test]
async fn one_folder_has_one_core_whoever_answers_it() {
    let home = Home::new();
    let as_owner = |owner| CoreOptions { owner, ..home.options() };
    for first in [Owner::Window, Owner::Serve] {
        let core = Core::start(as_owner(first)).await.unwrap();
        for second in [Owner::Window, Owner::Serve] {
            let refused = Core::start(as_owner(second)).await.err().unwrap();
            assert_eq!(refused.code, ErrorCode::DataFolderInUse, "{first:?} {second:?}");
            assert!(refused.to_string().contains(first.word()), "it does not say who has it: {refused}");
        }
        run(&core, Status {}).await.unwrap();
        core.shutdown().await;
    }
}

#[tokio::test]
async fn a_port_in_use_and_a_foreign_address_are_refused_and_leave_nothing_behind() {
    let home = Home::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listen = taken.local_addr().unwrap();
    let refused = Core::start(CoreOptions { listen, ..home.options() }).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::PortInUse);
    assert!(refused.to_string().contains(&listen.to_string()), "{refused}");

    let listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let refused = Core::start(CoreOptions { listen, ..home.options() }).await.err().unwrap();
    assert!(refused.to_string().contains("loopback"), "{refused}");

    // The folder is free again.
    home.start().await.shutdown().await;
}

#[tokio::test]
async fn a_broken_file_is_left_alone_and_the_last_good_servers_run() {
    let home = Home::new();
    home.start().await.shutdown().await;
    let broken = "{ this is not JSON";
    std::fs::write(home.servers_file(), broken).unwrap();
    let core = home.start().await;
    until_state(&core, "Time", "connected").await;
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.problems.iter().any(|p| p.to_string().contains("servers.json")), "{status:?}");
    assert!(add(&core, draft("More", Builtin::Notes)).await.is_err());
    assert!(server(&core, "More").await.is_none());
    assert_eq!(std::fs::read_to_string(home.servers_file()).unwrap(), broken);
    core.shutdown().await;
}

#[tokio::test]
async fn a_pause_is_refused_work_until_it_is_resumed() {
    let home = Home::new();
    let core = home.start().await;
    until_state(&core, "Notes", "connected").await;
    let minted = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let call = async || {
        run(
            &core,
            Call {
                token: minted.token.clone(),
                tool: "add_note".into(),
                arguments: r#"{"text":"x"}"#.into(),
            },
        )
        .await
        .unwrap()
    };
    assert!(!call().await.is_tool_error);
    run(&core, Pause {}).await.unwrap();
    assert!(run(&core, Status {}).await.unwrap().paused);
    assert!(call().await.is_tool_error);
    run(&core, Resume {}).await.unwrap();
    assert!(!run(&core, Status {}).await.unwrap().paused);
    assert!(!call().await.is_tool_error);
    core.shutdown().await;
}
