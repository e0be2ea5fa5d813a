//! Edits by hand are noticed, our own writes are not (DATA-1).

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::place::Place;

const SOON: Duration = Duration::from_secs(20);

#[test]
fn an_edit_by_somebody_else_is_told_and_our_own_is_not() {
    let place = Place::new();
    let store = place.open();
    store.servers().load();
    let (tell, told) = channel();
    let guard = store.servers().watch(Box::new(move || tell.send(()).unwrap())).unwrap();

    store.servers().save(&[]).unwrap();
    std::fs::write(place.path("servers.json"), "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}").unwrap();
    told.recv_timeout(SOON).unwrap();
    assert_eq!(store.servers().load().unconfirmed.len(), 1);

    // As editors do: a new file in the place of the old one.
    std::fs::write(place.path("servers.json.tmp"), "{\"mcpServers\":{}}").unwrap();
    std::fs::rename(place.path("servers.json.tmp"), place.path("servers.json")).unwrap();
    told.recv_timeout(SOON).unwrap();
    std::fs::remove_file(place.path("servers.json")).unwrap();
    told.recv_timeout(SOON).unwrap();

    // Our own write is settled by the time that a later edit by hand is told, once.
    store.servers().save(&[]).unwrap();
    std::fs::write(place.path("servers.json"), "{}").unwrap();
    told.recv_timeout(SOON).unwrap();
    drop(guard);
    assert_eq!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn an_edit_between_loading_and_watching_is_told() {
    let place = Place::new();
    let store = place.open();
    store.servers().load();
    std::fs::write(place.path("servers.json"), "{}").unwrap();
    let (tell, told) = channel();
    let _guard = store.servers().watch(Box::new(move || tell.send(()).unwrap())).unwrap();
    told.recv_timeout(SOON).unwrap();
}

#[test]
fn without_an_edit_nothing_is_told() {
    let place = Place::new();
    let store = place.open();
    store.servers().save(&[]).unwrap();
    let (tell, told) = channel();
    let guard = store.servers().watch(Box::new(move || tell.send(()).unwrap())).unwrap();
    // A touch without a change, and other files of the folder.
    let text = std::fs::read(place.path("servers.json")).unwrap();
    std::fs::write(place.path("servers.json"), text).unwrap();
    std::fs::write(place.path("other.json"), "{}").unwrap();
    drop(guard);
    assert_eq!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
}
