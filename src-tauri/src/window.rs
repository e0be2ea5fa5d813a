//! Builds the application and its one window. The window shows Gatehouse's own page and can be led to
//! no other address.

use tauri::webview::WebviewWindowBuilder;
use tauri::{App, Url};

use crate::commands;

/// Label of the main window.
pub(crate) const MAIN: &str = "main";

/// Runs until the last window is closed.
pub(crate) fn run() -> tauri::Result<()> {
    tauri::Builder::default()
        .plugin(tauri_plugin_store::Builder::new().build())
        .invoke_handler(tauri::generate_handler![
            commands::status,
            commands::preferences,
            commands::set_preferences,
            commands::open_link,
        ])
        .setup(|app| open_main(app).map_err(Into::into))
        .run(tauri::generate_context!())
}

fn open_main(app: &App) -> tauri::Result<()> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN);
    let config = config.ok_or(tauri::Error::WindowNotFound)?.clone();
    WebviewWindowBuilder::from_config(app.handle(), &config)?.on_navigation(is_own_page).build()?;
    Ok(())
}

/// Whether an address is the page inside the program.
fn is_own_page(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("tauri", Some("localhost")) => true,
        ("http" | "https", Some("tauri.localhost")) => cfg!(any(windows, target_os = "android")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_page_is_ever_shown() {
        for (address, own) in [
            ("tauri://localhost/index.html", true),
            ("tauri://elsewhere/", false),
            ("https://example.org/", false),
            ("http://localhost/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,hi", false),
        ] {
            assert_eq!(Url::parse(address).is_ok_and(|url| is_own_page(&url)), own, "{address}");
        }
    }
}
