//! Whether a tray can be created at all. On Linux the toolkit aborts the whole program if the library
//! for trays is missing, so its presence has to be checked first.

/// Libraries that the toolkit can use.
#[cfg(target_os = "linux")]
const NAMES: [&str; 2] = ["libayatana-appindicator3.so.1", "libappindicator3.so.1"];

/// Whether the library is where the dynamic loader looks.
#[cfg(target_os = "linux")]
pub(super) fn is_available() -> bool {
    let listed = std::fs::read("/etc/ld.so.cache").is_ok_and(|cache| contains_tray_library(&cache));
    let named = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].map(std::path::PathBuf::from);
    listed
        || std::env::split_paths(&named)
            .chain(usual)
            .any(|folder| NAMES.iter().any(|name| folder.join(name).exists()))
}

/// Other desktops need no library.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_available() -> bool {
    true
}

/// Whether the loader's cache lists one of the libraries. Names stand alone or end a path.
#[cfg(target_os = "linux")]
fn contains_tray_library(cache: &[u8]) -> bool {
    cache
        .split(|byte| *byte == 0 || *byte == b'/')
        .any(|entry| NAMES.iter().any(|name| entry == name.as_bytes()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn matches_whole_library_names() {
        assert!(contains_tray_library(b"glibc\0libz.so.1\0libayatana-appindicator3.so.1\0/usr/lib/x\0"));
        assert!(contains_tray_library(b"glibc\0/usr/lib/libappindicator3.so.1\0"));
        assert!(!contains_tray_library(b"libz.so.1\0libappindicator3.so.10\0"));
        assert!(!contains_tray_library(b""));
    }
}
