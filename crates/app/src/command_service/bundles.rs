//! Bundles (UI-2): reading a `.mcpb` file and filling its options in. A server is added only by `servers.add`, with the
//! settings that come out of it.
//!
//! Must never run anything of a bundle.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_integrations::{BundleFile, BundleMachine, BundlePlaces, System};
use gatehouse_model::bundle::{BundlePreview, BundleServer};
use gatehouse_model::command::{BundlesConfigure, BundlesRead};
use gatehouse_model::{ErrorCode, UserError, message};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::AppState;
use super::named_runs::NamedRun;
use crate::disk_work::on_disk;
use crate::server_configs::bundles;

pub(super) async fn read(
    state: &Arc<AppState>,
    wanted: BundlesRead,
    gone: &CancellationToken,
) -> Result<BundlePreview, UserError> {
    let BundlesRead { file, sha256, run } = wanted;
    let path = PathBuf::from(file);
    if !path.is_absolute() {
        return Err(UserError::new(ErrorCode::BadRequest, message!("error.bundles.relativePath")));
    }
    let named = NamedRun::begin(state, run.as_deref(), gone)?;
    let programs = state.servers.program_lookup().await;
    let servers = state.configs.lock().await.clone();
    let (store, cancel) = (Arc::clone(&state.bundles), named.cancel.clone());
    let preview = on_disk(move || {
        let machine = BundleMachine { places: places(), has_program: &|program| programs.has(program) };
        let file = BundleFile { path: &path, sha256: sha256.as_deref() };
        store.read(file, &machine, &servers, &|| cancel.is_cancelled())
    })
    .await??;
    let configs = state.configs.lock().await;
    bundles::sweep(state, &configs, &[]).await;
    Ok(preview)
}

pub(super) async fn configure(
    state: &Arc<AppState>,
    wanted: BundlesConfigure,
) -> Result<BundleServer, UserError> {
    let values: Map<String, Value> = serde_json::from_str(&wanted.values).map_err(|error| {
        UserError::new(ErrorCode::BadRequest, message!("error.bundles.values"))
            .with_cause(format!("{error}."))
    })?;
    let store = Arc::clone(&state.bundles);
    Ok(on_disk(move || store.configure(&wanted.bundle, &values, &wanted.secrets)).await??)
}

/// The user's folders that manifests name. One that the system does not know is the folder that it usually is.
fn places() -> BundlePlaces {
    let home = dirs::home_dir().unwrap_or_else(std::env::temp_dir);
    let in_home = |name: &str| home.join(name);
    BundlePlaces {
        system: System::current(),
        desktop: dirs::desktop_dir().unwrap_or_else(|| in_home("Desktop")),
        documents: dirs::document_dir().unwrap_or_else(|| in_home("Documents")),
        downloads: dirs::download_dir().unwrap_or_else(|| in_home("Downloads")),
        home,
    }
}
