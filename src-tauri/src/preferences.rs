//! How the user likes the windows to look, and what was said to them already. Kept with the store plugin, which does not write
//! atomically: nothing may be here that must not be lost, and nothing that confers a right.

use gatehouse_model::{ErrorCode, Problem};
use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Runtime};
use tauri_plugin_store::StoreExt;

const FILE: &str = "preferences.json";
const KEY: &str = "preferences";

/// All preferences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Preferences {
    theme: Theme,
    /// Language of the windows and of the tray.
    pub(crate) language: Language,
    /// Whether the user was told that Gatehouse keeps running when its window is closed.
    pub(crate) said_keeps_running: bool,
}

/// Light, dark, or as the desktop has it.
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
    /// As the desktop has it.
    #[default]
    #[serde(rename = "system")]
    System,
    /// English.
    #[serde(rename = "en")]
    English,
    /// 简体中文
    #[serde(rename = "zh-CN")]
    SimplifiedChinese,
}

/// What was kept; the defaults where nothing was, or where it cannot be read.
pub(crate) fn load<R: Runtime>(app: &AppHandle<R>) -> Result<Preferences, Problem> {
    let store = app.store(FILE).map_err(unusable)?;
    Ok(store.get(KEY).map(read).unwrap_or_default())
}

/// Keeps them.
pub(crate) fn save<R: Runtime>(app: &AppHandle<R>, preferences: Preferences) -> Result<(), Problem> {
    let store = app.store(FILE).map_err(unusable)?;
    let value = serde_json::to_value(preferences).map_err(|error| {
        Problem::new(ErrorCode::Internal, "The preferences were not kept.").why(error.to_string())
    })?;
    store.set(KEY, value);
    store.save().map_err(unusable)
}

fn read(value: serde_json::Value) -> Preferences {
    serde_json::from_value(value).unwrap_or_default()
}

fn unusable(error: tauri_plugin_store::Error) -> Problem {
    Problem::new(ErrorCode::Storage, "The preferences file cannot be used.").why(format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_read_is_the_default() {
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
