//! The folders that settings files of applications are in. Computed from a home folder and a lookup of variables that are
//! passed in; nothing is read from the process's environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables by which users move settings files of applications, or the folders of a system.
const VARIABLES: [&str; 13] = [
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "CONTINUE_GLOBAL_DIR",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "CLINE_MCP_SETTINGS_PATH",
    "VSCODE_PORTABLE",
];

/// An operating system, as far as it decides where files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    /// The one that this program was built for. Other Unix systems count as Linux.
    #[must_use]
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// Where applications keep the settings of one user.
#[derive(Clone, Debug)]
pub struct BaseFolders {
    pub(crate) system: System,
    home: PathBuf,
    variables: BTreeMap<&'static str, PathBuf>,
}

impl BaseFolders {
    /// `variable` looks up a variable of the user's environment. Values that are no absolute path are ignored.
    pub fn new(
        system: System,
        home: impl Into<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let absolute =
            |name: &&'static str| variable(name).map(PathBuf::from).filter(|value| value.is_absolute());
        let variables = VARIABLES.iter().filter_map(|name| Some((*name, absolute(name)?))).collect();
        Self { system, home: home.into(), variables }
    }

    /// The user's home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder for the settings of command line programs: `$XDG_CONFIG_HOME`, else `~/.config`, on all systems.
    #[must_use]
    pub fn xdg_config(&self) -> PathBuf {
        self.variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    /// The folder in which desktop applications keep the settings of a user.
    #[must_use]
    pub fn app_config(&self) -> PathBuf {
        match self.system {
            System::Linux => self.xdg_config(),
            System::MacOs => self.home.join("Library").join("Application Support"),
            System::Windows => {
                self.variable("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
            }
        }
    }

    /// The folder of Windows for data that stays on this computer.
    pub(crate) fn local_app_data(&self) -> PathBuf {
        self.variable("LOCALAPPDATA").unwrap_or_else(|| self.home.join("AppData").join("Local"))
    }

    /// A path in a variable of the user's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).cloned()
    }
}
