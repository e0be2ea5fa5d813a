//! Preferences of appearance and of notifications, and which notices were shown already. Stores of preferences need not write
//! atomically: nothing that must not be lost may be stored here, and nothing that grants a permission.

use gatehouse_model::UserError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub trait PreferencesStore: Send + Sync {
    /// The stored preferences; the defaults if there are none or they cannot be parsed.
    fn load_preferences(&self) -> Result<Preferences, UserError>;

    /// Stores the preferences.
    fn save_preferences(&self, preferences: Preferences) -> Result<(), UserError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preferences {
    pub theme: Theme,
    /// Language of the windows and of the tray.
    pub language: LanguagePreference,
    /// Whether the user was told that Gatehouse keeps running when its window is closed.
    pub said_keeps_running: bool,
    /// Whether the first steps were finished or skipped, so that they aren't shown by themselves.
    pub first_run_done: bool,
    /// Whether system notifications are shown.
    pub notifications: bool,
    /// Whether the desktop's sound goes with them.
    pub notification_sound: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            language: LanguagePreference::default(),
            said_keeps_running: false,
            first_run_done: false,
            notifications: true,
            notification_sound: false,
        }
    }
}

impl Preferences {
    /// Parses stored preferences; the defaults if they cannot be parsed.
    #[must_use]
    pub fn from_stored(value: Value) -> Self {
        serde_json::from_value(value).unwrap_or_default()
    }
}

/// Light, dark, or as on the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// A language, or that of the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LanguagePreference {
    #[default]
    #[serde(rename = "system")]
    System,
    #[serde(rename = "en")]
    English,
    #[serde(rename = "zh-CN")]
    SimplifiedChinese,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn falls_back_to_default_preferences() {
        let read = Preferences::from_stored;
        let dark = Preferences {
            theme: Theme::Dark,
            language: LanguagePreference::SimplifiedChinese,
            said_keeps_running: true,
            first_run_done: true,
            notifications: false,
            notification_sound: true,
        };
        let stored = json!({
            "theme": "dark", "language": "zh-CN", "saidKeepsRunning": true, "firstRunDone": true,
            "notifications": false, "notificationSound": true,
        });
        assert_eq!(read(stored), dark);
        assert_eq!(read(serde_json::to_value(dark).unwrap()), dark);
        assert_eq!(
            read(json!({"theme": "dark"})),
            Preferences { theme: Theme::Dark, ..Preferences::default() }
        );
        assert_eq!(read(json!({"theme": "neon"})), Preferences::default());
        assert_eq!(read(json!(7)), Preferences::default());
    }
}
