//! Changes the environment of this process before the toolkit starts, which spares it the start of another. Only for
//! variables that nothing has read yet.

use std::ffi::OsStr;
use std::fs;

use gtk::glib;

use super::{is_allowed, missing, withheld_copy};

/// What the dynamic loader, the C library or a library of the toolkit's reads before `main`, by how the names begin. A test
/// finds out what the libraries of the machine read that it runs on; the others may be read by other versions of them.
const READ_BEFORE_MAIN: [&str; 14] = [
    "LD_", "GLIBC_", "MALLOC_", "Malloc", "WebKit", "DYLD_", "G_", "GOBJECT_", "PIXMAN_", "__GL", "GNUTLS_",
    "OPENSSL_", "GST_", "ORC_",
];

/// Besides the main thread, there can be the one in which WebKit's allocator gives back memory. It is started while the
/// libraries are loaded, and reads no variables.
const MOST_THREADS: usize = 2;

/// Whether no thread can be reading a variable.
pub(super) fn has_few_threads() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() <= MOST_THREADS)
}

/// Takes away and adds what [`super::restart`] would. Returns whether it could: not if a variable may have had an effect.
pub(super) fn clean() -> bool {
    let withheld: Vec<_> = std::env::vars_os().filter(|(name, value)| !is_allowed(name, value)).collect();
    if withheld.iter().any(|(name, _)| is_read_before_main(name)) {
        return false;
    }
    // Of a variable that is there twice, the first counts, also for its copy.
    for (name, value) in withheld.into_iter().rev() {
        glib::unsetenv(&name);
        if let Some(copy) = withheld_copy(&name)
            && glib::setenv(copy, value, true).is_err()
        {
            return false;
        }
    }
    missing().all(|(name, value)| glib::setenv(name, value, true).is_ok())
}

fn is_read_before_main(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    READ_BEFORE_MAIN.iter().any(|start| name.starts_with(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;
    use crate::process::environment::is_clean;
    use gatehouse_common::user_environment::variable;

    /// The test has the libraries of the application.
    #[test]
    fn knows_what_libraries_read_before_main() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("early_reads.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/c/early_reads.c");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success());
        let mut program = Command::new(std::env::current_exe().unwrap());
        let ended = program.env_clear().env("LD_PRELOAD", library).output().unwrap();
        let printed = String::from_utf8(ended.stderr).unwrap();
        let names: BTreeSet<&str> = printed.lines().collect();
        assert!(ended.status.success() && names.contains("G_DEBUG"), "{printed}");
        for name in names {
            let name = OsStr::new(name);
            assert!(is_allowed(name, OsStr::new("x")) || is_read_before_main(name), "{name:?}");
        }
    }

    /// Starts this test with variables that steer the window, and with others that have had an effect by then.
    #[test]
    fn takes_away_what_nothing_has_read() {
        const CHILD: &str = "GATEHOUSE_IN_PLACE_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let before = std::env::vars_os().count();
            if clean() {
                assert!(is_clean());
                assert_eq!(std::env::var_os("TAURI_AUTOMATION"), None);
                assert_eq!(variable("TAURI_AUTOMATION").unwrap(), "true");
                println!("cleaned");
            } else {
                assert_eq!(std::env::vars_os().count(), before, "nothing was changed");
                println!("left");
            }
            return;
        }
        let this = "process::environment::in_place::tests::takes_away_what_nothing_has_read";
        for (name, said) in [
            ("WEBKIT_INSPECTOR_SERVER", "cleaned"),
            ("GTK_MODULES", "cleaned"),
            ("G_DEBUG", "left"),
            ("LD_LIBRARY_PATH", "left"),
            ("MALLOC_ARENA_MAX", "left"),
        ] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args([this, "--exact", "--nocapture"]).env_clear();
            let child =
                child.env(CHILD, "1").env("TAURI_AUTOMATION", "true").env(name, "1").output().unwrap();
            let printed = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success() && printed.contains(said), "{name}: {child:?}");
        }
    }
}
