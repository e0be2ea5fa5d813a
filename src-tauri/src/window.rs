//! Builds the application and its one window. The window shows Gatehouse's own page and can be led to
//! no other address. The application ends when the core has stopped, and not before.

use gatehouse_model::Problem;
use tauri::webview::WebviewWindowBuilder;
use tauri::{App, AppHandle, Manager, RunEvent, Url};

use crate::host::Host;
use crate::{address, commands};

/// Label of the main window.
pub(crate) const MAIN: &str = "main";

/// Why the application could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The toolkit refused.
    #[error(transparent)]
    Toolkit(#[from] tauri::Error),
    /// Something of Gatehouse's own.
    #[error(transparent)]
    Gatehouse(#[from] Problem),
}

/// Runs until the last window is closed and the core has stopped.
pub(crate) fn run() -> Result<(), StartError> {
    let app = tauri::Builder::default()
        .plugin(tauri_plugin_store::Builder::new().build())
        .invoke_handler(tauri::generate_handler![
            commands::status,
            commands::start_again,
            commands::events,
            commands::preferences,
            commands::set_preferences,
            commands::open_link,
        ])
        .setup(|app| set_up(app).map_err(Into::into))
        .build(tauri::generate_context!())?;
    app.run(|app, event| {
        if let RunEvent::ExitRequested { api, .. } = event {
            let host = app.state::<Host>();
            if !host.is_quitting() {
                api.prevent_exit();
                end(app, host.inner().clone());
            }
        }
    });
    Ok(())
}

fn set_up(app: &App) -> Result<(), StartError> {
    let data_dir = address::data_dir(app.handle())?;
    // Before anything is written there. What is wrong with the folder is said again by the core.
    let log = gatehouse_app::prepare_folder(&data_dir).map_err(Problem::from);
    if let Err(problem) = log.and_then(|folder| gatehouse_app::logging::start(&folder)) {
        eprintln!("Gatehouse writes no log: {problem}");
    }
    let (host, starting) = Host::new(data_dir)?;
    app.manage(host.clone());
    let handle = app.handle().clone();
    host.spawn(async move {
        asked_to_end().await;
        handle.exit(0);
    });
    // Not a task of the host's: the end waits for it by itself, and must not cut it short.
    tauri::async_runtime::spawn(async move { host.start(starting).await });
    Ok(open_main(app)?)
}

/// Stops the core, and then ends the application.
fn end(app: &AppHandle, host: Host) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        host.stop().await;
        app.exit(0);
    });
}

/// Waits until somebody asks the process to end.
async fn asked_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "Ctrl+C cannot be heard");
        std::future::pending::<()>().await;
    }
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
