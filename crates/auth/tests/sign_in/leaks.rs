//! Nothing secret is written anywhere but in the store.

use std::io::Write;
use std::sync::{Arc, Mutex};

use gatehouse_auth::{Next, TokenSource as _};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::world::{World, parameter, sent_to, visit};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_log_event_error_or_debug_text_has_a_secret() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // For this thread, on which all tasks of this test run.
    let guard = tracing::subscriber::set_default(subscriber);
    let (secrets, mut text) = story().await;
    drop(guard);
    text.push_str(&String::from_utf8_lossy(&log.0.lock().unwrap()));
    assert!(text.contains("could not be renewed"), "nothing was logged");
    assert!(secrets.len() > 8);
    for secret in secrets {
        let found = text.lines().find(|line| line.contains(&secret));
        assert_eq!(found, None, "{secret}");
    }
}

/// Lives through everything; gives all secrets, and all that was told otherwise than by logs.
async fn story() -> (Vec<String>, String) {
    let world = World::new().await;
    world.issuer.switches().claims = json!({});
    world.issuer.switches().resource = json!({ "scopes_supported": ["openid"] });
    let told = Mutex::new(String::new());
    let tell = |what: &dyn std::fmt::Debug| told.lock().unwrap().push_str(&format!("{what:?}\n"));
    let address = world.begin().await;
    let state = parameter(&address, "state").unwrap();
    let back = sent_to(&address).await;
    tell(&world.sign_ins.paste(&world.server.id, &back.replace("callback", "other")));
    visit(&world.begin().await).await;
    tell(&world.settled().await);
    let old = world.bearer().await.unwrap();
    world.clock.forward(3400);
    let echo = world.issuer.grants("authorization_code")[0].field("code").to_owned();
    let answer = json!({ "error": "server_error", "error_description": echo });
    world.issuer.switches().token.push_back((503, answer));
    tell(&world.sign_ins.bearer(&world.server).await);
    let next = world.refused(Some(&old)).await;
    tell(&next);
    let Next::Again(new) = next else { panic!("{next:?}") };
    tell(&world.refused(Some(new.reveal())).await);
    // An error that repeats what it was sent.
    let back = sent_to(&world.begin().await).await;
    let code = parameter(&back, "code").unwrap();
    let echo = json!({ "error": "invalid_grant", "error_description": format!("no code {code} here") });
    world.issuer.switches().token.push_back((400, echo));
    world.sign_ins.paste(&world.server.id, &back).unwrap();
    tell(&world.settled().await);
    visit(&world.begin().await).await;
    tell(&world.settled().await);
    tell(&world.sign_ins.sign_out(Arc::clone(&world.server)).await);
    world.sign_ins.shutdown().await;
    for event in world.events.all.lock().unwrap().iter() {
        tell(event);
        tell(&serde_json::to_string(event).unwrap());
    }
    let mut secrets = world.issuer.secrets();
    secrets.push(state);
    (secrets, told.into_inner().unwrap())
}
