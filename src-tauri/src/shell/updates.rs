//! Updates by the updater plugin. The address and the public key are built in, by variables of the build; a build
//! without both looks for nothing. The plugin verifies the signature of what it downloads before anything is installed.
//! Only a build with the feature `test-door`, which no release has, reads them from its own variables.

use std::time::Duration;

use gatehouse_desktop::UpdateProgress;
use parking_lot::Mutex;
use tauri::{AppHandle, Url};
use tauri_plugin_updater::{Builder, Update, UpdaterExt as _};

/// Name and value of the address where it is said which release is the newest; `https` only.
const ADDRESS: (&str, Option<&str>) = ("GATEHOUSE_UPDATE_URL", option_env!("GATEHOUSE_UPDATE_URL"));
/// Name and value of the public key that releases are signed for.
const PUBLIC_KEY: (&str, Option<&str>) = ("GATEHOUSE_UPDATE_KEY", option_env!("GATEHOUSE_UPDATE_KEY"));
/// Time limit for finding out which release is the newest.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

fn built_in((name, value): (&str, Option<&str>)) -> Option<String> {
    let of_test = if cfg!(feature = "test-door") { std::env::var(name).ok() } else { None };
    of_test.or_else(|| value.map(str::to_owned))
}

/// The updater of the application.
pub(crate) struct SystemUpdates {
    app: AppHandle,
    /// Whether the plugin is there, which is loaded when it is first needed.
    is_loaded: Mutex<bool>,
    /// The release that was found last.
    found: Mutex<Option<Update>>,
}

impl SystemUpdates {
    pub(crate) fn new(app: AppHandle) -> Self {
        Self { app, is_loaded: Mutex::new(false), found: Mutex::new(None) }
    }

    pub(crate) fn is_configured(&self) -> bool {
        built_in(ADDRESS).is_some() && built_in(PUBLIC_KEY).is_some()
    }

    /// Looks for a newer release; its version if there is one.
    pub(crate) async fn find(&self) -> Result<Option<String>, String> {
        let (Some(address), Some(key)) = (built_in(ADDRESS), built_in(PUBLIC_KEY)) else { return Ok(None) };
        let address = address.parse::<Url>().map_err(|error| error.to_string())?;
        self.load()?;
        let updater = self
            .app
            .updater_builder()
            .pubkey(key)
            .endpoints(vec![address])
            .map_err(|error| error.to_string())?
            .timeout(CHECK_TIMEOUT)
            .configure_client(|client| client.https_only(true))
            .build()
            .map_err(|error| error.to_string())?;
        let found = updater.check().await.map_err(|error| error.to_string())?;
        let version = found.as_ref().map(|update| update.version.clone());
        *self.found.lock() = found;
        Ok(version)
    }

    /// Downloads the release that was found, verifies its signature and installs it.
    pub(crate) async fn install(&self, mut on_progress: UpdateProgress) -> Result<(), String> {
        let found = self.found.lock().clone();
        let Some(update) = found else { return Err("no update was found".to_owned()) };
        let mut received = 0_u64;
        let on_chunk = |bytes: usize, total: Option<u64>| {
            received = received.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            on_progress(received, total);
        };
        let package = update.download(on_chunk, || {}).await.map_err(|error| error.to_string())?;
        update.install(package).map_err(|error| error.to_string())
    }

    fn load(&self) -> Result<(), String> {
        let mut is_loaded = self.is_loaded.lock();
        if !*is_loaded {
            self.app.plugin(Builder::new().build()).map_err(|error| error.to_string())?;
            *is_loaded = true;
        }
        Ok(())
    }
}
