//! Keys of secrets. A secret is looked up by its complete key, never by a part of it, so that a secret that is
//! bound to a server, a generation and a field can't be used for another.

use std::fmt;

use gatehouse_model::{Generation, ProviderId, ServerBinding};

/// Purpose of the secrets in a server's configuration.
const SERVER: &str = "server";
/// Purpose of a server's sign-in state.
const SIGN_IN: &str = "sign-in";
/// Purpose of the keys of model providers.
const MODEL_PROVIDER: &str = "model-provider";

/// Number of earlier generations of a server whose secrets are deleted with it.
const GENERATIONS: u32 = 32;

/// Key of a secret: purpose, owner and field. All three must match to find the secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretKey(String);

impl SecretKey {
    /// A key from its three parts. Different parts never result in the same key.
    #[must_use]
    pub fn new(purpose: &str, owner: &str, field: &str) -> Self {
        let mut text = String::with_capacity(purpose.len() + owner.len() + field.len() + 2);
        for (index, part) in [purpose, owner, field].into_iter().enumerate() {
            if index > 0 {
                text.push('|');
            }
            for c in part.chars() {
                match c {
                    '%' => text.push_str("%25"),
                    '|' => text.push_str("%7C"),
                    other => text.push(other),
                }
            }
        }
        Self(text)
    }

    /// Key of a secret in a server's configuration, bound to the identity of the server (SRV-16) and the
    /// field that it may be used in, for example `env/API_KEY` or `headers/Authorization` (PERM-16).
    #[must_use]
    pub fn for_server_field(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner(to), field)
    }

    /// The key that older versions used, without the server's identity. Only used for deletion, never to read
    /// a secret.
    #[must_use]
    pub fn for_field_before_identity(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner_before_identity(to), field)
    }

    /// Key of a server's sign-in, bound to the identity of the server (SRV-16) and the resource that the
    /// token is for (AUTH-5). The issuer is stored with the token and compared when it is read.
    #[must_use]
    pub fn sign_in(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner(to), resource)
    }

    /// The key that older versions used, without the server's identity. Only used for deletion, never to read
    /// a secret.
    #[must_use]
    pub fn sign_in_before_identity(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner_before_identity(to), resource)
    }

    /// Key of a model provider's key, bound to the provider and its address: a key that was entered for one address is
    /// never sent to another.
    #[must_use]
    pub fn model_provider(provider: &ProviderId, base_url: &str) -> Self {
        Self::new(MODEL_PROVIDER, provider.as_str(), base_url)
    }

    /// Converts [`Self::account`] back to a key.
    pub(crate) fn of_account(text: String) -> Self {
        Self(text)
    }

    /// Whether this is the key of something that the user entered or signed in to: a server's secret or sign-in, or the
    /// key of a model provider. Such keys are listed, so that what nothing uses any more is found.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.0.split('|').next(), Some(SERVER | SIGN_IN | MODEL_PROVIDER))
    }

    /// The key as one string, for use as an account name in keychains.
    pub fn account(&self) -> &str {
        &self.0
    }
}

fn owner(to: &ServerBinding) -> String {
    format!("{}#{}", owner_before_identity(to), to.identity)
}

fn owner_before_identity(to: &ServerBinding) -> String {
    format!("{}@{}", to.server, to.generation)
}

/// Bindings of a server in its earlier generations (as many as are looked for) and the current one. The
/// identities in earlier generations aren't known, so the current one is assumed.
pub fn generations(present: &ServerBinding) -> impl Iterator<Item = ServerBinding> {
    let last = present.generation.0;
    (last.saturating_sub(GENERATIONS)..=last)
        .map(|generation| ServerBinding { generation: Generation(generation), ..present.clone() })
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_parts_make_different_keys() {
        let of = |a, b, c| SecretKey::new(a, b, c).account().to_owned();
        assert_ne!(of("a|b", "c", "d"), of("a", "b|c", "d"));
        assert_ne!(of("a", "b%7Cc", "d"), of("a", "b|c", "d"));
        assert_eq!(of("a", "b", "c"), "a|b|c");
    }

    #[test]
    fn server_field_key_contains_binding_and_field() {
        let bound = |generation, identity: &str| ServerBinding {
            server: "srv-1".into(),
            generation: Generation(generation),
            identity: identity.into(),
        };
        let key = SecretKey::for_server_field(&bound(2, "i"), "env/API_KEY");
        assert_eq!(key.account(), "server|srv-1@2#i|env/API_KEY");
        let older = SecretKey::for_field_before_identity(&bound(2, "i"), "env/API_KEY");
        assert_eq!(older.account(), "server|srv-1@2|env/API_KEY");
        assert_ne!(key, SecretKey::for_server_field(&bound(3, "i"), "env/API_KEY"));
        assert_ne!(key, SecretKey::for_server_field(&bound(2, "j"), "env/API_KEY"));
        assert_ne!(key, SecretKey::for_server_field(&bound(2, "i"), "env/OTHER"));
        let sign_in = SecretKey::sign_in(&bound(2, "i"), "registration");
        assert_eq!(sign_in.account(), "sign-in|srv-1@2#i|registration");
        let older = SecretKey::sign_in_before_identity(&bound(2, "i"), "registration");
        assert_eq!(older.account(), "sign-in|srv-1@2|registration");
    }

    #[test]
    fn secrets_of_servers_and_providers_are_told_from_the_seals() {
        let of = |purpose| SecretKey::new(purpose, "a", "b").is_listed();
        assert!(of("server") && of("sign-in") && of("model-provider"));
        assert!(!of("seal") && !of("control") && !of("server|") && !of("servers"));
    }

    #[test]
    fn the_key_of_a_provider_is_bound_to_its_address() {
        let key = |id: &str, address| SecretKey::model_provider(&ProviderId::new(id), address);
        assert_eq!(key("mdl-1", "https://a.example").account(), "model-provider|mdl-1|https://a.example");
        assert_ne!(key("mdl-1", "https://a.example"), key("mdl-1", "https://b.example"));
        assert_ne!(key("mdl-1", "https://a.example"), key("mdl-2", "https://a.example"));
    }

    #[test]
    fn the_present_generation_and_32_before_are_looked_for() {
        let to = |generation| ServerBinding {
            server: "srv-1".into(),
            generation: Generation(generation),
            identity: "i".into(),
        };
        let found = |generation| generations(&to(generation)).collect::<Vec<_>>();
        assert_eq!(found(0), [to(0)]);
        assert_eq!(found(2), [to(0), to(1), to(2)]);
        assert_eq!((found(1000).len(), found(1000).first()), (33, Some(&to(968))));
    }
}
