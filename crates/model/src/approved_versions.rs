//! The definitions of one tool, prompt or template that an allow was given for (PERM-8).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::Fingerprint;

/// Most definitions that are remembered. One more forgets the one whose approval is oldest.
pub const MAX_APPROVED_VERSIONS: usize = 16;

/// The definitions that an allow was given for, the latest approval last. Some servers write the same tool in another
/// order at each start, so a definition counts as long as a person approved it once.
///
/// A single one is stored as a text, which is the form of allows from before several were remembered; the audit log
/// keeps entries in that form for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(from = "StoredVersions", into = "StoredVersions")]
#[ts(type = "Fingerprint | Array<Fingerprint>")]
pub struct ApprovedVersions(Vec<Fingerprint>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredVersions {
    One(Fingerprint),
    Several(Vec<Fingerprint>),
}

impl ApprovedVersions {
    /// Whether a definition is one of them.
    #[must_use]
    pub fn contains(&self, definition: &Fingerprint) -> bool {
        self.0.contains(definition)
    }

    /// The one that was approved last.
    #[must_use]
    pub fn latest(&self) -> Option<&Fingerprint> {
        self.0.last()
    }

    /// All of them, the latest approval last.
    pub fn iter(&self) -> impl Iterator<Item = &Fingerprint> {
        self.0.iter()
    }

    /// Adds definitions that were approved earlier, as far as there is room.
    pub fn add_earlier(&mut self, earlier: &Self) {
        let mut all: Vec<Fingerprint> =
            earlier.0.iter().filter(|definition| !self.contains(definition)).cloned().collect();
        all.append(&mut self.0);
        let surplus = all.len().saturating_sub(MAX_APPROVED_VERSIONS);
        self.0 = all.split_off(surplus);
    }
}

impl From<Fingerprint> for ApprovedVersions {
    fn from(definition: Fingerprint) -> Self {
        Self(vec![definition])
    }
}

impl From<StoredVersions> for ApprovedVersions {
    fn from(stored: StoredVersions) -> Self {
        match stored {
            StoredVersions::One(definition) => Self(vec![definition]),
            StoredVersions::Several(definitions) => Self(definitions),
        }
    }
}

impl From<ApprovedVersions> for StoredVersions {
    fn from(ApprovedVersions(mut definitions): ApprovedVersions) -> Self {
        match (definitions.pop(), definitions.is_empty()) {
            (Some(only), true) => Self::One(only),
            (Some(last), false) => {
                definitions.push(last);
                Self::Several(definitions)
            }
            (None, _) => Self::Several(definitions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(names: &[&str]) -> ApprovedVersions {
        ApprovedVersions(names.iter().map(|name| Fingerprint::from(*name)).collect())
    }

    #[test]
    fn a_single_version_keeps_its_stored_form() {
        for (stored, expected) in [(r#""a""#, versions(&["a"])), (r#"["a","b"]"#, versions(&["a", "b"]))] {
            let read: ApprovedVersions = serde_json::from_str(stored).unwrap();
            assert_eq!(read, expected);
            assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        }
        let none: ApprovedVersions = serde_json::from_str("[]").unwrap();
        assert!(!none.contains(&"a".into()) && none.latest().is_none());
    }

    #[test]
    fn the_oldest_approval_makes_room() {
        let mut remembered = versions(&["v0"]);
        for number in 1..=MAX_APPROVED_VERSIONS {
            let mut next = versions(&[&format!("v{number}")]);
            next.add_earlier(&remembered);
            remembered = next;
        }
        assert_eq!(remembered.iter().count(), MAX_APPROVED_VERSIONS);
        assert!(!remembered.contains(&"v0".into()) && remembered.contains(&"v1".into()));
        // A repeated approval is the latest one, and takes no second place.
        let mut again = versions(&["v1"]);
        again.add_earlier(&remembered);
        assert_eq!(again.latest(), Some(&"v1".into()));
        assert_eq!(again.iter().count(), MAX_APPROVED_VERSIONS);
        assert!(again.contains(&"v2".into()));
    }
}
