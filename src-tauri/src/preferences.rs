//! Preferences of appearance, and which notices were shown already. Kept with the store plugin, which
//! does not write atomically: nothing that must not be lost may be stored here, and nothing that grants
//! a permission.

use gatehouse_model::{ErrorCode, UserError};
use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Runtime};
use tauri_plugin_store::StoreExt;

const FILE: &str = "preferences.json";
const KEY: &str = "preferences";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Preferences {
    theme: Theme,
    /// Language of the windows and of the tray.
    pub(crate) language: Language,
    /// Whether the user was told that Gatehouse keeps running when its window is closed.
    pub(crate) said_keeps_running: bool,
}

/// Light, dark, or as on the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// A language, or that of the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Language {
    #[default]
    #[serde(rename = "system")]
    System,
    #[serde(rename = "en")]
    English,
    #[serde(rename = "zh-CN")]
    SimplifiedChinese,
}

/// The stored preferences; the defaults if there are none or they cannot be parsed.
pub(crate) fn load<R: Runtime>(app: &AppHandle<R>) -> Result<Preferences, UserError> {
    let store = app.store(FILE).map_err(storage_error)?;
    Ok(store.get(KEY).map(read).unwrap_or_default())
}

pub(crate) fn save<R: Runtime>(app: &AppHandle<R>, preferences: Preferences) -> Result<(), UserError> {
    let store = app.store(FILE).map_err(storage_error)?;
    let value = serde_json::to_value(preferences).map_err(|error| {
        UserError::new(ErrorCode::Internal, "The preferences were not kept.").with_cause(error.to_string())
    })?;
    store.set(KEY, value);
    store.save().map_err(storage_error)
}

fn read(value: serde_json::Value) -> Preferences {
    serde_json::from_value(value).unwrap_or_default()
}

fn storage_error(error: tauri_plugin_store::Error) -> UserError {
    UserError::new(ErrorCode::Storage, "The preferences file cannot be used.").with_cause(format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn falls_back_to_default_preferences() {
        let dark = Preferences {
            theme: Theme::Dark,
            language: Language::SimplifiedChinese,
            said_keeps_running: true,
        };
        assert_eq!(read(json!({"theme": "dark", "language": "zh-CN", "saidKeepsRunning": true})), dark);
        assert_eq!(read(serde_json::to_value(dark).unwrap()), dark);
        assert_eq!(
            read(json!({"theme": "dark"})),
            Preferences { theme: Theme::Dark, ..Preferences::default() }
        );
        assert_eq!(read(json!({"theme": "neon"})), Preferences::default());
        assert_eq!(read(json!(7)), Preferences::default());
    }
}
