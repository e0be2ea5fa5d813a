//! What a command says of itself: its name, its reply, and who may run it.

use serde::{Deserialize, Serialize};

use crate::grant::RuleAuthor;

/// The authority that a caller has, and that a command needs (PERM-16). Each level includes the ones
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Any process of this user: it may read, and it may stop or block what the operator can start or
    /// allow again.
    Anyone,
    /// A caller that proved to have a client's token.
    Client,
    /// A person: one of Gatehouse's own windows, or a caller that proved to have the operator key.
    /// Needed for everything that widens permissions, starts or destroys something, answers approval
    /// requests or shows full arguments.
    Operator,
}

impl From<Authority> for RuleAuthor {
    fn from(by: Authority) -> Self {
        match by {
            Authority::Operator => Self::Person,
            Authority::Anyone | Authority::Client => Self::Unprivileged,
        }
    }
}

/// One row of the command table: the authority that a command needs, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRule {
    /// Name in requests.
    pub name: &'static str,
    pub needs: Authority,
    /// Why, as a sentence.
    pub reason: &'static str,
}

/// A command with the type of its reply.
pub trait TypedCommand: Serialize {
    type Reply: for<'de> Deserialize<'de> + Serialize;
    /// Its name in requests.
    const NAME: &'static str;
    const NEEDS: Authority;
}
