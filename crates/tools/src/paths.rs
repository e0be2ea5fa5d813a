//! Where a path really leads (PERM-5): `..` and links resolved, also where the end of it does not
//! exist yet. What cannot be told for certain is `None`, and no condition holds for it.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Resolves an absolute path.
pub(crate) fn resolve(path: &str) -> Option<String> {
    let path = Path::new(path);
    if !path.is_absolute() || path.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    // The longest part that exists is resolved by the system; behind it there may be only plain
    // names, since `..` behind something that does not exist leads nowhere certain.
    let mut head: PathBuf = path.to_owned();
    let mut tail: Vec<OsString> = Vec::new();
    loop {
        match head.canonicalize() {
            Ok(mut real) => {
                real.extend(tail.iter().rev());
                return real.into_os_string().into_string().ok();
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A link whose target does not exist leads elsewhere.
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_are_resolved_and_doubt_is_nothing() {
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
    }
}
