//! The real Secret Service, where the machine has one to start: `gnome-keyring-daemon` on a bus of
//! its own, with a home of its own. The test binary runs itself again inside that session.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::sync::Arc;

use gatehouse_model::grant::StoredPermissions;
use gatehouse_model::{Generation, Secret, ServerBinding, SystemClock};
use gatehouse_store::{
    Owner, SealError, SecretError, SecretKey, SecretStoreKind, Store, StoreOptions, open_keychain,
};

const INSIDE: &str = "GATEHOUSE_TEST_KEYCHAIN";

fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// Runs a test inside a session of its own, by starting that one test of this binary again in
/// there; what comes before it is shell.
fn in_session(test: &str, before: &str, inside: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        inside();
        return;
    }
    if !is_installed("gnome-keyring-daemon") || !is_installed("dbus-run-session") {
        eprintln!("skipped: gnome-keyring-daemon or dbus-run-session is not installed");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let runtime = home.path().join("run");
    std::fs::create_dir(&runtime).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    // Without services to start, the bus has only what the script starts.
    let config = home.path().join("bus.conf");
    std::fs::write(&config, BUS.replace("HOME", &home.path().to_string_lossy())).unwrap();
    let script = format!("{before}\nexec \"$0\" --exact --nocapture keychain::{test}");
    let output = Command::new("timeout")
        .args(["60", "dbus-run-session", "--config-file"])
        .arg(&config)
        .args(["--", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path().join("data"))
        .env("XDG_CONFIG_HOME", home.path().join("config"))
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .env("XDG_RUNTIME_DIR", &runtime)
        .env(INSIDE, "1")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .output()
        .unwrap();
    let text =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=HOME/run</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

// The daemon may say that it is started before it is on the bus.
const LOCKED: &str = "gnome-keyring-daemon --start --components=secrets >/dev/null
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:org.freedesktop.secrets >/dev/null 2>&1; do sleep 0.05; done";
const UNLOCKED: &str = "printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:org.freedesktop.secrets >/dev/null 2>&1; do sleep 0.05; done";

#[test]
fn the_keychain_keeps_secrets_and_seals() {
    in_session("the_keychain_keeps_secrets_and_seals", UNLOCKED, keeps_secrets_and_seals);
}

#[test]
fn a_session_without_a_keychain_says_so() {
    in_session("a_session_without_a_keychain_says_so", ":", is_refused);
}

#[test]
fn a_keychain_that_nobody_can_unlock_is_not_taken_for_one() {
    in_session("a_keychain_that_nobody_can_unlock_is_not_taken_for_one", LOCKED, is_refused);
}

fn keeps_secrets_and_seals() {
    let keychain = open_keychain().unwrap();
    assert_eq!(keychain.kind(), SecretStoreKind::Keychain);
    let to = |generation| ServerBinding { server: "srv-1".into(), generation, identity: "i".into() };
    let key = SecretKey::for_server_field(&to(Generation(1)), "env/A|B%");
    assert_eq!(keychain.get(&key).unwrap(), None);
    keychain.set(&key, &Secret::new("first")).unwrap();
    keychain.set(&key, &Secret::new("zweites ✓")).unwrap();
    assert_eq!(keychain.get(&key).unwrap().unwrap().reveal(), "zweites ✓");
    let other = SecretKey::for_server_field(&to(Generation(2)), "env/A|B%");
    assert_eq!(keychain.get(&other).unwrap(), None);
    keychain.delete(&key).unwrap();
    keychain.delete(&key).unwrap();
    assert_eq!(keychain.get(&key).unwrap(), None);

    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        dir: folder.path().to_owned(),
        owner: Owner::Window,
        secrets: keychain,
        clock: Arc::new(SystemClock),
    };
    let store = Store::open(options.clone()).unwrap();
    assert_eq!(store.permissions().load(), Ok(None));
    store.permissions().save(&StoredPermissions::default()).unwrap();
    drop(store);
    // Another connection to the same keychain.
    let again = StoreOptions { secrets: open_keychain().unwrap(), ..options };
    assert_eq!(
        Store::open(again.clone()).unwrap().permissions().load(),
        Ok(Some(StoredPermissions::default()))
    );
    // And none of it under another path.
    let moved = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("ledger.db"), moved.path().join("ledger.db")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(moved.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let copied = Store::open(StoreOptions { dir: moved.path().to_owned(), ..again }).unwrap();
    assert!(matches!(copied.permissions().load(), Err(SealError::MissingKey { .. })));
}

fn is_refused() {
    match open_keychain() {
        Err(SecretError::Unavailable { .. } | SecretError::Locked) => eprintln!("refused"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("there is none"),
    }
}
