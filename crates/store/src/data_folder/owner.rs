//! The kinds of processes that own a data folder.

/// The kind of process that runs on the data folder. Permissions granted under one never count under the
/// other: every sealed record exists once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The desktop app.
    Window,
    /// `gatehousectl serve`.
    Serve,
}

impl Owner {
    /// `window` or `serve`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Serve => "serve",
        }
    }
}
