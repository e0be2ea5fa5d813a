//! Nothing secret is written anywhere but in the store.

use std::io::Write;
use std::sync::{Arc, Mutex};

use gatehouse_auth::{AuthRecovery, TokenSource as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::fmt::MakeWriter;

use crate::test_env::{TestEnv, follow_to_callback, parameter, visit};

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogBuffer {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn logs_events_and_errors_contain_no_secrets() {
    let log = LogBuffer::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // For this thread, on which all tasks of this test run.
    let guard = tracing::subscriber::set_default(subscriber);
    let (secrets, mut text) = exercise_everything().await;
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
async fn exercise_everything() -> (Vec<String>, String) {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().claims = json!({});
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["openid"] });
    let output = Mutex::new(String::new());
    let record = |what: &dyn std::fmt::Debug| output.lock().unwrap().push_str(&format!("{what:?}\n"));
    let address = test_env.begin().await;
    let state = parameter(&address, "state").unwrap();
    let back = follow_to_callback(&address).await;
    record(&test_env.sign_ins.paste(&test_env.server.id, &back.replace("callback", "other")));
    visit(&test_env.begin().await).await;
    record(&test_env.wait_until_settled().await);
    let old = test_env.bearer().await.unwrap();
    test_env.clock.forward(3400);
    let echo = test_env.issuer.grants("authorization_code")[0].field("code").to_owned();
    let answer = json!({ "error": "server_error", "error_description": echo });
    test_env.issuer.behavior().token.push_back((503, answer));
    record(&test_env.sign_ins.bearer(&test_env.server).await);
    let next = test_env.recover(Some(&old)).await;
    record(&next);
    let AuthRecovery::Retry(new) = next else { panic!("{next:?}") };
    record(&test_env.recover(Some(new.reveal())).await);
    // An error that repeats what it was sent.
    let back = follow_to_callback(&test_env.begin().await).await;
    let code = parameter(&back, "code").unwrap();
    let echo = json!({ "error": "invalid_grant", "error_description": format!("no code {code} here") });
    test_env.issuer.behavior().token.push_back((400, echo));
    test_env.sign_ins.paste(&test_env.server.id, &back).unwrap();
    record(&test_env.wait_until_settled().await);
    visit(&test_env.begin().await).await;
    record(&test_env.wait_until_settled().await);
    record(&test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await);
    test_env.sign_ins.shutdown().await;
    for event in test_env.events.all.lock().unwrap().iter() {
        record(event);
        record(&serde_json::to_string(event).unwrap());
    }
    let mut secrets = test_env.issuer.secrets();
    secrets.push(state);
    (secrets, output.into_inner().unwrap())
}
