//! Text that must not be shown: tokens, keys, passphrases.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use ts_rs::TS;
use zeroize::Zeroize;

/// A secret text. `Debug` and `Serialize` write a placeholder; the text itself comes out only
/// through [`Secret::reveal`], whose every use is a place to look at in a review. Wiped when dropped.
#[derive(Clone, PartialEq, Eq, Deserialize, TS)]
#[serde(transparent)]
#[ts(as = "String")]
pub struct Secret(String);

/// Shown in place of a secret.
pub const REDACTED: &str = "••••••";

impl Secret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}
