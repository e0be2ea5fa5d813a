//! The commands of the shell, each with the one window that may run it. This file has no dependencies,
//! because the build script of `src-tauri` includes it. A command that is not listed here cannot be run
//! by any window.

/// A window of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    Main,
    /// The window with the pending approvals.
    Prompt,
}

impl WindowKind {
    /// The window's label in the toolkit, and the name of its capability file.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Prompt => "prompt",
        }
    }
}

macro_rules! window_commands {
    ($($window:ident { $($command:ident $name:literal,)* })*) => {
        /// A command of the shell.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WindowCommand {
            $($($command,)*)*
        }

        /// Every command of the shell.
        pub const WINDOW_COMMANDS: &[WindowCommand] = &[$($(WindowCommand::$command,)*)*];

        impl WindowCommand {
            /// Name in requests.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$command => $name,)*)*
                }
            }

            /// The window that may run it.
            pub const fn window(self) -> WindowKind {
                match self {
                    $($(Self::$command => WindowKind::$window,)*)*
                }
            }

            /// The command with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                WINDOW_COMMANDS.iter().copied().find(|command| command.name() == name)
            }
        }
    };
}

window_commands! {
    Main {
        Command "command",
        Events "events",
        MainSignals "main_signals",
        StartAgain "start_again",
        Vault "vault",
        UnlockVault "unlock_vault",
        PutVaultAside "put_vault_aside",
        MakeVault "make_vault",
        ChangePassphrase "change_passphrase",
        Preferences "preferences",
        SetPreferences "set_preferences",
        PageState "page_state",
        SetPageState "set_page_state",
        HasPauseShortcut "has_pause_shortcut",
        StartsAtLogin "starts_at_login",
        SetStartsAtLogin "set_starts_at_login",
        UpdateStatus "update_status",
        CheckUpdate "check_update",
        InstallUpdate "install_update",
        CancelUpdate "cancel_update",
        OpenLink "open_link",
        PickFile "pick_file",
        Painted "painted",
        ShowPrompt "show_prompt",
        CloseMain "close_main",
        Quit "quit",
    }
    Prompt {
        PromptPending "prompt_pending",
        PromptAnswer "prompt_answer",
        PromptReveal "prompt_reveal",
        PromptTrustLabels "prompt_trust_labels",
        PromptGenerate "prompt_generate",
        PromptStopGenerating "prompt_stop_generating",
        PromptOpinion "prompt_opinion",
        PromptSignals "prompt_signals",
        PromptPreferences "prompt_preferences",
        PromptPutAway "prompt_put_away",
        PromptFit "prompt_fit",
        PromptOpenMain "prompt_open_main",
        PromptOpenLink "prompt_open_link",
    }
}
