//! Attempts to escape from a folder.

use std::fs;

use super::*;

const LIMIT: u64 = 1024;

struct FolderHarness {
    _ground: tempfile::TempDir,
    outside: PathBuf,
    inside: PathBuf,
    folder: Folder,
}

/// Creates `ground/outside/secret.txt`, and `ground/inside` with `a.txt` and `sub/b.txt`, and opens
/// the latter folder.
fn harness() -> FolderHarness {
    let ground = tempfile::tempdir().unwrap();
    let top = ground.path().canonicalize().unwrap();
    let (outside, inside) = (top.join("outside"), top.join("inside"));
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    fs::write(inside.join("a.txt"), "a").unwrap();
    fs::write(inside.join("sub/b.txt"), "b").unwrap();
    let folder = Folder::open(&inside).unwrap();
    FolderHarness { _ground: ground, outside, inside, folder }
}

impl FolderHarness {
    fn untouched(&self) {
        assert_eq!(fs::read_to_string(self.outside.join("secret.txt")).unwrap(), "secret");
        assert_eq!(fs::read_dir(&self.outside).unwrap().count(), 1);
    }

    /// Asserts that every operation with this path fails.
    fn refuses(&self, path: &str) {
        assert!(self.folder.read(path, LIMIT).is_err(), "read {path:?}");
        assert!(self.folder.entries(path).is_err(), "list {path:?}");
        assert!(self.folder.dir(path).is_err(), "walk {path:?}");
        assert!(self.folder.write(path, b"x").is_err(), "write {path:?}");
        assert!(self.folder.delete(path).is_err(), "delete {path:?}");
        self.untouched();
    }
}

#[test]
fn reads_writes_and_deletes_inside_folder() {
    let harness = harness();
    assert_eq!(harness.folder.read("a.txt", LIMIT).unwrap(), b"a");
    assert_eq!(harness.folder.read("./sub/../sub/b.txt", LIMIT).unwrap(), b"b");
    let absolute = harness.inside.join("sub/b.txt");
    assert_eq!(harness.folder.read(absolute.to_str().unwrap(), LIMIT).unwrap(), b"b");
    assert_eq!(harness.folder.entries("").unwrap().len(), 2);
    assert!(harness.folder.write("new/deep/c.txt", b"long content").unwrap());
    assert!(!harness.folder.write("new/deep/c.txt", b"c").unwrap());
    assert_eq!(fs::read(harness.inside.join("new/deep/c.txt")).unwrap(), b"c");
    harness.folder.delete("new/deep/c.txt").unwrap();
    assert!(!harness.inside.join("new/deep/c.txt").exists());
}

#[test]
fn rejects_parent_and_absolute_paths() {
    let harness = harness();
    let secret = harness.outside.join("secret.txt");
    for path in [
        "../outside/secret.txt",
        "../outside",
        "..",
        "sub/../../outside/secret.txt",
        "./../outside/secret.txt",
        "../inside/../outside/secret.txt",
        secret.to_str().unwrap(),
        "/etc/passwd",
        "/",
        "//etc/passwd",
    ] {
        harness.refuses(path);
    }
    let through = harness.inside.join("../outside/secret.txt");
    harness.refuses(through.to_str().unwrap());
    let beside = format!("{}-other/x", harness.inside.display());
    harness.refuses(&beside);
}

#[test]
fn rejects_nul_in_path() {
    let harness = harness();
    for path in ["a.txt\0", "\0", "a.txt\0/../../outside/secret.txt"] {
        harness.refuses(path);
    }
    let said = harness.folder.read("a.txt\0.png", LIMIT).unwrap_err().to_string();
    assert!(said.contains("NUL") && said.contains("⟦U+0000⟧"), "{said}");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn rejects_symlink_to_outside() {
        let harness = harness();
        symlink(harness.outside.join("secret.txt"), harness.inside.join("absolute")).unwrap();
        symlink("../outside/secret.txt", harness.inside.join("relative")).unwrap();
        symlink("../outside/new.txt", harness.inside.join("dangling")).unwrap();
        for path in ["absolute", "relative", "dangling"] {
            assert!(harness.folder.read(path, LIMIT).is_err(), "read {path}");
            assert!(harness.folder.write(path, b"x").is_err(), "write {path}");
            harness.untouched();
            harness.folder.delete(path).unwrap();
            assert!(fs::symlink_metadata(harness.inside.join(path)).is_err(), "the link itself is gone");
            harness.untouched();
        }
    }

    #[test]
    fn rejects_symlinked_parent_to_outside() {
        let harness = harness();
        symlink(&harness.outside, harness.inside.join("door")).unwrap();
        symlink("..", harness.inside.join("up")).unwrap();
        symlink("door", harness.inside.join("twice")).unwrap();
        symlink("/", harness.inside.join("root")).unwrap();
        for path in [
            "door/secret.txt",
            "up/outside/secret.txt",
            "twice/secret.txt",
            "door/new.txt",
            "root/etc/passwd",
        ] {
            harness.refuses(path);
        }
        for path in ["door", "up", "twice", "root"] {
            assert!(harness.folder.entries(path).is_err(), "list {path}");
            assert!(harness.folder.dir(path).is_err(), "walk {path}");
        }
    }

    #[test]
    fn reads_but_does_not_write_through_symlinks() {
        let harness = harness();
        symlink("a.txt", harness.inside.join("near")).unwrap();
        symlink("sub", harness.inside.join("way")).unwrap();
        assert_eq!(harness.folder.read("near", LIMIT).unwrap(), b"a");
        assert_eq!(harness.folder.read("way/b.txt", LIMIT).unwrap(), b"b");
        for path in ["near", "way/b.txt", "way/new.txt"] {
            let said = harness.folder.write(path, b"x").unwrap_err().to_string();
            assert!(said.contains("through a link"), "{path}: {said}");
        }
        assert!(harness.folder.delete("way/b.txt").is_err());
        assert_eq!(fs::read(harness.inside.join("a.txt")).unwrap(), b"a");
        assert_eq!(fs::read(harness.inside.join("sub/b.txt")).unwrap(), b"b");
    }

    #[test]
    fn rejects_symlink_loop() {
        let harness = harness();
        symlink("two", harness.inside.join("one")).unwrap();
        symlink("one", harness.inside.join("two")).unwrap();
        assert!(harness.folder.read("one", LIMIT).is_err());
        assert!(harness.folder.write("one/x", b"x").is_err());
    }

    #[test]
    fn case_variants_do_not_escape() {
        let harness = harness();
        symlink(&harness.outside, harness.inside.join("Door")).unwrap();
        harness.refuses("Door/SECRET.TXT");
        harness.refuses("../OUTSIDE/secret.txt");
        let shouted = harness.inside.to_str().unwrap().to_uppercase();
        harness.refuses(&format!("{shouted}/../outside/secret.txt"));
        // On a case-sensitive file system these are new names inside the folder; otherwise they are
        // the link.
        for path in ["door/secret.txt", "DOOR/secret.txt"] {
            assert!(harness.folder.read(path, LIMIT).is_err(), "read {path}");
            let made = harness.folder.write(path, b"x");
            harness.untouched();
            assert_eq!(made.is_ok(), harness.inside.join(path).is_file(), "write {path}");
        }
    }

    #[test]
    fn rejects_special_files_without_blocking() {
        let harness = harness();
        let _listener = std::os::unix::net::UnixListener::bind(harness.inside.join("socket")).unwrap();
        assert!(harness.folder.read("socket", LIMIT).unwrap_err().to_string().contains("no ordinary file"));
        assert!(harness.folder.write("socket", b"x").is_err());
        assert!(harness.folder.read("sub", LIMIT).unwrap_err().to_string().contains("a folder"));
        assert!(harness.folder.write("sub", b"x").is_err());
        assert!(harness.folder.delete("sub").is_err());
    }
}

#[test]
fn rejects_too_large_file() {
    let harness = harness();
    fs::write(harness.inside.join("big"), vec![b'x'; 1025]).unwrap();
    let said = harness.folder.read("big", LIMIT).unwrap_err().to_string();
    assert_eq!(said, "\"big\" has 1025 bytes; at most 1024 are allowed.");
}

#[test]
fn requires_existing_absolute_folder() {
    let harness = harness();
    assert!(Folder::open(Path::new("inside")).err().unwrap().to_string().contains("absolute"));
    assert!(
        Folder::open(&harness.inside.join("none")).err().unwrap().to_string().contains("cannot be opened")
    );
    assert!(Folder::open(&harness.inside.join("a.txt")).is_err());
}
