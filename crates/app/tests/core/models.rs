//! Model providers: what is stored of them and where, what becomes of keys, and who sees any of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{LockableSecrets, TestHome, run};
use gatehouse_app::{Authority, Core, CoreOptions, OperatorKey};
use gatehouse_model::command::*;
use gatehouse_model::provider::{ModelChoice, ProviderApi, ProviderDraft, ProviderView};
use gatehouse_model::record::{AuditEvent, ModelProviderChange};
use gatehouse_model::{ErrorCode, Secret, UserError};

const KEY: &str = "sk-very-telling-0123456789";
const ADDRESS: &str = "http://127.0.0.1:9/v1";

fn draft(name: &str, base_url: &str) -> ProviderDraft {
    ProviderDraft {
        name: name.into(),
        api: ProviderApi::OpenAiChat,
        base_url: base_url.into(),
        default_model: None,
    }
}

fn key(text: &str) -> Option<RequestSecret> {
    Some(RequestSecret::new(&Secret::new(text)))
}

async fn add(core: &Core, name: &str, with_key: Option<&str>) -> Result<ProviderView, UserError> {
    run(core, ModelsAddProvider { draft: draft(name, ADDRESS), key: with_key.and_then(key) }).await
}

async fn set(
    core: &Core,
    of: &ProviderView,
    base_url: &str,
    with_key: Option<&str>,
) -> Result<ProviderView, UserError> {
    let draft = draft(&of.name, base_url);
    run(core, ModelsSetProvider { provider: of.id.clone(), draft, key: with_key.and_then(key) }).await
}

fn keychain() -> (Arc<LockableSecrets>, TestHome) {
    let secrets = Arc::new(LockableSecrets::default());
    let home = TestHome::with_secrets(Arc::<LockableSecrets>::clone(&secrets));
    (secrets, home)
}

/// The names of the keys of providers that are stored.
fn stored_keys(secrets: &LockableSecrets) -> Vec<String> {
    secrets.names().into_iter().filter(|name| name.starts_with("model-provider|")).collect()
}

fn assert_nowhere_in(folder: &Path, text: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nowhere_in(&path, text);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "the key is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_key_is_in_the_secret_store_and_nowhere_else() {
    let (secrets, home) = keychain();
    let core = home.start().await;
    let added = add(&core, "Local", Some(KEY)).await.unwrap();
    assert!(added.has_key);
    assert_eq!(stored_keys(&secrets), [format!("model-provider|{}|{ADDRESS}", added.id)]);

    let other = set(&core, &added, "http://127.0.0.1:10/v1", Some("sk-other-telling-42")).await.unwrap();
    let shown = run(&core, ModelsShow {}).await.unwrap();
    let events = run(&core, EventsList {}).await.unwrap();
    let audit = run(&core, AuditList { after: None, limit: None }).await.unwrap();
    let exported = run(&core, ConfigurationExport { save: false }).await.unwrap();
    let all = serde_json::to_string(&(&other, &shown, &events, &audit, &exported)).unwrap();
    assert!(!all.contains("telling"), "{all}");
    assert!(all.contains("models_changed") && exported.text.contains("http://127.0.0.1:10/v1"), "{all}");
    let changes = audit.iter().filter_map(|entry| match &entry.event {
        AuditEvent::ModelProviderChanged { change, has_key, .. } => Some((*change, *has_key)),
        _ => None,
    });
    let changes: Vec<_> = changes.collect();
    assert_eq!(changes, [(ModelProviderChange::Added, true), (ModelProviderChange::Edited, true)]);

    core.shutdown().await;
    assert_nowhere_in(&home.data_dir(), "telling");
    let core = home.start().await;
    assert_eq!(run(&core, ModelsShow {}).await.unwrap(), shown);
    core.shutdown().await;
}

/// A key serves the address that it was entered for. It goes with the address, with the provider, and when it is emptied.
#[tokio::test]
async fn a_key_goes_with_its_address() {
    let (secrets, home) = keychain();
    let core = home.start().await;
    let provider = add(&core, "Local", Some(KEY)).await.unwrap();

    // Written otherwise, it is the same address.
    assert!(set(&core, &provider, &format!(" {ADDRESS}/ "), None).await.unwrap().has_key);
    let moved = set(&core, &provider, "http://127.0.0.1:10/v1", None).await.unwrap();
    assert!(!moved.has_key && stored_keys(&secrets).is_empty());
    // The old address does not bring it back.
    assert!(!set(&core, &provider, ADDRESS, None).await.unwrap().has_key);

    assert!(set(&core, &provider, ADDRESS, Some(KEY)).await.unwrap().has_key);
    assert!(!set(&core, &provider, ADDRESS, Some("")).await.unwrap().has_key);
    assert!(stored_keys(&secrets).is_empty());

    set(&core, &provider, ADDRESS, Some(KEY)).await.unwrap();
    let opinion = Some(ModelChoice { provider: provider.id.clone(), model: "m-1".into() });
    run(&core, ModelsAssign { sampling: None, opinion }).await.unwrap();
    run(&core, ModelsRemoveProvider { provider: provider.id.clone() }).await.unwrap();
    assert!(stored_keys(&secrets).is_empty());
    assert_eq!(run(&core, ModelsShow {}).await.unwrap(), Default::default());
    let gone = run(&core, ModelsList { provider: provider.id, run: None }).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
    core.shutdown().await;
}

/// A locked keychain refuses a change as a whole.
#[tokio::test]
async fn nothing_changes_while_the_keychain_is_locked() {
    let (secrets, home) = keychain();
    let core = home.start().await;
    let provider = add(&core, "Local", Some(KEY)).await.unwrap();
    let before = run(&core, ModelsShow {}).await.unwrap();
    secrets.set_locked(true);
    assert_eq!(add(&core, "Other", Some(KEY)).await.unwrap_err().code, ErrorCode::SecretsUnavailable);
    let moved = set(&core, &provider, "http://127.0.0.1:10/v1", None).await.unwrap_err();
    assert_eq!(moved.code, ErrorCode::SecretsUnavailable);
    let unlisted = run(&core, ModelsList { provider: provider.id.clone(), run: None }).await.unwrap_err();
    assert_eq!(unlisted.code, ErrorCode::SecretsUnavailable);
    secrets.set_locked(false);
    assert_eq!(run(&core, ModelsShow {}).await.unwrap(), before);
    assert_eq!(stored_keys(&secrets).len(), 1);
    core.shutdown().await;
}

#[tokio::test]
async fn refuses_drafts_that_cannot_be_used() {
    let home = TestHome::new();
    let core = home.start().await;
    let provider = add(&core, "Local", None).await.unwrap();
    let long = "x".repeat(300);
    for (name, base_url, model, with_key, said) in [
        ("", ADDRESS, None, None, "error.app.badProviderName"),
        ("a\u{202e}b", ADDRESS, None, None, "error.app.badProviderName"),
        (" LOCAL ", ADDRESS, None, None, "error.app.providerNameTaken"),
        ("Other", "http://models.example/v1", None, None, "error.models.badAddress"),
        ("Other", "ftp://127.0.0.1", None, None, "error.models.badAddress"),
        ("Other", "https://user:password@models.example", None, None, "error.models.badAddress"),
        ("Other", ADDRESS, Some(long.as_str()), None, "error.app.badModelId"),
        ("Other", ADDRESS, Some("a\nb"), None, "error.app.badModelId"),
        ("Other", ADDRESS, None, Some("two words"), "error.app.badProviderKey"),
        ("Other", ADDRESS, None, Some("line\r\nX-Other: 1"), "error.app.badProviderKey"),
    ] {
        let draft = ProviderDraft { default_model: model.map(str::to_owned), ..draft(name, base_url) };
        let refused = run(&core, ModelsAddProvider { draft, key: with_key.and_then(key) }).await.unwrap_err();
        let text = serde_json::to_string(&refused).unwrap();
        assert!(text.contains(&format!("\"{said}\"")), "{name} {base_url} {model:?}: {text}");
    }
    let unknown = Some(ModelChoice { provider: "mdl-0".into(), model: "m".into() });
    let refused = run(&core, ModelsAssign { sampling: unknown, opinion: None }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert_eq!(run(&core, ModelsShow {}).await.unwrap().providers, [provider]);
    core.shutdown().await;
}

/// Who edits the record by hand, so that a key or the arguments of calls would go elsewhere, ends up with no provider.
#[tokio::test]
async fn an_edited_record_is_not_believed() {
    let home = TestHome::new();
    let core = home.start().await;
    let provider = add(&core, "Local", Some(KEY)).await.unwrap();
    let opinion = Some(ModelChoice { provider: provider.id.clone(), model: "m-1".into() });
    run(&core, ModelsAssign { sampling: None, opinion }).await.unwrap();
    core.shutdown().await;
    let ledger = rusqlite::Connection::open(home.data_dir().join("ledger.db")).unwrap();
    let edited = ledger
        .execute(
            "UPDATE sealed SET body = CAST(replace(body, '127.0.0.1:9', '127.0.0.1:6') AS BLOB)
             WHERE name LIKE 'models/%'",
            [],
        )
        .unwrap();
    assert_eq!(edited, 1);
    drop(ledger);

    let core = home.start().await;
    let problem = run(&core, ModelsShow {}).await.unwrap_err();
    assert!(problem.message.to_string().contains("can't be verified"), "{problem}");
    assert!(run(&core, ModelsList { provider: provider.id.clone(), run: None }).await.is_err());
    let opinion = ApprovalsOpinion { id: "ask-1".into(), hash: "x".into() };
    assert!(run(&core, opinion).await.is_err());
    // Nothing of it comes back with a new provider.
    let fresh = add(&core, "Local", None).await.unwrap();
    let shown = run(&core, ModelsShow {}).await.unwrap();
    assert_eq!((shown.providers, shown.opinion), (vec![fresh], None));
    core.shutdown().await;
}

/// Whoever takes over with a new operator key neither spends on the keys of the one before nor is listened to by models
/// that the one before chose.
#[tokio::test]
async fn a_replaced_operator_key_takes_the_keys_and_uses_away() {
    let (secrets, home) = keychain();
    let core = home.start().await;
    run(&core, ClientsAdd { name: "a".into() }).await.unwrap();
    let provider = add(&core, "Local", Some(KEY)).await.unwrap();
    let choice = Some(ModelChoice { provider: provider.id.clone(), model: "m-1".into() });
    run(&core, ModelsAssign { sampling: choice.clone(), opinion: choice }).await.unwrap();
    core.shutdown().await;
    let hand_over = Box::new(|_: &Secret| Ok(()));
    let operator_key = OperatorKey::Stored { hand_over, should_replace: true };
    let core = Core::start(CoreOptions { operator_key, ..home.options() }).await.unwrap();
    let shown = run(&core, ModelsShow {}).await.unwrap();
    assert_eq!(shown.providers, [ProviderView { has_key: false, ..provider }]);
    assert_eq!((shown.sampling, shown.opinion), (None, None));
    assert!(stored_keys(&secrets).is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn nobody_without_the_operator_key_sees_a_provider() {
    let home = TestHome::new();
    let core = home.start().await;
    let name = "Very telling";
    let draft = ProviderDraft { name: name.into(), ..draft("", "http://127.0.0.1:9/telling") };
    let provider = run(&core, ModelsAddProvider { draft, key: None }).await.unwrap();
    let choice = Some(ModelChoice { provider: provider.id, model: "telling-model".into() });
    run(&core, ModelsAssign { sampling: choice.clone(), opinion: choice }).await.unwrap();
    assert_eq!(core.run(&ModelsShow {}, Authority::Anyone).await.unwrap_err().code, ErrorCode::NotPermitted);
    let audit = core.run(&AuditList { after: None, limit: None }, Authority::Anyone).await.unwrap();
    let text = serde_json::to_string(&audit).unwrap();
    assert!(text.contains("model_provider_changed") && text.contains("models_assigned"), "{text}");
    assert!(!text.to_lowercase().contains("telling"), "{text}");
    let full = run(&core, AuditList { after: None, limit: None }).await.unwrap();
    assert!(serde_json::to_string(&full).unwrap().contains("Very telling · telling-model"));
    core.shutdown().await;
}

/// Without a model for it, nothing is asked: off is off before anything is looked at.
#[tokio::test]
async fn opinions_and_drafts_are_off_until_a_model_is_chosen() {
    let home = TestHome::new();
    let core = home.start().await;
    add(&core, "Local", None).await.unwrap();
    let opinion = ApprovalsOpinion { id: "ask-1".into(), hash: "x".into() };
    assert_eq!(run(&core, opinion).await.unwrap(), None);
    let generate = ApprovalsGenerate { id: "ask-1".into(), run: None };
    let refused = run(&core, generate).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    core.shutdown().await;
}
