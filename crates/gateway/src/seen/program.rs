//! What a process is: its program, and the programs that started it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use gatehouse_model::ask::{Program, SeenFrom};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// So many parents are told of at most.
const PARENTS: usize = 8;

/// Programs that run what another file says.
const INTERPRETERS: &[&str] =
    &["node", "bun", "deno", "python", "pypy", "ruby", "perl", "php", "sh", "bash", "zsh", "dash", "fish"];

/// A process with those that started it, Gatehouse's own programs at its near end left out. Blocks.
pub(super) fn chain(pid: u32) -> Option<SeenFrom> {
    let ours = ours();
    let mut system = System::new().ok()?;
    let mut found: Vec<(Program, Option<PathBuf>)> = Vec::new();
    let mut next = Some(Pid::from_u32(pid));
    while let Some(pid) = next.take()
        && found.len() <= PARENTS + 1
    {
        let kind = ProcessRefreshKind::nothing()
            .without_tasks()
            .with_exe(UpdateKind::Always)
            .with_cmd(UpdateKind::Always)
            .with_cwd(UpdateKind::Always);
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
        let Some(process) = system.process(pid) else { break };
        found.push((program(process), process.exe().map(Path::to_owned)));
        // What was started by the system itself has no parent worth a word.
        next = process.parent().filter(|parent| parent.as_u32() > 1);
    }
    let is_ours = |file: &Option<PathBuf>| file.as_ref().is_some_and(|file| ours.contains(file));
    let first = found.iter().position(|(_, file)| !is_ours(file)).unwrap_or(0);
    let mut programs = found.into_iter().skip(first).map(|(program, _)| program);
    Some(SeenFrom { program: programs.next()?, parents: programs.take(PARENTS).collect() })
}

/// The files of Gatehouse's own programs.
fn ours() -> Vec<PathBuf> {
    let Ok(this) = std::env::current_exe() else { return Vec::new() };
    let command_line = this.with_file_name(format!("gatehousectl{}", std::env::consts::EXE_SUFFIX));
    vec![this, command_line]
}

fn program(process: &Process) -> Program {
    let Some(file) = process.exe().filter(|file| !file.as_os_str().is_empty()) else {
        let name = process.name().to_string_lossy().into_owned();
        return Program { path: name.clone(), name };
    };
    // A program that was replaced while it ran is still the one of that path.
    let path = file.to_string_lossy();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
    let name = Path::new(path).file_stem().map_or_else(|| path.into(), OsStr::to_string_lossy);
    match script(&name, process.cmd(), process.cwd()) {
        Some(script) => Program {
            name: format!("{name} {}", Path::new(&script).file_name().unwrap_or_default().to_string_lossy()),
            path: format!("{path} {script}"),
        },
        None => Program { name: name.into_owned(), path: path.to_owned() },
    }
}

/// What an interpreter runs: the first word of its command line that is no option and names a file, or a
/// module by `-m`. Nothing else of a command line is taken, for it may hold secrets.
fn script(interpreter: &str, words: &[OsString], folder: Option<&Path>) -> Option<String> {
    let known = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&known) {
        return None;
    }
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match &*word {
            "-m" => {
                return words.next().filter(|module| is_module(module)).map(|module| format!("-m {module}"));
            }
            "-c" | "-e" | "--eval" | "-p" | "--print" => return None,
            option if option.starts_with('-') => {}
            word => {
                let path = folder.map_or_else(|| PathBuf::from(word), |folder| folder.join(word));
                if path.is_file() {
                    return Some(path.to_string_lossy().into_owned());
                }
            }
        }
    }
    None
}

fn is_module(word: &str) -> bool {
    word.len() <= 100 && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interpreter_runs_is_told_and_nothing_else_of_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cli.js");
        std::fs::write(&file, "").unwrap();
        let file = file.to_str().unwrap().to_owned();
        let run = |name: &str, words: &str| {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            script(name, &words, Some(dir.path()))
        };
        for (name, words, wanted) in [
            ("node", format!("node --inspect {file} --token s3cret"), Some(file.clone())),
            ("node", "node cli.js".to_owned(), Some(file.clone())),
            ("python3.12", "python3 -m http.server".to_owned(), Some("-m http.server".to_owned())),
            ("python3", format!("python3 -c code {file}"), None),
            ("node", "node no-such-file s3cret".to_owned(), None),
            ("bash", "bash".to_owned(), None),
            ("claude", format!("claude {file}"), None),
        ] {
            assert_eq!(run(name, &words), wanted, "{words}");
        }
    }

    #[test]
    fn a_process_is_told_with_those_that_started_it() {
        let child = std::process::Command::new("sleep").arg("60").spawn();
        let mut child = child.unwrap();
        let seen = chain(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        let seen = seen.unwrap();
        let this = std::env::current_exe().unwrap();
        assert_eq!(seen.program.name, "sleep");
        assert!(seen.program.path.starts_with('/'), "{}", seen.program.path);
        assert_eq!(seen.parents[0].path, this.to_str().unwrap());
        assert!(seen.parents.len() <= PARENTS);
        assert_eq!(chain(u32::MAX - 1), None);
    }

    #[test]
    fn our_own_programs_give_way_to_who_started_them() {
        // This very test is "ours" by its path.
        let seen = chain(std::process::id()).unwrap();
        assert_ne!(seen.program.path, std::env::current_exe().unwrap().to_str().unwrap());
    }
}
