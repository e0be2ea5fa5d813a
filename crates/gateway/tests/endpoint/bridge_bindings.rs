//! The credential of a bridge: it counts for its client and its time, and what presents one that doesn't count is refused.

use gatehouse_gateway::BINDING_LIFETIME;
use gatehouse_tools::Narrowing;

use crate::fixture::Fixture;

const HEADER: &str = "gatehouse-binding";

#[tokio::test]
async fn credential_counts_for_its_client_until_it_expires() {
    let fixture = Fixture::start().await;
    let (other, _) = fixture.registry.add("Other").await.unwrap();
    let bind = |client| fixture.registry.bind_bridge(client, Narrowing::default(), None).unwrap();
    let (own, foreign) = (bind(&fixture.entry.id), bind(&other.id));
    let status = async |credential: &str| {
        let request = fixture.stateless_request("1", "tools/list", "{}").header(HEADER, credential);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(own.reveal()).await, 200);
    for invalid in [foreign.reveal(), "", "forged"] {
        assert_eq!(status(invalid).await, 401, "{invalid}");
    }
    let twice = fixture.stateless_request("1", "tools/list", "{}").header(HEADER, own.reveal());
    let twice = twice.header(HEADER, own.reveal()).send().await.unwrap();
    assert_eq!(twice.status(), 401);
    fixture.clock.advance(BINDING_LIFETIME);
    assert_eq!(status(own.reveal()).await, 401, "expired");
    assert_eq!(status(bind(&fixture.entry.id).reveal()).await, 200, "a new one");
    let without = fixture.stateless_request("1", "tools/list", "{}").send().await.unwrap();
    assert_eq!(without.status(), 200, "the client's own view");
}

#[tokio::test]
async fn session_is_found_only_with_the_binding_that_opened_it() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let folder = Some(std::path::Path::new("/work").into());
    let narrowing = Narrowing { folder, ..Narrowing::default() };
    let bound = fixture.registry.bind_bridge(&fixture.entry.id, narrowing, None).unwrap();
    let ping = || fixture.session_request(&session, "1", "ping", "{}");
    assert_eq!(ping().send().await.unwrap().status(), 200);
    assert_eq!(ping().header(HEADER, bound.reveal()).send().await.unwrap().status(), 404);
    let stream = fixture.stream(&session).header(HEADER, bound.reveal());
    assert_eq!(stream.send().await.unwrap().status(), 404);
    // A credential of no folder and no profile narrows nothing.
    let plain = fixture.registry.bind_bridge(&fixture.entry.id, Narrowing::default(), None).unwrap();
    assert_eq!(ping().header(HEADER, plain.reveal()).send().await.unwrap().status(), 200);
}
