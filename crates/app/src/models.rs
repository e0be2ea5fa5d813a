//! The model providers of the user: the sealed record of them, their keys in the secret store, and what their models are
//! used for beside conversations. A change is written first (the audit entry, the key, then the record) and counts after
//! that; each is an order of the operator.
//!
//! A key is read only to be sent to the address that it was entered for, and is in nothing that leaves this module but a
//! [`ProviderEndpoint`]. While the record can't be verified there is no provider, so that no edited address gets
//! anything.

pub(crate) mod opinions;

use std::sync::Arc;

use gatehouse_common::display_name;
use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_model::provider::{
    ModelChoice, ModelsView, ProviderDraft, ProviderView, StoredModels, StoredProvider,
};
use gatehouse_model::record::{AuditEvent, ModelProviderChange};
use gatehouse_model::{ErrorCode, Event, EventSink, ProviderId, Secret, UserError, message};
use gatehouse_models::providers::{ModelClient, ProviderEndpoint, check_base_url};
use gatehouse_store::{SealError, SecretKey, Store};
use parking_lot::RwLock;

use crate::disk_work::on_disk;
use crate::models::opinions::Opinions;

/// Most providers.
const MAX_PROVIDERS: usize = 64;
/// Longest id of a model, in characters.
const MAX_MODEL_CHARS: usize = 256;
/// Longest key, in bytes.
const MAX_KEY_BYTES: usize = 8 * 1024;

/// The providers, and the client that reaches them.
pub(crate) struct ModelProviders {
    store: Arc<Store>,
    events: Arc<dyn EventSink>,
    client: ModelClient,
    current: RwLock<CurrentModels>,
    /// Held while a change is written.
    writer: tokio::sync::Mutex<()>,
    pub(crate) opinions: Opinions,
}

/// The record as it was read or written last.
#[derive(Default)]
pub(crate) struct CurrentModels {
    stored: StoredModels,
    /// Why the record was rejected, if it was.
    rejected: Option<SealError>,
}

impl CurrentModels {
    /// Reads the record. Doesn't fail: if it can't be verified, there is no provider. Blocks.
    pub(crate) fn load(store: &Store) -> Self {
        match store.models().load() {
            Ok(stored) => Self { stored: stored.unwrap_or_default(), rejected: None },
            Err(error) => {
                tracing::warn!(%error, "the model providers can't be verified, so there are none");
                Self { stored: StoredModels::default(), rejected: Some(error) }
            }
        }
    }

    /// Whether the record was rejected only because it couldn't be read, so that it may be intact.
    fn may_be_intact(&self) -> bool {
        matches!(self.rejected, Some(SealError::Locked { .. } | SealError::Unreadable { .. }))
    }

    fn problem(&self) -> Option<UserError> {
        let error = self.rejected.as_ref()?;
        let cause = UserError::from(error.clone());
        let hint = if self.may_be_intact() {
            message!("error.app.providersUnreadableHint")
        } else {
            message!("error.app.providersAgainHint")
        };
        let problem = UserError::new(cause.code, message!("error.app.providersUnverified"));
        Some(problem.with_cause(cause.message).with_hint(hint))
    }
}

/// What the models are called that are used beside conversations: the name of the provider and the id of the model.
pub(crate) struct ChosenModels {
    pub(crate) sampling: Option<String>,
    pub(crate) opinion: Option<String>,
}

impl ChosenModels {
    fn of(stored: &StoredModels) -> Self {
        let label = |choice: &Option<ModelChoice>| {
            let ModelChoice { provider, model } = choice.as_ref()?;
            let provider = stored.providers.iter().find(|known| known.id == *provider)?;
            Some(model_label(&provider.name, model))
        };
        Self { sampling: label(&stored.sampling), opinion: label(&stored.opinion) }
    }
}

fn model_label(provider: &str, model: &str) -> String {
    format!("{provider} · {model}")
}

/// A provider that is added, or one that gets other settings.
pub(crate) struct ProviderChange {
    /// The provider; absent for a new one.
    pub(crate) id: Option<ProviderId>,
    pub(crate) draft: ProviderDraft,
    /// A new key; the stored one stays where absent, unless the address changes.
    pub(crate) key: Option<Secret>,
}

/// What happens to the key of a provider whose settings are changed.
enum KeyChange {
    /// As before; it is deleted if the address changed.
    Keep,
    Delete,
    Replace(Secret),
}

impl KeyChange {
    /// The change that a command asks for: an empty key deletes the stored one.
    fn of(key: Option<&str>) -> Result<Self, UserError> {
        let Some(key) = key.map(str::trim) else { return Ok(Self::Keep) };
        if key.is_empty() {
            return Ok(Self::Delete);
        }
        // It is sent as a header.
        if key.len() > MAX_KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.app.badProviderKey"))
                .with_hint(message!("error.app.badProviderKeyHint")));
        }
        Ok(Self::Replace(Secret::new(key)))
    }
}

impl ModelProviders {
    /// # Errors
    /// If no client for the providers can be made.
    pub(crate) fn new(
        store: Arc<Store>,
        events: Arc<dyn EventSink>,
        loaded: CurrentModels,
    ) -> Result<Self, UserError> {
        Ok(Self {
            store,
            events,
            client: ModelClient::new()?,
            current: RwLock::new(loaded),
            writer: tokio::sync::Mutex::default(),
            opinions: Opinions::default(),
        })
    }

    /// The client that reaches all providers.
    pub(crate) fn client(&self) -> &ModelClient {
        &self.client
    }

    /// What is wrong with the record, if anything is.
    pub(crate) fn problem(&self) -> Option<UserError> {
        self.current.read().problem()
    }

    /// The record in force.
    ///
    /// # Errors
    /// If it can't be verified, also now.
    pub(crate) async fn stored(&self) -> Result<StoredModels, UserError> {
        if self.current.read().may_be_intact() {
            let _writing = self.writer.lock().await;
            self.retry_unread().await?;
        }
        let current = self.current.read();
        current.problem().map_or_else(|| Ok(current.stored.clone()), Err)
    }

    pub(crate) async fn view(&self) -> Result<ModelsView, UserError> {
        let StoredModels { providers, sampling, opinion } = self.stored().await?;
        Ok(ModelsView { providers: providers.into_iter().map(view).collect(), sampling, opinion })
    }

    /// Where a provider is reached, with its key.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such provider; if its key is gone, or the secret store doesn't answer.
    pub(crate) async fn endpoint(&self, provider: &ProviderId) -> Result<ProviderEndpoint, UserError> {
        let found = self.stored().await?.providers.into_iter().find(|known| known.id == *provider);
        let StoredProvider { id, name, api, base_url, default_model: _, has_key } =
            found.ok_or_else(unknown_provider)?;
        let url = check_base_url(&base_url)?;
        let key = if has_key {
            let (secrets, key) = (self.store.secrets(), SecretKey::model_provider(&id, &base_url));
            let found = on_disk(move || secrets.get(&key)).await?.map_err(UserError::from)?;
            let missing = || {
                UserError::new(
                    ErrorCode::SecretsUnavailable,
                    message!("error.app.providerKeyGone", name = &name),
                )
                .with_hint(message!("error.app.providerKeyGoneHint"))
            };
            Some(found.ok_or_else(missing)?)
        } else {
            None
        };
        Ok(ProviderEndpoint { api, base_url: url, key, name })
    }

    /// Where a model is reached, with what it is called: the name of its provider and its id.
    pub(crate) async fn chosen(&self, choice: &ModelChoice) -> Result<(ProviderEndpoint, String), UserError> {
        let endpoint = self.endpoint(&choice.provider).await?;
        let label = model_label(&endpoint.name, &choice.model);
        Ok((endpoint, label))
    }

    /// What the models are called that are used beside conversations; none while the record can't be verified.
    pub(crate) fn chosen_models(&self) -> ChosenModels {
        ChosenModels::of(&self.current.read().stored)
    }

    /// Whether these changes can be made, one after the other. Nothing changes.
    pub(crate) async fn check(
        &self,
        changes: impl IntoIterator<Item = &ProviderChange>,
    ) -> Result<(), UserError> {
        let mut stored = self.stored().await?;
        for ProviderChange { id, draft, key } in changes {
            KeyChange::of(key.as_ref().map(Secret::reveal))?;
            match id {
                Some(id) => {
                    let provider = checked(draft.clone(), &stored, id.clone())?;
                    replace(&mut stored, provider);
                }
                None => {
                    ensure_room(&stored)?;
                    let provider = checked(draft.clone(), &stored, new_id()?)?;
                    stored.providers.push(provider);
                }
            }
        }
        Ok(())
    }

    /// Adds a provider. If the record was rejected, it is the first of a new one.
    pub(crate) async fn add(
        &self,
        draft: ProviderDraft,
        key: Option<&str>,
    ) -> Result<ProviderView, UserError> {
        let key = KeyChange::of(key)?;
        let _writing = self.writer.lock().await;
        self.retry_unread().await?;
        let mut stored = self.current.read().stored.clone();
        ensure_room(&stored)?;
        let mut provider = checked(draft, &stored, new_id()?)?;
        let mut keys = KeyWrites::default();
        if let KeyChange::Replace(secret) = key {
            provider.has_key = true;
            keys.new = Some((key_of(&provider), secret));
        }
        stored.providers.push(provider.clone());
        let event = changed(&provider, ModelProviderChange::Added);
        self.write(stored, vec![event], keys).await?;
        Ok(view(provider))
    }

    /// Changes a provider. Its key is deleted if its address changes and no new one is given.
    pub(crate) async fn set(
        &self,
        id: &ProviderId,
        draft: ProviderDraft,
        key: Option<&str>,
    ) -> Result<ProviderView, UserError> {
        let key = KeyChange::of(key)?;
        let (_writing, mut stored) = self.begin_change().await?;
        let before = stored.providers.iter().find(|known| known.id == *id).cloned();
        let before = before.ok_or_else(unknown_provider)?;
        let mut provider = checked(draft, &stored, id.clone())?;
        let is_moved = provider.base_url != before.base_url;
        let mut keys = KeyWrites::default();
        match key {
            KeyChange::Keep => provider.has_key = before.has_key && !is_moved,
            KeyChange::Delete => {}
            KeyChange::Replace(secret) => {
                provider.has_key = true;
                keys.new = Some((key_of(&provider), secret));
            }
        }
        if before.has_key && (is_moved || !provider.has_key) {
            keys.old = Some(key_of(&before));
        }
        if provider == before && keys.new.is_none() {
            return Ok(view(provider));
        }
        replace(&mut stored, provider.clone());
        let event = changed(&provider, ModelProviderChange::Edited);
        self.write(stored, vec![event], keys).await?;
        Ok(view(provider))
    }

    /// Removes a provider with its key. Nothing uses its models any more.
    pub(crate) async fn remove(&self, id: &ProviderId) -> Result<(), UserError> {
        let (_writing, mut stored) = self.begin_change().await?;
        let place = stored.providers.iter().position(|known| known.id == *id).ok_or_else(unknown_provider)?;
        let gone = stored.providers.remove(place);
        let keys = KeyWrites { new: None, old: gone.has_key.then(|| key_of(&gone)) };
        let mut events =
            vec![changed(&StoredProvider { has_key: false, ..gone }, ModelProviderChange::Removed)];
        let is_of_it =
            |choice: &Option<ModelChoice>| choice.as_ref().is_some_and(|choice| choice.provider == *id);
        if is_of_it(&stored.sampling) || is_of_it(&stored.opinion) {
            stored.sampling = stored.sampling.take().filter(|choice| choice.provider != *id);
            stored.opinion = stored.opinion.take().filter(|choice| choice.provider != *id);
            events.push(assigned(&stored));
        }
        self.write(stored, events, keys).await
    }

    /// Sets what models are used for beside conversations.
    pub(crate) async fn assign(
        &self,
        sampling: Option<ModelChoice>,
        opinion: Option<ModelChoice>,
    ) -> Result<(), UserError> {
        let (_writing, mut stored) = self.begin_change().await?;
        let before = stored.clone();
        let check = |choice: Option<ModelChoice>| {
            let Some(ModelChoice { provider, model }) = choice else { return Ok(None) };
            if !stored.providers.iter().any(|known| known.id == provider) {
                return Err(unknown_provider());
            }
            Ok(Some(ModelChoice { provider, model: checked_model(&model)? }))
        };
        let (sampling, opinion) = (check(sampling)?, check(opinion)?);
        (stored.sampling, stored.opinion) = (sampling, opinion);
        if stored == before {
            return Ok(());
        }
        let event = assigned(&stored);
        self.write(stored, vec![event], KeyWrites::default()).await
    }

    /// Waits for other changes, and returns the record that this one is made to.
    async fn begin_change(&self) -> Result<(tokio::sync::MutexGuard<'_, ()>, StoredModels), UserError> {
        let writing = self.writer.lock().await;
        self.retry_unread().await?;
        let current = self.current.read();
        // Without this, a record that could not be verified would be replaced by one without any provider.
        current.problem().map_or_else(|| Ok((writing, current.stored.clone())), Err)
    }

    /// A record that couldn't be verified because the secret store was locked or unreadable may be intact. It is read
    /// again before anything overwrites it. The caller holds `writer`.
    async fn retry_unread(&self) -> Result<(), UserError> {
        if !self.current.read().may_be_intact() {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let loaded = on_disk(move || CurrentModels::load(&store)).await?;
        let problem = if loaded.may_be_intact() { loaded.problem() } else { None };
        *self.current.write() = loaded;
        problem.map_or(Ok(()), Err)
    }

    /// Writes a change and puts it in force. A key that is no longer used is deleted before the record says so: if the
    /// record can't be written then, the key has to be entered again.
    async fn write(
        &self,
        stored: StoredModels,
        events: Vec<AuditEvent>,
        keys: KeyWrites,
    ) -> Result<(), UserError> {
        let (store, sealed) = (Arc::clone(&self.store), stored.clone());
        let written = on_disk(move || -> Result<(), UserError> {
            for event in events {
                store.audit().append(event)?;
            }
            let secrets = store.secrets();
            if let Some((key, secret)) = &keys.new {
                secrets.set(key, secret)?;
            }
            if let Some(key) = &keys.old {
                secrets.delete(key)?;
            }
            // May replace a rejected record: each change of this one is an order of the operator.
            Ok(store.models().overwrite(&sealed)?)
        });
        written.await??;
        *self.current.write() = CurrentModels { stored, rejected: None };
        self.opinions.forget();
        self.events.emit(Event::ModelsChanged);
        Ok(())
    }
}

/// What a change does to the secret store.
#[derive(Default)]
struct KeyWrites {
    new: Option<(SecretKey, Secret)>,
    old: Option<SecretKey>,
}

fn key_of(provider: &StoredProvider) -> SecretKey {
    SecretKey::model_provider(&provider.id, &provider.base_url)
}

fn view(provider: StoredProvider) -> ProviderView {
    let StoredProvider { id, name, api, base_url, default_model, has_key } = provider;
    ProviderView { id, name, api, base_url, default_model, has_key }
}

fn changed(provider: &StoredProvider, change: ModelProviderChange) -> AuditEvent {
    AuditEvent::ModelProviderChanged {
        provider: provider.id.clone(),
        name: provider.name.clone(),
        base_url: provider.base_url.clone(),
        change,
        has_key: provider.has_key,
    }
}

fn assigned(stored: &StoredModels) -> AuditEvent {
    let ChosenModels { sampling, opinion } = ChosenModels::of(stored);
    AuditEvent::ModelsAssigned { sampling, opinion }
}

/// The provider that a draft describes, without a key.
fn checked(draft: ProviderDraft, stored: &StoredModels, id: ProviderId) -> Result<StoredProvider, UserError> {
    let ProviderDraft { name, api, base_url, default_model } = draft;
    let Some(name) = display_name::validate(&name).map(str::to_owned) else {
        return Err(bad(message!("error.app.badProviderName")).with_cause(message!(
            "error.app.badProviderNameCause",
            most = display_name::MAX_NAME_CHARS.to_string()
        )));
    };
    let others = stored.providers.iter().filter(|known| known.id != id);
    if others.into_iter().any(|other| display_name::is_taken_by(&name, &other.name)) {
        return Err(UserError::new(
            ErrorCode::NameTaken,
            message!("error.app.providerNameTaken", name = &name),
        ));
    }
    let base_url = stored_base_url(&base_url)?;
    let default_model = default_model.filter(|model| !model.trim().is_empty());
    let default_model = default_model.as_deref().map(checked_model).transpose()?;
    Ok(StoredProvider { id, name, api, base_url, default_model, has_key: false })
}

/// An address as it is stored.
pub(crate) fn stored_base_url(text: &str) -> Result<String, UserError> {
    Ok(check_base_url(text.trim())?.as_str().trim_end_matches('/').to_owned())
}

fn ensure_room(stored: &StoredModels) -> Result<(), UserError> {
    if stored.providers.len() >= MAX_PROVIDERS {
        return Err(bad(message!("error.app.tooManyProviders", most = MAX_PROVIDERS.to_string())));
    }
    Ok(())
}

/// Puts a provider in the place of the one with its id.
fn replace(stored: &mut StoredModels, provider: StoredProvider) {
    if let Some(known) = stored.providers.iter_mut().find(|known| known.id == provider.id) {
        *known = provider;
    }
}

fn checked_model(model: &str) -> Result<String, UserError> {
    let model = model.trim();
    if model.is_empty() || model.chars().count() > MAX_MODEL_CHARS || model.chars().any(is_invisible) {
        return Err(bad(message!("error.app.badModelId")));
    }
    Ok(model.to_owned())
}

fn new_id() -> Result<ProviderId, UserError> {
    let bits = getrandom::u64().map_err(|e| {
        UserError::new(ErrorCode::Internal, message!("error.app.noId"))
            .with_cause(message!("error.app.noRandom", reason = e.to_string()))
    })?;
    Ok(ProviderId::from_random(bits))
}

fn bad(what: gatehouse_model::Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}

fn unknown_provider() -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.app.noProvider"))
        .with_hint(message!("error.app.noProviderHint"))
}
