//! The AI applications whose settings files Gatehouse knows: servers are imported from them, and they can be connected.
//! Only their names; `gatehouse-integrations` knows where their files are and what stands in them.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use ts_rs::TS;

/// An AI application. The words are those of `gatehousectl`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum App {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[serde(rename = "vscode")]
    #[strum(serialize = "vscode")]
    VsCode,
    Windsurf,
    Zed,
    Cline,
    Codex,
    Gemini,
    LmStudio,
    #[serde(rename = "opencode")]
    #[strum(serialize = "opencode")]
    OpenCode,
    Continue,
}

impl App {
    /// All of them.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// Its word on the command line and in commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name that its makers give it; the same in all languages.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Cline => "Cline",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::LmStudio => "LM Studio",
            Self::OpenCode => "OpenCode",
            Self::Continue => "Continue",
        }
    }
}
