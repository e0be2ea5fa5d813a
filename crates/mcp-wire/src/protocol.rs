//! The families of protocol revisions.

/// The two families of protocol revisions. A client and a server of different families can't talk to
/// each other without a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtocolFamily {
    /// 2025-11-25 and older: `initialize`, sessions, `ping`.
    Stateful,
    /// 2026-07-28: no sessions, each request is self-contained.
    Stateless,
}
