//! The MCP revisions that the gateway speaks, and what each of them supports.
//!
//! A revision is chosen once, by `initialize` or by the request itself, and everything that depends on it
//! uses these methods. No other code compares version strings.

use serde::{Deserialize, Serialize};

/// A protocol revision. Ordered by date. Its serialized form is the date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub(crate) enum Revision {
    /// `2024-11-05`
    V2024,
    /// `2025-03-26`
    V2025March,
    /// `2025-06-18`
    V2025June,
    /// `2025-11-25`
    V2025November,
    /// `2026-07-28`: stateless, no handshake, no session.
    V2026,
}

impl Revision {
    /// All revisions, oldest first.
    const ALL: [Self; 5] = [Self::V2024, Self::V2025March, Self::V2025June, Self::V2025November, Self::V2026];

    /// The newest revision with a handshake.
    pub(crate) const NEWEST_WITH_SESSION: Self = Self::V2025November;

    /// The revision without a handshake.
    pub(crate) const STATELESS: Self = Self::V2026;

    /// Parses the date.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// The date.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V2024 => "2024-11-05",
            Self::V2025March => "2025-03-26",
            Self::V2025June => "2025-06-18",
            Self::V2025November => "2025-11-25",
            Self::V2026 => "2026-07-28",
        }
    }

    /// The revision for the response to `initialize`: the one that the client requested if it has a
    /// handshake, otherwise the newest one that has.
    pub(crate) fn negotiate(requested: &str) -> Self {
        match Self::parse(requested) {
            Some(revision) if revision != Self::STATELESS => revision,
            Some(_) | None => Self::NEWEST_WITH_SESSION,
        }
    }

    /// Whether results have `resultType` and lists have cache hints.
    pub(crate) fn has_result_type(self) -> bool {
        self >= Self::V2026
    }

    /// Whether tool calls can run as tasks if the client says so. Older revisions don't have them.
    pub(crate) fn has_tasks(self) -> bool {
        self == Self::V2025November
    }

    /// Whether they can by an extension, where the server says so.
    pub(crate) fn has_tasks_extension(self) -> bool {
        self == Self::V2026
    }

    /// Whether a stream starts with an event without data that carries an id, so that it can be resumed even if it
    /// breaks before its first message. Older clients treat such an event as a broken message.
    pub(crate) fn primes_streams(self) -> bool {
        self == Self::V2025November
    }
}

impl From<Revision> for &'static str {
    fn from(revision: Revision) -> Self {
        revision.as_str()
    }
}

impl TryFrom<String> for Revision {
    type Error = &'static str;

    fn try_from(date: String) -> Result<Self, Self::Error> {
        Self::parse(&date).ok_or("no revision that the gateway speaks")
    }
}

/// Whether a version string, known or not, belongs to the revisions without a handshake. Dates compare as
/// text.
pub(crate) fn is_stateless_version(text: &str) -> bool {
    text >= Revision::STATELESS.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiates_initialize_revision() {
        for (requested, agreed) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            // The stateless revision has no handshake, so a client that sends `initialize` gets the newest
            // one that has.
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
            ("1.0", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(Revision::negotiate(requested).as_str(), agreed, "{requested}");
        }
    }

    #[test]
    fn classifies_stateless_versions() {
        assert!(is_stateless_version("2026-07-28"));
        assert!(is_stateless_version("2027-01-01"));
        assert!(!is_stateless_version("2025-11-25"));
    }
}
