//! The vault: what it keeps, and what it says to a wrong passphrase and to damage (AUTH-8).

use gatehouse_model::messages::Language;
use gatehouse_model::{Generation, Secret, ServerBinding, UserError};
use gatehouse_store::{
    SecretError, SecretKey, SecretStore, SecretStoreKind, has_vault, make_vault, memory, open_vault,
    unlock_vault,
};

fn key(field: &str) -> SecretKey {
    let to = ServerBinding { server: "srv-1".into(), generation: Generation(1), identity: "i".into() };
    SecretKey::for_server_field(&to, field)
}

fn read(store: &dyn SecretStore, field: &str) -> Option<String> {
    store.get(&key(field)).unwrap().map(|secret| secret.reveal().to_owned())
}

fn failure(dir: &std::path::Path, passphrase: &str) -> SecretError {
    match open_vault(dir, &Secret::new(passphrase)) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

#[test]
fn secrets_persist_and_need_passphrase() {
    let folder = tempfile::tempdir().unwrap();
    let right = Secret::new("correct horse");
    let vault = open_vault(folder.path(), &right).unwrap();
    assert_eq!(vault.kind(), SecretStoreKind::Vault);
    assert_eq!(read(&*vault, "env/A"), None);
    vault.set(&key("env/A"), &Secret::new("first")).unwrap();
    vault.set(&key("env/A"), &Secret::new("hunter2 secret")).unwrap();
    vault.set(&key("env/B"), &Secret::new("b")).unwrap();
    vault.delete(&key("env/B")).unwrap();
    vault.delete(&key("env/none")).unwrap();
    drop(vault);

    let file = folder.path().join("vault.bin");
    let bytes = std::fs::read(&file).unwrap();
    for plain in ["hunter2", "srv-1", "correct horse"] {
        assert!(!bytes.windows(plain.len()).any(|window| window == plain.as_bytes()), "{plain}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    let vault = open_vault(folder.path(), &right).unwrap();
    assert_eq!(read(&*vault, "env/A").as_deref(), Some("hunter2 secret"));
    assert_eq!(read(&*vault, "env/B"), None);
    assert_eq!(failure(folder.path(), "correct horsf"), SecretError::WrongPassphrase);
    assert_eq!(failure(folder.path(), ""), SecretError::WrongPassphrase);
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "a wrong passphrase writes nothing");
}

#[test]
fn reports_damage_without_writing() {
    let folder = tempfile::tempdir().unwrap();
    let vault = open_vault(folder.path(), &Secret::new("p")).unwrap();
    vault.set(&key("env/A"), &Secret::new("a")).unwrap();
    drop(vault);
    let file = folder.path().join("vault.bin");
    let sound = std::fs::read(&file).unwrap();
    let changed = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    let newer = {
        let mut bytes = sound.clone();
        bytes[15] = 2;
        bytes
    };
    let huge = {
        let mut bytes = sound.clone();
        bytes[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        bytes
    };
    let damaged = |error: &SecretError| matches!(error, SecretError::Damaged { .. });
    let wrong = |error: &SecretError| *error == SecretError::WrongPassphrase;
    let is_newer = |error: &SecretError| *error == SecretError::NewerVersion;
    type Expected<'a> = &'a dyn Fn(&SecretError) -> bool;
    let cases: [(&str, Vec<u8>, Expected<'_>); 8] = [
        ("empty", Vec::new(), &damaged),
        ("cut", sound[..sound.len() - 1].to_vec(), &damaged),
        ("only a header", sound[..60].to_vec(), &damaged),
        ("content", changed(sound.len() - 1), &damaged),
        ("magic", changed(0), &damaged),
        ("salt", changed(28), &wrong),
        ("newer", newer, &is_newer),
        ("huge cost", huge, &damaged),
    ];
    for (name, bytes, expected) in cases {
        std::fs::write(&file, &bytes).unwrap();
        let error = failure(folder.path(), "p");
        assert!(expected(&error), "{name}: {error}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{name}");
    }
    std::fs::write(&file, &sound).unwrap();
    assert_eq!(read(&*open_vault(folder.path(), &Secret::new("p")).unwrap(), "env/A").as_deref(), Some("a"));
}

#[test]
fn distinguishes_create_and_unlock() {
    let folder = tempfile::tempdir().unwrap();
    let right = Secret::new("correct horse");
    assert_eq!(has_vault(folder.path()), Ok(false));
    assert!(matches!(unlock_vault(folder.path(), &right), Err(SecretError::Refused { .. })));
    assert_eq!(has_vault(folder.path()), Ok(false), "unlocking makes nothing");

    assert!(matches!(make_vault(folder.path(), &Secret::new("1234567")), Err(SecretError::Refused { .. })));
    assert_eq!(has_vault(folder.path()), Ok(false), "nor does a passphrase that is too short");

    let vault = make_vault(folder.path(), &right).unwrap();
    vault.set(&key("env/A"), &Secret::new("a")).unwrap();
    drop(vault);
    assert_eq!(has_vault(folder.path()), Ok(true));
    assert!(matches!(make_vault(folder.path(), &right), Err(SecretError::Refused { .. })));
    assert_eq!(read(&*unlock_vault(folder.path(), &right).unwrap(), "env/A").as_deref(), Some("a"));

    let file = folder.path().join("vault.bin");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[15] = 2;
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(has_vault(folder.path()), Err(SecretError::NewerVersion));
    std::fs::write(&file, "vault").unwrap();
    assert!(matches!(has_vault(folder.path()), Err(SecretError::Damaged { .. })));
    assert!(matches!(make_vault(folder.path(), &right), Err(SecretError::Refused { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), b"vault", "what is there is never written over");
}

#[test]
fn errors_are_rendered_in_each_language() {
    let folder = tempfile::tempdir().unwrap();
    let render = |error: SecretError, language| UserError::from(error).render(language, &|_| String::new());
    let refused = make_vault(folder.path(), &Secret::new("1234567")).err().unwrap();
    make_vault(folder.path(), &Secret::new("correct horse")).unwrap();
    for (error, english, chinese) in [
        (
            refused,
            "The secret store refused: A passphrase has at least 8 characters.",
            "密钥存储拒绝了操作：口令至少有 8 个字符。",
        ),
        (
            failure(folder.path(), "correct horsf"),
            "The passphrase of the vault is wrong. Enter the passphrase again.",
            "保险库的口令错误。 请重新输入口令。",
        ),
    ] {
        assert_eq!(render(error.clone(), Language::English), english);
        assert_eq!(render(error, Language::SimplifiedChinese), chinese);
    }
}

#[test]
fn change_passphrase_replaces_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Secret::new("correct horse"), Secret::new("battery staple"));
    let vault = make_vault(folder.path(), &old).unwrap();
    vault.set(&key("env/A"), &Secret::new("a")).unwrap();
    let file = folder.path().join("vault.bin");
    let before = std::fs::read(&file).unwrap();
    assert_eq!(
        vault.change_passphrase(&Secret::new("correct horsf"), &new),
        Err(SecretError::WrongPassphrase)
    );
    assert_eq!(std::fs::read(&file).unwrap(), before, "a wrong passphrase writes nothing");

    let short = Secret::new("staple");
    assert!(matches!(vault.change_passphrase(&old, &short), Err(SecretError::Refused { .. })));
    vault.change_passphrase(&old, &new).unwrap();
    let after = std::fs::read(&file).unwrap();
    assert_ne!(before[28..60], after[28..60], "salt and check value are others");
    assert_eq!(failure(folder.path(), "correct horse"), SecretError::WrongPassphrase);
    // Whoever has the vault open goes on, under the new key.
    vault.set(&key("env/B"), &Secret::new("b")).unwrap();
    assert_eq!(failure(folder.path(), "correct horse"), SecretError::WrongPassphrase);
    let again = unlock_vault(folder.path(), &new).unwrap();
    assert_eq!(read(&*again, "env/A").as_deref(), Some("a"));
    assert_eq!(read(&*again, "env/B").as_deref(), Some("b"));
    assert_eq!(vault.change_passphrase(&old, &new), Err(SecretError::WrongPassphrase));
    assert!(matches!(memory().change_passphrase(&old, &new), Err(SecretError::Refused { .. })));
}

#[test]
fn failed_passphrase_change_keeps_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Secret::new("correct horse"), Secret::new("battery staple"));
    let vault = make_vault(folder.path(), &old).unwrap();
    vault.set(&key("env/A"), &Secret::new("a")).unwrap();
    // What is written first is in the way, and cannot be taken away like a file.
    let first = folder.path().join("vault.bin.new");
    std::fs::create_dir(&first).unwrap();
    assert!(matches!(vault.change_passphrase(&old, &new), Err(SecretError::Refused { .. })));
    assert_eq!(failure(folder.path(), "battery staple"), SecretError::WrongPassphrase);
    std::fs::remove_dir(&first).unwrap();
    vault.set(&key("env/B"), &Secret::new("b")).unwrap();
    drop(vault);
    let again = unlock_vault(folder.path(), &old).unwrap();
    assert_eq!(read(&*again, "env/A").as_deref(), Some("a"));
    assert_eq!(read(&*again, "env/B").as_deref(), Some("b"));
}
