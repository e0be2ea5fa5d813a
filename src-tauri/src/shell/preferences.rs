//! Stores the preferences with the store plugin, which does not write atomically.

use gatehouse_desktop::{Preferences, WindowPlacement};
use gatehouse_model::{ErrorCode, UserError, message};
use serde::Serialize;
use tauri::{AppHandle, Runtime};
use tauri_plugin_store::StoreExt;

const FILE: &str = "preferences.json";
const KEY: &str = "preferences";
const PLACEMENT: &str = "mainWindow";

/// The stored preferences; the defaults if there are none or they cannot be parsed.
pub(crate) fn load<R: Runtime>(app: &AppHandle<R>) -> Result<Preferences, UserError> {
    let store = app.store(FILE).map_err(storage_error)?;
    Ok(store.get(KEY).map(Preferences::from_stored).unwrap_or_default())
}

pub(crate) fn save<R: Runtime>(app: &AppHandle<R>, preferences: Preferences) -> Result<(), UserError> {
    save_value(app, KEY, &preferences)
}

/// Where the main window was when it was closed.
pub(crate) fn load_placement<R: Runtime>(app: &AppHandle<R>) -> Option<WindowPlacement> {
    WindowPlacement::from_stored(app.store(FILE).ok()?.get(PLACEMENT)?)
}

pub(crate) fn save_placement<R: Runtime>(
    app: &AppHandle<R>,
    placement: WindowPlacement,
) -> Result<(), UserError> {
    save_value(app, PLACEMENT, &placement)
}

fn save_value<R: Runtime>(app: &AppHandle<R>, key: &str, value: &impl Serialize) -> Result<(), UserError> {
    let store = app.store(FILE).map_err(storage_error)?;
    let value = serde_json::to_value(value).map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.desktop.preferencesUnsaved"))
            .with_cause(error.to_string())
    })?;
    store.set(key, value);
    store.save().map_err(storage_error)
}

fn storage_error(error: tauri_plugin_store::Error) -> UserError {
    UserError::new(ErrorCode::Storage, message!("error.desktop.preferencesUnusable"))
        .with_cause(format!("{error}."))
}
