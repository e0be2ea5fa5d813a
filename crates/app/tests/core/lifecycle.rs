//! From start to stop: what a new folder begins with, what a restart keeps, what a start refuses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::common::{TestHome, add, draft, run, server, servers, wait_until_state};
use gatehouse_app::{Core, CoreOptions, Owner, memory, open_vault};
use gatehouse_model::approval::AutoApprove;
use gatehouse_model::command::*;
use gatehouse_model::record::AuditVerdict;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ErrorCode, Secret};

#[tokio::test]
async fn new_folder_starts_with_time_and_notes() {
    let home = TestHome::new();
    let core = home.start().await;
    for name in ["Time", "Notes"] {
        let view = wait_until_state(&core, name, "connected").await;
        assert!(view.config.enabled && view.counts.tools > 0, "{view:?}");
    }
    assert_eq!(servers(&core).await.len(), 2);
    core.shutdown().await;
}

#[tokio::test]
async fn removed_servers_stay_removed() {
    let home = TestHome::new();
    let core = home.start().await;
    for name in ["Time", "Notes"] {
        run(&core, ServersRemove { server: name.into(), undoable: false }).await.unwrap();
    }
    core.shutdown().await;
    let core = home.start().await;
    assert!(servers(&core).await.is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn restart_keeps_servers_clients_and_grants() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.data_dir()).unwrap();
    let start = async || {
        let vault = open_vault(&home.data_dir(), &Secret::new("correct horse")).unwrap();
        Core::start(CoreOptions { secrets: vault, ..home.options() }).await.unwrap()
    };
    let core = start().await;
    add(&core, draft("Second notes", Builtin::Notes)).await.unwrap();
    wait_until_state(&core, "Notes", "connected").await;
    let minted = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let before = servers(&core).await;
    core.shutdown().await;

    let core = start().await;
    wait_until_state(&core, "Notes", "connected").await;
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
        matches!(run(&core, AuditVerify { run: None }).await.unwrap(), AuditVerdict::Whole { entries } if entries > 4)
    );
    core.shutdown().await;
}

#[tokio::test]
async fn memory_store_forgets_on_restart() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
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
async fn lost_seal_key_voids_grants() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.data_dir()).unwrap();
    let start = async || {
        let vault = open_vault(&home.data_dir(), &Secret::new("correct horse")).unwrap();
        Core::start(CoreOptions { secrets: vault, ..home.options() }).await.unwrap()
    };
    let core = start().await;
    wait_until_state(&core, "Notes", "connected").await;
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
    assert!(status.problems.iter().any(|p| p.message.to_string().contains("permissions")), "{status:?}");
    core.shutdown().await;
}

#[tokio::test]
async fn locks_data_folder_for_one_core() {
    let home = TestHome::new();
    let as_owner = |owner| CoreOptions { owner, ..home.options() };
    for first in [Owner::Window, Owner::Serve] {
        let core = Core::start(as_owner(first)).await.unwrap();
        for second in [Owner::Window, Owner::Serve] {
            let refused = Core::start(as_owner(second)).await.err().unwrap();
            assert_eq!(refused.code, ErrorCode::DataFolderInUse, "{first:?} {second:?}");
            assert!(refused.to_string().contains(first.as_str()), "it does not say who has it: {refused}");
        }
        run(&core, Status {}).await.unwrap();
        core.shutdown().await;
    }
}

#[tokio::test]
async fn rejects_used_port_and_non_loopback_address() {
    let home = TestHome::new();
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
async fn keeps_last_good_servers_when_file_is_broken() {
    let home = TestHome::new();
    home.start().await.shutdown().await;
    let broken = "{ this is not JSON";
    std::fs::write(home.servers_file(), broken).unwrap();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.problems.iter().any(|p| p.to_string().contains("servers.json")), "{status:?}");
    assert!(add(&core, draft("More", Builtin::Notes)).await.is_err());
    assert!(server(&core, "More").await.is_none());
    assert_eq!(std::fs::read_to_string(home.servers_file()).unwrap(), broken);
    core.shutdown().await;
}

#[tokio::test]
async fn pause_refuses_calls_until_resumed() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
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
