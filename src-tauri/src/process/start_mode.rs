//! How the application was started: with its window, or in the background as at login.

/// The argument for a start without a window.
pub(crate) const HIDDEN: &str = "--hidden";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartMode {
    Window,
    /// Only the tray, until the user asks for the window.
    Hidden,
}

impl StartMode {
    /// The mode of this process.
    pub(crate) fn of_process() -> Self {
        Self::from_args(std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()))
    }

    pub(crate) fn from_args(args: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let is_hidden = args.into_iter().any(|arg| arg.as_ref() == HIDDEN);
        if is_hidden { Self::Hidden } else { Self::Window }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_hidden_only_when_told() {
        for (args, expected) in [
            (&[][..], StartMode::Window),
            (&["--hidden"], StartMode::Hidden),
            (&["other", "--hidden"], StartMode::Hidden),
            (&["--hidden=no"], StartMode::Window),
            (&["hidden"], StartMode::Window),
        ] {
            assert_eq!(StartMode::from_args(args), expected, "{args:?}");
        }
    }
}
