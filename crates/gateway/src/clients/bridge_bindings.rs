//! What bridges are bound to: the folder that each works in and the profile that it was started with (GATE-4). A bridge
//! gets a credential over the control socket, where the system says in which folder it works, and sends it with each
//! request beside its client's token.
//!
//! A credential allows nothing: what it is bound to only narrows what the token gives. It is known only to Gatehouse and
//! the bridge, counts for one client, and expires. One that is presented and isn't valid is refused and never ignored,
//! since without it the client could see more.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_model::{ClientId, Secret, Timestamp, UserError};
use gatehouse_tools::Narrowing;
use parking_lot::Mutex;

use crate::clients::token::{self, TokenDigest};

/// How long a credential counts. A bridge asks for another one earlier.
pub const BINDING_LIFETIME: Duration = Duration::from_secs(600);

/// Most credentials of one client that count. The oldest ends first; its bridge asks for another one.
const MAX_PER_CLIENT: usize = 256;

struct Binding {
    credential: TokenDigest,
    client: ClientId,
    bridge: BoundBridge,
    expires: Timestamp,
}

/// What a credential stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BoundBridge {
    pub(crate) narrowing: Narrowing,
    /// The process that asked for the credential. A hint on whose connections come with it, and no more than that.
    pub(crate) process: Option<u32>,
}

/// The credentials that were given out in this run of Gatehouse, oldest first.
#[derive(Default)]
pub(crate) struct BridgeBindings(Mutex<VecDeque<Binding>>);

impl BridgeBindings {
    /// Gives out a credential.
    pub(crate) fn bind(
        &self,
        client: &ClientId,
        bridge: BoundBridge,
        now: Timestamp,
    ) -> Result<Secret, UserError> {
        let credential = token::generate()?;
        let mut bindings = self.0.lock();
        bindings.retain(|binding| binding.expires > now);
        if bindings.iter().filter(|binding| binding.client == *client).count() >= MAX_PER_CLIENT
            && let Some(oldest) = bindings.iter().position(|binding| binding.client == *client)
        {
            bindings.remove(oldest);
        }
        bindings.push_back(Binding {
            credential: TokenDigest::hash(credential.reveal()),
            client: client.clone(),
            bridge,
            expires: now.plus(BINDING_LIFETIME),
        });
        Ok(credential)
    }

    /// What a credential of this client is bound to; `None` if it isn't one, or no longer.
    pub(crate) fn find(&self, client: &ClientId, credential: &str, now: Timestamp) -> Option<BoundBridge> {
        let given = TokenDigest::hash(credential);
        let bindings = self.0.lock();
        let found = bindings.iter().find(|binding| binding.credential.matches(&given))?;
        (found.client == *client && found.expires > now).then(|| found.bridge.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn counts_for_one_client_until_it_expires() {
        let bindings = BridgeBindings::default();
        let (one, other): (ClientId, ClientId) = ("cli-1".into(), "cli-2".into());
        let start = Timestamp(1_000);
        let folder = Path::new("/work/project");
        let narrowing =
            Narrowing { folder: Some(folder.into()), profile: Some("prf-1".into()), ..Narrowing::default() };
        let bridge = BoundBridge { narrowing, process: Some(7) };
        let credential = bindings.bind(&one, bridge.clone(), start).unwrap();
        let find = |client, credential: &str, now| bindings.find(client, credential, now);
        assert_eq!(find(&one, credential.reveal(), start), Some(bridge));
        assert_eq!(find(&other, credential.reveal(), start), None, "another client's");
        assert_eq!(find(&one, "forged", start), None);
        let last = Timestamp(start.plus(BINDING_LIFETIME).0 - 1);
        assert!(find(&one, credential.reveal(), last).is_some());
        assert_eq!(find(&one, credential.reveal(), start.plus(BINDING_LIFETIME)), None, "expired");
    }

    #[test]
    fn keeps_the_newest_of_each_client() {
        let bindings = BridgeBindings::default();
        let (one, other): (ClientId, ClientId) = ("cli-1".into(), "cli-2".into());
        let bridge = BoundBridge { narrowing: Narrowing::default(), process: None };
        let bind = |client| bindings.bind(client, bridge.clone(), Timestamp(1)).unwrap();
        let (first, kept) = (bind(&one), bind(&other));
        for _ in 0..MAX_PER_CLIENT {
            bind(&one);
        }
        assert!(bindings.find(&one, first.reveal(), Timestamp(1)).is_none());
        assert!(bindings.find(&other, kept.reveal(), Timestamp(1)).is_some());
        assert_eq!(bindings.0.lock().len(), MAX_PER_CLIENT + 1);
    }
}
