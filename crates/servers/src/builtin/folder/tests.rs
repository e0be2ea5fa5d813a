//! Attempts to escape from a folder.

use std::fs;

use super::*;

const LIMIT: u64 = 1024;

struct House {
    _ground: tempfile::TempDir,
    outside: PathBuf,
    inside: PathBuf,
    folder: Folder,
}

/// Creates `ground/outside/secret.txt`, and `ground/inside` with `a.txt` and `sub/b.txt`, and opens
/// the latter folder.
fn house() -> House {
    let ground = tempfile::tempdir().unwrap();
    let top = ground.path().canonicalize().unwrap();
    let (outside, inside) = (top.join("outside"), top.join("inside"));
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    fs::write(inside.join("a.txt"), "a").unwrap();
    fs::write(inside.join("sub/b.txt"), "b").unwrap();
    let folder = Folder::open(&inside).unwrap();
    House { _ground: ground, outside, inside, folder }
}

impl House {
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
fn what_is_inside_can_be_used() {
    let house = house();
    assert_eq!(house.folder.read("a.txt", LIMIT).unwrap(), b"a");
    assert_eq!(house.folder.read("./sub/../sub/b.txt", LIMIT).unwrap(), b"b");
    let absolute = house.inside.join("sub/b.txt");
    assert_eq!(house.folder.read(absolute.to_str().unwrap(), LIMIT).unwrap(), b"b");
    assert_eq!(house.folder.entries("").unwrap().len(), 2);
    assert!(house.folder.write("new/deep/c.txt", b"long content").unwrap());
    assert!(!house.folder.write("new/deep/c.txt", b"c").unwrap());
    assert_eq!(fs::read(house.inside.join("new/deep/c.txt")).unwrap(), b"c");
    house.folder.delete("new/deep/c.txt").unwrap();
    assert!(!house.inside.join("new/deep/c.txt").exists());
}

#[test]
fn parents_and_absolute_paths_lead_nowhere() {
    let house = house();
    let secret = house.outside.join("secret.txt");
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
        house.refuses(path);
    }
    let through = house.inside.join("../outside/secret.txt");
    house.refuses(through.to_str().unwrap());
    let beside = format!("{}-other/x", house.inside.display());
    house.refuses(&beside);
}

#[test]
fn nul_is_refused_before_the_system_sees_it() {
    let house = house();
    for path in ["a.txt\0", "\0", "a.txt\0/../../outside/secret.txt"] {
        house.refuses(path);
    }
    let said = house.folder.read("a.txt\0.png", LIMIT).unwrap_err().to_string();
    assert!(said.contains("NUL") && said.contains("⟦U+0000⟧"), "{said}");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_points_out_is_refused() {
        let house = house();
        symlink(house.outside.join("secret.txt"), house.inside.join("absolute")).unwrap();
        symlink("../outside/secret.txt", house.inside.join("relative")).unwrap();
        symlink("../outside/new.txt", house.inside.join("dangling")).unwrap();
        for path in ["absolute", "relative", "dangling"] {
            assert!(house.folder.read(path, LIMIT).is_err(), "read {path}");
            assert!(house.folder.write(path, b"x").is_err(), "write {path}");
            house.untouched();
            house.folder.delete(path).unwrap();
            assert!(fs::symlink_metadata(house.inside.join(path)).is_err(), "the link itself is gone");
            house.untouched();
        }
    }

    #[test]
    fn a_parent_that_is_a_link_out_is_refused() {
        let house = house();
        symlink(&house.outside, house.inside.join("door")).unwrap();
        symlink("..", house.inside.join("up")).unwrap();
        symlink("door", house.inside.join("twice")).unwrap();
        symlink("/", house.inside.join("root")).unwrap();
        for path in [
            "door/secret.txt",
            "up/outside/secret.txt",
            "twice/secret.txt",
            "door/new.txt",
            "root/etc/passwd",
        ] {
            house.refuses(path);
        }
        for path in ["door", "up", "twice", "root"] {
            assert!(house.folder.entries(path).is_err(), "list {path}");
            assert!(house.folder.dir(path).is_err(), "walk {path}");
        }
    }

    #[test]
    fn a_link_inside_is_read_but_never_written_through() {
        let house = house();
        symlink("a.txt", house.inside.join("near")).unwrap();
        symlink("sub", house.inside.join("way")).unwrap();
        assert_eq!(house.folder.read("near", LIMIT).unwrap(), b"a");
        assert_eq!(house.folder.read("way/b.txt", LIMIT).unwrap(), b"b");
        for path in ["near", "way/b.txt", "way/new.txt"] {
            let said = house.folder.write(path, b"x").unwrap_err().to_string();
            assert!(said.contains("through a link"), "{path}: {said}");
        }
        assert!(house.folder.delete("way/b.txt").is_err());
        assert_eq!(fs::read(house.inside.join("a.txt")).unwrap(), b"a");
        assert_eq!(fs::read(house.inside.join("sub/b.txt")).unwrap(), b"b");
    }

    #[test]
    fn a_loop_of_links_ends() {
        let house = house();
        symlink("two", house.inside.join("one")).unwrap();
        symlink("one", house.inside.join("two")).unwrap();
        assert!(house.folder.read("one", LIMIT).is_err());
        assert!(house.folder.write("one/x", b"x").is_err());
    }

    #[test]
    fn another_case_is_another_name_or_the_same_file_but_never_a_way_out() {
        let house = house();
        symlink(&house.outside, house.inside.join("Door")).unwrap();
        house.refuses("Door/SECRET.TXT");
        house.refuses("../OUTSIDE/secret.txt");
        let shouted = house.inside.to_str().unwrap().to_uppercase();
        house.refuses(&format!("{shouted}/../outside/secret.txt"));
        // On a case-sensitive file system these are new names inside the folder; otherwise they are
        // the link.
        for path in ["door/secret.txt", "DOOR/secret.txt"] {
            assert!(house.folder.read(path, LIMIT).is_err(), "read {path}");
            let made = house.folder.write(path, b"x");
            house.untouched();
            assert_eq!(made.is_ok(), house.inside.join(path).is_file(), "write {path}");
        }
    }

    #[test]
    fn what_is_no_ordinary_file_is_refused_without_waiting() {
        let house = house();
        let _listener = std::os::unix::net::UnixListener::bind(house.inside.join("socket")).unwrap();
        assert!(house.folder.read("socket", LIMIT).unwrap_err().to_string().contains("no ordinary file"));
        assert!(house.folder.write("socket", b"x").is_err());
        assert!(house.folder.read("sub", LIMIT).unwrap_err().to_string().contains("a folder"));
        assert!(house.folder.write("sub", b"x").is_err());
        assert!(house.folder.delete("sub").is_err());
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let house = house();
    fs::write(house.inside.join("big"), vec![b'x'; 1025]).unwrap();
    let said = house.folder.read("big", LIMIT).unwrap_err().to_string();
    assert_eq!(said, "\"big\" has 1025 bytes; at most 1024 are allowed.");
}

#[test]
fn a_folder_has_to_be_there_and_absolute() {
    let house = house();
    assert!(Folder::open(Path::new("inside")).err().unwrap().contains("absolute"));
    assert!(Folder::open(&house.inside.join("none")).err().unwrap().contains("cannot be opened"));
    assert!(Folder::open(&house.inside.join("a.txt")).is_err());
}
