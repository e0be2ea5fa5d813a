//! Resolves where a path leads (PERM-5), including `..` and links, and also if the last components don't exist
//! yet. If it can't be determined for certain, the result is `None`, and no condition holds for it.

pub(crate) mod path_lookup;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf, Prefix};

/// Longest path that is resolved, in bytes. No operating system accepts a longer one.
const LONGEST: usize = if cfg!(windows) { 32 * 1024 } else { 4096 };

/// A resolved path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealPath {
    /// The absolute path without links and `..`.
    pub path: String,
    /// Whether it is an existing folder.
    pub is_folder: bool,
}

/// Resolves paths.
pub trait PathResolver: Send + Sync {
    /// Resolves an absolute path; `None` if it can't be resolved. Blocks as long as the file system does,
    /// which may be forever on a network share or a FUSE mount.
    fn resolve(&self, path: &str) -> Option<RealPath>;
}

/// The file systems of this computer.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemPaths;

impl PathResolver for SystemPaths {
    fn resolve(&self, path: &str) -> Option<RealPath> {
        if !is_local(path) {
            return None;
        }
        // The longest existing prefix is resolved by the operating system. Only plain names may follow it,
        // since `..` after something that doesn't exist has no certain meaning.
        let mut head = PathBuf::from(path);
        let mut tail: Vec<OsString> = Vec::new();
        loop {
            match head.canonicalize() {
                Ok(mut real) => {
                    let is_folder = tail.is_empty() && real.is_dir();
                    real.extend(tail.iter().rev());
                    let path = real.into_os_string().into_string().ok()?;
                    return Some(RealPath { path, is_folder });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    // A link whose target doesn't exist may lead elsewhere.
                    if head.symlink_metadata().is_ok() {
                        return None;
                    }
                    let Some(Component::Normal(name)) = head.components().next_back() else { return None };
                    tail.push(name.to_owned());
                    if !head.pop() {
                        return None;
                    }
                }
                Err(_) => return None,
            }
        }
    }
}

/// Whether this is an absolute path on a disk of this computer. Other paths aren't looked up.
pub(crate) fn is_local(text: &str) -> bool {
    let path = Path::new(text);
    // A Windows share or device: even looking at it contacts another machine, or has an effect.
    let is_elsewhere = match path.components().next() {
        Some(Component::Prefix(prefix)) => {
            !matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_))
        }
        _ => false,
    };
    path.is_absolute() && !is_elsewhere && text.len() <= LONGEST && !text.contains('\0')
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn resolve(path: &str) -> Option<String> {
        Some(SystemPaths.resolve(path)?.path)
    }

    #[test]
    fn resolves_links_and_dots_or_returns_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("in/deep")).unwrap();
        std::fs::create_dir(root.join("out")).unwrap();
        std::os::unix::fs::symlink(root.join("out"), root.join("in/link")).unwrap();
        std::os::unix::fs::symlink(root.join("nowhere"), root.join("in/dangling")).unwrap();
        let at = |path: &str| resolve(&format!("{}/{path}", root.display()));
        let is = |path: &str| Some(root.join(path).to_str().unwrap().to_owned());
        assert_eq!(at("in/deep/../new.txt"), is("in/new.txt"));
        assert_eq!(at("in/../out/x"), is("out/x"));
        assert_eq!(at("in/link/x/y"), is("out/x/y"));
        assert_eq!(at("in/dangling"), None);
        assert_eq!(at("in/dangling/x"), None);
        assert_eq!(at("in/none/../../x"), None);
        assert_eq!(resolve("relative/x"), None);
        assert_eq!(resolve(""), None);
        assert_eq!(resolve("/a\0b"), None);
        assert!(resolve(&format!("/{}", "a/".repeat(100))).is_some());
        assert_eq!(resolve(&format!("/{}", "a/".repeat(LONGEST))), None);
    }

    #[test]
    fn only_what_is_there_is_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        for (name, is_folder) in [(".", true), ("file", false), ("link", true), ("new", false)] {
            let real = SystemPaths.resolve(&format!("{}/{name}", root.display())).unwrap();
            assert_eq!(real.is_folder, is_folder, "{name}");
        }
    }

    /// A grant "only in this folder" on a real disk: each path, its kind, and whether the condition holds.
    #[test]
    fn folder_condition_follows_the_real_path() {
        use gatehouse_mcp_wire::json::read;
        use gatehouse_model::grant::{Condition, ConditionTest};
        use gatehouse_policy::conditions::{ConditionOutcome, Conditions};
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        for folder in ["in/deep/er", "in/late", "in/caf\u{e9}", "out/deep", "inside", "IN"] {
            std::fs::create_dir_all(format!("{root}/{folder}")).unwrap();
        }
        std::fs::write(format!("{root}/in/file"), "x").unwrap();
        for (link, to) in [
            ("in/down", "in/deep/er"),
            ("in/up", "out/deep"),
            ("in/nowhere", "none"),
            ("in/round", "in/round"),
            ("in/na\u{ef}ve", "out"),
            ("way-in", "in/deep"),
        ] {
            symlink(format!("{root}/{to}"), format!("{root}/{link}")).unwrap();
        }
        let inside = |folder: &str| {
            let test = ConditionTest::Inside { folder: format!("{root}/{folder}") };
            Conditions::new(&[Condition { pointer: "/p".to_owned(), test }])
        };
        let held = |conditions: &Conditions, path: &str| {
            let path = path.replace('@', &root).replace('\\', "\\\\").replace('\0', "\\u0000");
            conditions.evaluate(&read(&format!(r#"{{"p":"{path}"}}"#)).unwrap(), &resolve)
        };
        let only = inside("in");
        for (path, what, expected) in [
            ("@/in/file", "a file", ConditionOutcome::Yes),
            ("@/in", "the folder", ConditionOutcome::Yes),
            ("@/in/new", "a new file", ConditionOutcome::Yes),
            ("@/in/new/er/file", "new folders", ConditionOutcome::Yes),
            ("@/in/deep/../new", "up and down", ConditionOutcome::Yes),
            ("@//in/./deep//file", "idle steps", ConditionOutcome::Yes),
            ("@/in/down/x", "a link that stays inside", ConditionOutcome::Yes),
            ("@/in/caf\u{e9}/x", "letters of one form", ConditionOutcome::Yes),
            ("@/in/up/x", "a link out", ConditionOutcome::No),
            (
                "@/in/up/../x",
                "up behind a link out: elsewhere by the disk, inside by the text",
                ConditionOutcome::Unknown,
            ),
            (
                "@/way-in/../x",
                "up behind a link in: inside by the disk, elsewhere by the text",
                ConditionOutcome::Unknown,
            ),
            ("@/way-in/x", "a link in", ConditionOutcome::Yes),
            ("@/in/nowhere", "a link to nothing", ConditionOutcome::Unknown),
            ("@/in/nowhere/x", "behind a link to nothing", ConditionOutcome::Unknown),
            ("@/in/round/x", "a link to itself", ConditionOutcome::Unknown),
            ("@/in/file/x", "behind a file", ConditionOutcome::Unknown),
            ("@/in/none/../../out", "up behind what is not there", ConditionOutcome::Unknown),
            ("@/in/nai\u{308}ve/x", "the other form of the letters of a link out", ConditionOutcome::Unknown),
            ("@/inside/x", "a folder whose name begins alike", ConditionOutcome::No),
            ("@/IN/x", "another case, which some disks fold", ConditionOutcome::Unknown),
            ("@/out/x", "elsewhere", ConditionOutcome::No),
            ("in/file", "relative", ConditionOutcome::Unknown),
            ("~/in/file", "from home", ConditionOutcome::Unknown),
            ("file://@/in/file", "an address", ConditionOutcome::Unknown),
            ("@/in/a\0b", "a zero byte", ConditionOutcome::Unknown),
            ("@/in/file ", "a blank at the end", ConditionOutcome::Unknown),
            ("@/in/.. /out", "a blank behind dots", ConditionOutcome::Unknown),
            ("@/in/file.", "a dot at the end", ConditionOutcome::Unknown),
            ("@/in/..\\out", "a backslash", ConditionOutcome::Unknown),
            ("@/in/%2e%2e/out", "escapes", ConditionOutcome::Unknown),
        ] {
            assert_eq!(held(&only, path), expected, "{path}: {what}");
        }

        // A link that is created after the grant, in place of a folder and of the granted folder itself.
        assert_eq!(held(&only, "@/in/late/x"), ConditionOutcome::Yes);
        std::fs::remove_dir(format!("{root}/in/late")).unwrap();
        symlink(format!("{root}/out"), format!("{root}/in/late")).unwrap();
        assert_eq!(held(&only, "@/in/late/x"), ConditionOutcome::No);
        let whole = inside("inside");
        assert_eq!(held(&whole, "@/inside/x"), ConditionOutcome::Yes);
        std::fs::remove_dir(format!("{root}/inside")).unwrap();
        symlink(format!("{root}/out"), format!("{root}/inside")).unwrap();
        assert_eq!(held(&whole, "@/inside/x"), ConditionOutcome::Unknown);
        assert_eq!(held(&whole, "@/out/x"), ConditionOutcome::Unknown);
    }
}

#[cfg(test)]
#[cfg(windows)]
mod windows_tests {
    use super::*;

    #[test]
    fn resolves_only_disk_paths() {
        for path in [r"\\127.0.0.1\c$\Windows", r"\\?\UNC\127.0.0.1\c$", r"\\.\pipe\x", r"\\?\GLOBALROOT\x"] {
            assert_eq!(SystemPaths.resolve(path), None, "{path}");
        }
        assert!(SystemPaths.resolve(r"C:\Windows").is_some());
    }
}
