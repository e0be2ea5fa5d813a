//! The table of the applications: where the settings file of each is on each system, its format, and where in the document
//! servers stand. Reading and editing the documents is done elsewhere, by this table.

use std::path::PathBuf;

use gatehouse_model::App;

use crate::base_folders::{BaseFolders, System};

/// The language that a settings file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON, with comments and trailing commas where the application reads them.
    Json,
    Toml,
    Yaml,
}

/// Where the servers stand in an application's document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServersPlace {
    /// An object by server name, under this member of the document.
    Map(&'static str),
    /// A list of objects that have a `name` each, under this member of the document.
    List(&'static str),
}

impl ServersPlace {
    /// The member of the document.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Map(key) | Self::List(key) => key,
        }
    }
}

/// What is known of the settings file of an [`App`].
pub trait AppSettings {
    /// The files that may have its settings, as absolute paths, those of the usual edition first. An edition reads only
    /// the files of its own folder.
    fn settings_files(self, folders: &BaseFolders) -> Vec<PathBuf>;

    /// The format of those files.
    fn format(self) -> FileFormat;

    /// Where the servers stand in them.
    fn servers_place(self) -> ServersPlace;
}

impl AppSettings for App {
    fn settings_files(self, folders: &BaseFolders) -> Vec<PathBuf> {
        let home = folders.home();
        let moved = |variable: &str| folders.variable(variable);
        match self {
            Self::ClaudeDesktop => claude_desktop_files(folders),
            Self::ClaudeCode => {
                vec![moved("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.to_owned()).join(".claude.json")]
            }
            Self::Cursor => vec![home.join(".cursor").join("mcp.json")],
            Self::VsCode => vs_code_users(folders).into_iter().map(|user| user.join("mcp.json")).collect(),
            Self::Windsurf => ["windsurf", "windsurf-next"]
                .map(|name| home.join(".codeium").join(name).join("mcp_config.json"))
                .into(),
            Self::Zed => vec![zed_folder(folders).join("settings.json")],
            Self::Cline => cline_files(folders),
            Self::Codex => {
                vec![moved("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml")]
            }
            Self::Gemini => {
                let home = moved("GEMINI_CLI_HOME").unwrap_or_else(|| home.to_owned());
                vec![home.join(".gemini").join("settings.json")]
            }
            Self::LmStudio => [home.join(".lmstudio"), home.join(".cache").join("lm-studio")]
                .map(|folder| folder.join("mcp.json"))
                .into(),
            Self::OpenCode => open_code_files(folders),
            Self::Continue => {
                let folder = moved("CONTINUE_GLOBAL_DIR").unwrap_or_else(|| home.join(".continue"));
                vec![folder.join("config.yaml")]
            }
        }
    }

    fn format(self) -> FileFormat {
        match self {
            Self::Codex => FileFormat::Toml,
            Self::Continue => FileFormat::Yaml,
            Self::ClaudeDesktop
            | Self::ClaudeCode
            | Self::Cursor
            | Self::VsCode
            | Self::Windsurf
            | Self::Zed
            | Self::Cline
            | Self::Gemini
            | Self::LmStudio
            | Self::OpenCode => FileFormat::Json,
        }
    }

    fn servers_place(self) -> ServersPlace {
        match self {
            Self::ClaudeDesktop
            | Self::ClaudeCode
            | Self::Cursor
            | Self::Windsurf
            | Self::Cline
            | Self::Gemini
            | Self::LmStudio => ServersPlace::Map("mcpServers"),
            Self::VsCode => ServersPlace::Map("servers"),
            Self::Zed => ServersPlace::Map("context_servers"),
            Self::Codex => ServersPlace::Map("mcp_servers"),
            Self::OpenCode => ServersPlace::Map("mcp"),
            Self::Continue => ServersPlace::List("mcpServers"),
        }
    }
}

fn claude_desktop_files(folders: &BaseFolders) -> Vec<PathBuf> {
    const NAME: &str = "claude_desktop_config.json";
    let usual = folders.app_config().join("Claude").join(NAME);
    if folders.system != System::Windows {
        return vec![usual];
    }
    // Windows keeps the settings of the packaged application here. While it is installed, nothing reads the usual file.
    let package = folders.local_app_data().join("Packages").join("Claude_pzs8sxrjxfjjc");
    let packaged = package.join("LocalCache").join("Roaming").join("Claude").join(NAME);
    if package.is_dir() { vec![packaged, usual] } else { vec![usual] }
}

/// The folder `User` of VS Code and its editions, the stable one first.
fn vs_code_users(folders: &BaseFolders) -> Vec<PathBuf> {
    let config = folders.app_config();
    let portable = folders.variable("VSCODE_PORTABLE").map(|folder| folder.join("user-data"));
    let editions = ["Code", "Code - Insiders", "VSCodium"].map(|edition| config.join(edition));
    portable.into_iter().chain(editions).map(|folder| folder.join("User")).collect()
}

fn zed_folder(folders: &BaseFolders) -> PathBuf {
    match folders.system {
        System::Windows => folders.app_config().join("Zed"),
        System::MacOs => folders.home().join(".config").join("zed"),
        System::Linux => folders.xdg_config().join("zed"),
    }
}

/// Cline is an extension of several editors; its newer versions share one folder.
fn cline_files(folders: &BaseFolders) -> Vec<PathBuf> {
    const NAME: &str = "cline_mcp_settings.json";
    let own = folders.variable("CLINE_DATA_DIR").unwrap_or_else(|| {
        folders.variable("CLINE_DIR").unwrap_or_else(|| folders.home().join(".cline")).join("data")
    });
    let editors = ["Cursor", "Windsurf"].map(|editor| folders.app_config().join(editor).join("User"));
    let extension =
        |user: PathBuf| user.join("globalStorage").join("saoudrizwan.claude-dev").join("settings").join(NAME);
    let extensions = vs_code_users(folders).into_iter().chain(editors).map(extension);
    folders
        .variable("CLINE_MCP_SETTINGS_PATH")
        .into_iter()
        .chain([own.join("settings").join(NAME)])
        .chain(extensions)
        .collect()
}

/// OpenCode reads all of them. The name `config.json` is that of its first versions.
fn open_code_files(folders: &BaseFolders) -> Vec<PathBuf> {
    let global = folders.xdg_config().join("opencode");
    let oldest = global.join("config.json");
    let moved = folders.variable("OPENCODE_CONFIG_DIR");
    let in_folders = moved
        .into_iter()
        .chain([global])
        .flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name)));
    folders.variable("OPENCODE_CONFIG").into_iter().chain(in_folders).chain([oldest]).collect()
}
