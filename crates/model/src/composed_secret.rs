//! Secrets of a server's settings that consist of texts and of what a person enters: whoever fills in the settings only
//! gets the names of the secrets, and whoever asked for them puts them together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::secret::Secret;

/// A secret of settings that were filled in, and how it is put together of what is entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ComposedSecret {
    /// The field as in `FieldSecret`: `env/NAME` or `headers/NAME`.
    pub field: String,
    /// One after the other.
    pub parts: Vec<SecretPart>,
}

/// A part of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SecretPart {
    /// What stands there.
    Text(String),
    /// The value of the input, or of the option of a bundle, with this id.
    Input(String),
}

impl ComposedSecret {
    /// The secret, of the values that were entered by their ids. What was not entered is empty.
    #[must_use]
    pub fn compose(&self, entered: &BTreeMap<String, Secret>) -> Secret {
        let mut whole = String::new();
        for part in &self.parts {
            whole.push_str(match part {
                SecretPart::Text(text) => text,
                SecretPart::Input(id) => entered.get(id).map_or("", |value| value.reveal()),
            });
        }
        Secret::new(whole)
    }
}
