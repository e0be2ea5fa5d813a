//! Strings that must not be in the project: names of package registries (users may have their own
//! mirror), folders of a developer's machine, disabled tests.

use std::env;
use std::path::Path;

use crate::check::files::TextFile;

/// Assembled from pieces, so that this file does not contain the strings itself.
const FORBIDDEN: [(&str, &str); 13] = [
    (concat!("index.", "crates.io"), "name of a registry"),
    (concat!("static.", "crates.io"), "name of a registry"),
    (concat!("registry.", "npmjs"), "name of a registry"),
    (concat!("registry.", "yarnpkg"), "name of a registry"),
    (concat!("npm", "mirror.com"), "name of a registry"),
    (concat!("pypi", ".org"), "name of a registry"),
    (concat!("python", "hosted.org"), "name of a registry"),
    (concat!("#[", "ignore"), "a test that is switched off"),
    (concat!("test", ".skip("), "a test that is switched off"),
    (concat!("it", ".skip("), "a test that is switched off"),
    (concat!("describe", ".skip("), "a test that is switched off"),
    (concat!("test", ".only("), "other tests are switched off"),
    (concat!("it", ".only("), "other tests are switched off"),
];

pub(crate) fn violations(root: &Path, files: &[TextFile]) -> Vec<String> {
    let own = own_folders(root);
    files.iter().flat_map(|file| violations_in(file, &own)).collect()
}

/// The checkout and the home folder of the current user.
fn own_folders(root: &Path) -> Vec<String> {
    let home = env::var("HOME").unwrap_or_default();
    [root.display().to_string(), home]
        .into_iter()
        .filter(|folder| folder.len() > 1)
        .map(|f| f + "/")
        .collect()
}

fn violations_in(file: &TextFile, own: &[String]) -> Vec<String> {
    let mut violations = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut add =
            |word: &str, why: &str| violations.push(format!("{}:{}: `{word}`: {why}", file.path, number + 1));
        for (word, why) in FORBIDDEN {
            if line.contains(word) {
                add(word, why);
            }
        }
        for folder in own {
            if line.contains(folder.as_str()) {
                add(folder, "a folder of this machine");
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let file = TextFile { path: "a.rs".to_owned(), text: text.to_owned() };
        violations_in(&file, &["/home/ana/gatehouse/".to_owned()]).len()
    }

    #[test]
    fn finds_forbidden_words() {
        assert_eq!(count("let a = 1;\n"), 0);
        assert_eq!(count(concat!("#[", "ignore = \"slow\"]\nfn a() {}\n")), 1);
        assert_eq!(count(concat!("https://registry.", "npmjs.org/a\n")), 1);
        assert_eq!(count("open /home/ana/gatehouse/target\n"), 1);
        assert_eq!(count("open /home/ana/notes\n"), 0);
    }
}
