//! Edits by hand are noticed, our own writes are not (DATA-1).

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::fixture::StoreFixture;

const SOON: Duration = Duration::from_secs(20);

#[test]
fn notifies_of_external_edits_only() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.servers().load();
    let (tell, told) = channel();
    let guard = store.servers().watch(Box::new(move || tell.send(()).unwrap())).unwrap();

    store.servers().save(&[]).unwrap();
    std::fs::write(fixture.path("servers.json"), "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}").unwrap();
    told.recv_timeout(SOON).unwrap();
    assert_eq!(store.servers().load().unconfirmed.len(), 1);

    // As editors do: a new file in the place of the old one.
    std::fs::write(fixture.path("servers.json.tmp"), "{\"mcpServers\":{}}").unwrap();
    std::fs::rename(fixture.path("servers.json.tmp"), fixture.path("servers.json")).unwrap();
    told.recv_timeout(SOON).unwrap();
    std::fs::remove_file(fixture.path("servers.json")).unwrap();
    told.recv_timeout(SOON).unwrap();

    // Our own write is settled by the time that a later edit by hand is told, once.
    store.servers().save(&[]).unwrap();
    std::fs::write(fixture.path("servers.json"), "{}").unwrap();
    told.recv_timeout(SOON).unwrap();
    drop(guard);
    assert_eq!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn notifies_of_edit_before_watch_started() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.servers().load();
    std::fs::write(fixture.path("servers.json"), "{}").unwrap();
    let (tell, told) = channel();
    let _guard = store.servers().watch(Box::new(move || tell.send(()).unwrap())).unwrap();
    told.recv_timeout(SOON).unwrap();
}
