//! Secrets of servers, each stored under the server's binding and the one field that it may be used for.
//! They are carried over to a new generation only if they would be sent to the same destination as
//! before; nothing here returns one.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_model::command::FieldSecret;
use gatehouse_model::{ErrorCode, Secret, ServerBinding, ServerConfig, Transport, UserError, message};
use gatehouse_store::{SecretError, SecretKey, SecretStore, Store, generations};

use crate::state::AppState;

pub(crate) fn needs_any(transport: &Transport) -> bool {
    !transport.secret_references().is_empty()
}

/// What a change of a server does to its secrets.
#[derive(Default)]
pub(crate) struct SecretChanges {
    given: Vec<(SecretKey, Secret)>,
    carried: Vec<(SecretKey, SecretKey, String)>,
    dropped: Vec<SecretKey>,
}

impl SecretChanges {
    /// Checks the given secrets against the fields that refer to one. An empty secret is refused: it would
    /// replace the stored one.
    pub(crate) fn new(
        before: Option<&ServerConfig>,
        after: &ServerConfig,
        given: &[FieldSecret],
    ) -> Result<Self, UserError> {
        let (changes, absent) = Self::with_absent(before, after, given)?;
        absent.first().map_or(Ok(changes), |field| Err(missing(field)))
    }

    /// As [`SecretChanges::new`], with the fields whose secrets are neither given nor stored.
    pub(crate) fn with_absent(
        before: Option<&ServerConfig>,
        after: &ServerConfig,
        given: &[FieldSecret],
    ) -> Result<(Self, Vec<String>), UserError> {
        let wanted = after.transport.secret_references();
        let mut changes = Self::default();
        let mut absent = Vec::new();
        for secret in given {
            if !wanted.contains_key(&secret.field) {
                return Err(UserError::new(
                    ErrorCode::BadRequest,
                    message!("error.app.secretUnused", field = &secret.field),
                )
                .with_hint(message!("error.app.secretUnusedHint", reference = "${secret:NAME}")));
            }
            if secret.value.reveal().is_empty() {
                return Err(missing(&secret.field));
            }
            changes.given.push((key(after, &secret.field), Secret::new(secret.value.reveal())));
        }
        let kept = before.map(|before| before.transport.secret_references()).unwrap_or_default();
        for field in wanted.keys() {
            if given.iter().any(|secret| &secret.field == field) {
                continue;
            }
            match before.filter(|before| after.transport.keeps_secret(&before.transport, field)) {
                Some(carried) => {
                    changes.carried.push((key(carried, field), key(after, field), field.clone()));
                }
                None => absent.push(field.clone()),
            }
        }
        if let Some(before) = before {
            let gone = kept
                .keys()
                .filter(|field| key(before, field) != key(after, field) || !wanted.contains_key(*field));
            changes.dropped = gone.map(|field| key(before, field)).collect();
        }
        Ok((changes, absent))
    }

    /// Leaves out secrets that would be carried over and are not among the `stored` fields; returns their fields.
    pub(crate) fn drop_unstored(&mut self, stored: &HashSet<String>) -> Vec<String> {
        let fields = self.carried.iter().map(|(_, _, field)| field);
        let lost = fields.filter(|field| !stored.contains(*field)).cloned().collect();
        self.carried.retain(|(_, _, field)| stored.contains(field));
        lost
    }

    /// Stores given secrets and those carried over, before the server is written.
    pub(crate) async fn store(&self, state: &AppState) -> Result<(), UserError> {
        let (given, carried) = (self.given.clone(), self.carried.clone());
        with_secrets(state, move |secrets| {
            for (from, to, field) in &carried {
                let secret = secrets.get(from)?.ok_or_else(|| missing(field))?;
                if from != to {
                    secrets.set(to, &secret)?;
                }
            }
            for (key, secret) in &given {
                secrets.set(key, secret)?;
            }
            Ok(())
        })
        .await
    }

    /// Deletes secrets that no field uses any more, after the server is written.
    pub(crate) async fn forget_old(self, state: &AppState) {
        forget_keys(state, self.dropped).await;
    }

    pub(crate) fn has_new(&self) -> bool {
        !self.given.is_empty()
    }
}

/// The fields of a server that refer to a secret which is stored. A server that was copied or imported may lack some.
pub(crate) async fn stored_fields(
    state: &AppState,
    config: &ServerConfig,
) -> Result<HashSet<String>, UserError> {
    let references = config.transport.secret_references();
    let fields: Vec<_> = references.into_keys().map(|field| (key(config, &field), field)).collect();
    with_secrets(state, move |secrets| {
        let mut stored = HashSet::new();
        for (key, field) in fields {
            if secrets.get(&key)?.is_some() {
                stored.insert(field);
            }
        }
        Ok(stored)
    })
    .await
}

/// Deletes every secret of a server, including those of earlier generations and those stored under the
/// names that older versions used.
pub(crate) async fn forget(state: &AppState, config: &ServerConfig) {
    let keys =
        config.transport.secret_references().keys().flat_map(|field| all_keys(config, field)).collect();
    forget_keys(state, keys).await;
}

fn all_keys(config: &ServerConfig, field: &str) -> Vec<SecretKey> {
    let keys = |bound: ServerBinding| {
        [SecretKey::for_server_field(&bound, field), SecretKey::for_field_before_identity(&bound, field)]
    };
    generations(&config.binding()).flat_map(keys).collect()
}

/// Deletes secrets and sign-ins of removed servers and of earlier generations of servers, and keys of removed model
/// providers and of their earlier addresses: those whose deletion failed at the time, and those stored later. If the list
/// of servers or of providers is not verified, it does not tell what is in use, so nothing is deleted then. Blocks.
pub(crate) fn sweep(store: &Store) {
    let servers = match store.servers().confirmed() {
        Ok(Some(servers)) => servers,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "secrets of servers that are no more are not looked for");
            return;
        }
    };
    let providers = match store.models().load() {
        Ok(stored) => stored.unwrap_or_default().providers,
        Err(error) => {
            tracing::warn!(%error, "secrets that nothing uses any more are not looked for");
            return;
        }
    };
    let keys = providers.iter().map(|provider| SecretKey::model_provider(&provider.id, &provider.base_url));
    let in_use: HashSet<SecretKey> = servers.iter().flat_map(keys_in_use).chain(keys).collect();
    match store.sweep_secrets(&in_use) {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "secrets of servers that are no more were deleted"),
        Err(error) => tracing::warn!(%error, "a secret of a server that is no more could not be deleted"),
    }
}

/// The keys of everything that is stored for a server in its current generation.
fn keys_in_use(config: &ServerConfig) -> Vec<SecretKey> {
    let fields = config.transport.secret_references().into_keys().map(|field| key(config, &field));
    fields.chain(gatehouse_auth::secret_keys(config)).collect()
}

async fn forget_keys(state: &AppState, keys: Vec<SecretKey>) {
    let forgotten = with_secrets(state, move |secrets| Ok(secrets.delete_all(&keys)?)).await;
    if let Err(error) = forgotten {
        tracing::warn!(%error, "a secret that serves nothing any more could not be forgotten");
    }
}

fn key(config: &ServerConfig, field: &str) -> SecretKey {
    SecretKey::for_server_field(&config.binding(), field)
}

fn missing(field: &str) -> UserError {
    UserError::new(ErrorCode::BadRequest, message!("error.app.secretMissing", field = field))
        .with_cause(message!("error.app.secretMissingCause"))
        .with_hint(message!("error.app.secretMissingHint"))
}

async fn with_secrets<T, F>(state: &AppState, work: F) -> Result<T, UserError>
where
    T: Send + 'static,
    F: FnOnce(&dyn SecretStore) -> Result<T, SecretFailure> + Send + 'static,
{
    let secrets: Arc<dyn SecretStore> = state.store.secrets();
    match tokio::task::spawn_blocking(move || work(&*secrets)).await {
        Ok(done) => done.map_err(|SecretFailure(error)| error),
        Err(e) => Err(UserError::new(ErrorCode::Internal, message!("error.app.secretStoreEnded"))
            .with_cause(format!("{e}."))),
    }
}

struct SecretFailure(UserError);

impl From<SecretError> for SecretFailure {
    fn from(error: SecretError) -> Self {
        Self(error.into())
    }
}

impl From<UserError> for SecretFailure {
    fn from(problem: UserError) -> Self {
        Self(problem)
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::command::RequestSecret;
    use gatehouse_model::{Generation, ServerId};

    use super::*;

    fn server(generation: u32, command: &str, env: &[(&str, &str)]) -> ServerConfig {
        ServerConfig {
            id: ServerId::new("srv-1"),
            generation: Generation(generation),
            name: "one".into(),
            transport: Transport::Stdio {
                command: command.into(),
                args: Vec::new(),
                env: env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
                cwd: None,
                streams: Default::default(),
            },
            protocol_version: Default::default(),
            enabled: true,
            autostart: true,
            record_bodies: true,
            look: Default::default(),
            limits: Default::default(),
            origin: Default::default(),
            registry: None,
        }
    }

    fn secret(field: &str) -> FieldSecret {
        given(field, "s")
    }

    fn given(field: &str, value: &str) -> FieldSecret {
        FieldSecret { field: field.into(), value: RequestSecret::new(&Secret::new(value)) }
    }

    const REF: (&str, &str) = ("KEY", "${secret:key}");

    #[test]
    fn requires_secret_for_each_reference() {
        assert!(SecretChanges::new(None, &server(0, "a", &[REF]), &[]).is_err());
        assert!(SecretChanges::new(None, &server(0, "a", &[REF]), &[secret("env/KEY")]).is_ok());
        assert!(SecretChanges::new(None, &server(0, "a", &[("KEY", "plain")]), &[]).is_ok());
    }

    #[test]
    fn names_secrets_that_are_absent() {
        let after = server(0, "a", &[REF, ("OTHER", "${secret:other}")]);
        let (changes, absent) = SecretChanges::with_absent(None, &after, &[secret("env/OTHER")]).unwrap();
        assert_eq!((absent, changes.has_new()), (vec!["env/KEY".to_owned()], true));

        let (mut changes, absent) = SecretChanges::with_absent(Some(&after), &after, &[]).unwrap();
        assert!(absent.is_empty());
        let stored = HashSet::from(["env/OTHER".to_owned()]);
        assert_eq!(changes.drop_unstored(&stored), ["env/KEY"]);
        assert_eq!(changes.carried.len(), 1);
    }

    #[test]
    fn rejects_secret_without_reference() {
        assert!(SecretChanges::new(None, &server(0, "a", &[]), &[secret("env/KEY")]).is_err());
        assert!(
            SecretChanges::new(None, &server(0, "a", &[("KEY", "plain")]), &[secret("env/KEY")]).is_err()
        );
        assert!(SecretChanges::new(None, &server(0, "a", &[REF]), &[secret("headers/KEY")]).is_err());
    }

    #[test]
    fn rejects_empty_secret() {
        let before = server(0, "a", &[REF]);
        for before in [None, Some(&before)] {
            let refused = SecretChanges::new(before, &server(1, "a", &[REF]), &[given("env/KEY", "")]);
            assert_eq!(refused.err(), Some(missing("env/KEY")));
        }
    }

    #[test]
    fn carries_secrets_only_to_same_destination() {
        let before = server(0, "a", &[REF]);
        let changes = SecretChanges::new(Some(&before), &server(1, "a", &[REF]), &[]).unwrap();
        assert_eq!((changes.carried.len(), changes.dropped.len()), (1, 1));
        let preload = [secret("env/LD_PRELOAD")];
        for (command, env, given) in [
            ("other", &[REF][..], &[][..]),
            ("a", &[REF, ("LD_PRELOAD", "/tmp/evil.so")][..], &[][..]),
            ("a", &[REF, ("LD_PRELOAD", "${secret:evil}")][..], &preload[..]),
        ] {
            let after = server(1, command, env);
            assert!(SecretChanges::new(Some(&before), &after, given).is_err(), "{after:?}");
            let all = [given, &[secret("env/KEY")]].concat();
            assert!(SecretChanges::new(Some(&before), &after, &all).is_ok(), "{after:?}");
        }
        assert!(
            SecretChanges::new(Some(&before), &server(1, "a", &[("OTHER", "${secret:key}")]), &[]).is_err()
        );
    }

    #[test]
    fn forgets_secrets_of_earlier_generations() {
        let now = server(2, "a", &[REF]);
        let keys = all_keys(&now, "env/KEY");
        assert_eq!(keys.len(), 6);
        for generation in 0..=2 {
            assert!(keys.contains(&key(&server(generation, "a", &[REF]), "env/KEY")));
        }
        assert!(keys.iter().any(|key| key.account() == "server|srv-1@1|env/KEY"));
        assert_eq!(all_keys(&server(1000, "a", &[REF]), "env/KEY").len(), 66);
    }

    #[test]
    fn forgets_unreferenced_secrets_only() {
        let before = server(0, "a", &[REF]);
        let changes = SecretChanges::new(Some(&before), &server(0, "a", &[REF]), &[]).unwrap();
        assert!(changes.dropped.is_empty());
        let changes = SecretChanges::new(Some(&before), &server(1, "a", &[]), &[]).unwrap();
        assert_eq!(changes.dropped.len(), 1);
    }
}
