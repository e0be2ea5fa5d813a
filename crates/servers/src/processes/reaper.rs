//! Finds and ends processes that Gatehouse's children left behind. Only processes in a group that
//! Gatehouse created, or with its marker, are ever signalled.

/// Name of the environment variable with the marker.
pub(crate) const MARKER: &str = "GATEHOUSE_CHILD";

/// The signal to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessSignal {
    /// None: only check for existence.
    Nothing,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

#[cfg(unix)]
impl ProcessSignal {
    fn signal(self) -> Option<nix::sys::signal::Signal> {
        match self {
            Self::Nothing => None,
            Self::Terminate => Some(nix::sys::signal::Signal::SIGTERM),
            Self::Kill => Some(nix::sys::signal::Signal::SIGKILL),
        }
    }
}

/// Signals a group. `true` if it has any member.
#[cfg(unix)]
pub(crate) fn signal_group(group: Option<i32>, kind: ProcessSignal) -> bool {
    // 0 would signal our own group, and 1 every process (`kill(-1)`).
    match group.filter(|group| *group > 1) {
        Some(group) => nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), kind.signal()).is_ok(),
        None => false,
    }
}

/// On Windows a job object contains all descendants and ends with the process.
#[cfg(not(unix))]
pub(crate) fn signal_group(_: Option<i32>, _: ProcessSignal) -> bool {
    false
}

/// Whether a group has any member.
pub(crate) fn is_group_alive(group: Option<i32>) -> bool {
    signal_group(group, ProcessSignal::Nothing)
}

/// Signals every other process whose marker is `wanted`. `true` if there was one.
#[cfg(target_os = "linux")]
pub(crate) fn signal_marked(wanted: &dyn Fn(&str) -> bool, kind: ProcessSignal) -> bool {
    let own = nix::unistd::getpid();
    let mut found = false;
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let pid = nix::unistd::Pid::from_raw(pid);
        // The environment of another user's process cannot be read, and a process that has exited
        // has none.
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
        if pid == own || !marker_of(&environ).is_some_and(wanted) {
            continue;
        }
        found |= nix::sys::signal::kill(pid, kind.signal()).is_ok();
    }
    found
}

/// Only Linux exposes the environment of a process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal_marked(_: &dyn Fn(&str) -> bool, _: ProcessSignal) -> bool {
    false
}

#[cfg(any(target_os = "linux", test))]
fn marker_of(environ: &[u8]) -> Option<&str> {
    let name = MARKER.as_bytes();
    environ
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(name)?.strip_prefix(b"="))
        .and_then(|marker| std::str::from_utf8(marker).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_marker_by_full_name() {
        assert_eq!(marker_of(b"PATH=/bin\0GATEHOUSE_CHILD=r/s/1\0X=Y\0"), Some("r/s/1"));
        assert_eq!(marker_of(b"NOT_GATEHOUSE_CHILD=r\0GATEHOUSE_CHILDREN=r\0"), None);
        assert_eq!(marker_of(b""), None);
    }

    #[test]
    fn never_signals_own_or_all_groups() {
        for group in [None, Some(0), Some(1), Some(-1)] {
            assert!(!signal_group(group, ProcessSignal::Kill));
        }
    }
}
