//! There is one instance for each data folder; a second start hands its arguments over to the first and ends.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use super::data_folder;

/// The application's identifier, the same as in the configuration.
const IDENTIFIER: &str = "app.gatehouse.desktop";

/// The id of the instance that this process is or belongs to.
pub(crate) fn instance_id() -> String {
    data_folder::data_dir_override().map_or_else(|| IDENTIFIER.to_owned(), |folder| id_of_folder(&folder))
}

fn id_of_folder(folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut hasher = DefaultHasher::new();
    whole.hash(&mut hasher);
    format!("{IDENTIFIER}.Folder{:016x}", hasher.finish())
}

/// Hands the arguments over to a running instance, under the name and in the form of `tauri-plugin-single-instance`. Returns
/// whether there is one that took them. The plugin does the same in the middle of the toolkit's start, and ends the process
/// while threads of the toolkit run, which crashes once in a while; so it is done here before the toolkit is loaded.
#[cfg(target_os = "linux")]
pub(crate) fn hand_over() -> bool {
    let name = format!("{}.SingleInstance", instance_id());
    let path = format!("/{}", name.replace('.', "/").replace('-', "_"));
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let folder = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(connection) = zbus::blocking::Connection::session() else { return false };
    let called = connection.call_method(
        Some(name.as_str()),
        path.as_str(),
        Some("org.SingleInstance.DBus"),
        "ExecuteCallback",
        &(arguments, folder),
    );
    called.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_depends_on_folder() {
        let id = |folder| id_of_folder(Path::new(folder));
        assert_eq!(id("/home/ana/a"), id("/home/ana/a"));
        assert_ne!(id("/home/ana/a"), id("/home/ana/b"));
        assert!(id("/home/ana/a").chars().all(|c| c.is_ascii_alphanumeric() || c == '.'));
        let config: serde_json::Value = serde_json::from_str(include_str!("../../tauri.conf.json")).unwrap();
        assert_eq!(config["identifier"], IDENTIFIER);
    }
}
