//! Describes a process: its program and its parent processes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::approval::{PeerProcess, Program};
use gatehouse_tools::{Peer, PeerId};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// Maximum number of parents that are reported.
const MAX_PARENTS: usize = 8;

/// Programs that run code from another file, each with the options that neither load code nor open the
/// interpreter to others: whole words, or after `*` the letters that may be combined in one option.
const INTERPRETERS: &[(&str, &[&str])] = &[
    (
        "node",
        &["--no-warnings", "--no-deprecation", "--trace-warnings", "--enable-source-maps", "--use-strict"],
    ),
    ("nodejs", &["--no-warnings", "--no-deprecation", "--trace-warnings", "--enable-source-maps"]),
    ("bun", &[]),
    ("deno", &[]),
    ("electron", &[]),
    ("qjs", &[]),
    ("python", &["*BEIOPRSbdqsuv"]),
    ("pypy", &["*BEIOPRSbdqsuv"]),
    ("ruby", &["*w"]),
    ("perl", &["*TWtw"]),
    ("php", &["-n", "-q"]),
    ("lua", &[]),
    ("luajit", &[]),
    ("tclsh", &[]),
    ("guile", &[]),
    ("julia", &[]),
    ("rscript", &[]),
    ("java", &[]),
    ("dotnet", &[]),
    ("mono", &[]),
    ("osascript", &[]),
    ("pwsh", &[]),
    ("powershell", &[]),
    ("cmd", &[]),
    ("wscript", &[]),
    ("cscript", &[]),
    ("busybox", &[]),
    ("sh", SHELL_OPTIONS),
    ("bash", SHELL_OPTIONS),
    ("zsh", &["*efuvx"]),
    ("dash", SHELL_OPTIONS),
    ("ash", SHELL_OPTIONS),
    ("ksh", SHELL_OPTIONS),
    ("fish", &["-N", "--no-config"]),
];

const SHELL_OPTIONS: &[&str] = &["--norc", "--noprofile", "--posix", "*efuvx"];

/// Describes a process with its parents, without Gatehouse's own programs at its start: those only forward for
/// whoever started them. `None` if that is no longer known. Blocks.
pub(super) fn process_chain(pid: u32) -> Option<Peer> {
    let own_executables = own_executables();
    let mut system = System::new().ok()?;
    let mut found: Vec<(Pid, Program, Option<PathBuf>)> = Vec::new();
    let mut next = Some(Pid::from_u32(pid));
    while let Some(pid) = next.take()
        && found.len() <= MAX_PARENTS + 1
    {
        let kind = ProcessRefreshKind::nothing()
            .without_tasks()
            .with_exe(UpdateKind::Always)
            .with_cmd(UpdateKind::Always)
            .with_cwd(UpdateKind::Always);
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
        let Some(process) = system.process(pid) else { break };
        found.push((pid, program(process), process.exe().map(Path::to_owned)));
        // Processes started by the system itself (parent pid 1) have no parent worth reporting.
        next = process.parent().filter(|parent| parent.as_u32() > 1);
    }
    let is_ours = |file: &Option<PathBuf>| file.as_ref().is_some_and(|file| own_executables.contains(file));
    let first = found.iter().position(|(.., file)| !is_ours(file))?;
    let mut rest = found.into_iter().skip(first);
    let (pid, program, _) = rest.next()?;
    let id = PeerId::Process { pid: pid.as_u32(), started: started(&system, pid)? };
    let parents = rest.map(|(_, program, _)| program).take(MAX_PARENTS).collect();
    Some(Peer { id, seen_from: Some(Arc::new(PeerProcess { program, parents })) })
}

/// The folder that a process works in. Blocks.
#[cfg(target_os = "linux")]
pub(super) fn working_folder(pid: u32) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let link = PathBuf::from(format!("/proc/{pid}/cwd"));
    let folder = std::fs::read_link(&link).ok()?;
    // The path of a folder that was deleted, or that is elsewhere for the process (in a container), is that of another
    // folder here, or of none.
    let (there, here) = (std::fs::metadata(&link).ok()?, std::fs::metadata(&folder).ok()?);
    ((there.dev(), there.ino()) == (here.dev(), here.ino())).then_some(folder)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn working_folder(pid: u32) -> Option<PathBuf> {
    let mut system = System::new().ok()?;
    let pid = Pid::from_u32(pid);
    let kind = ProcessRefreshKind::nothing().without_tasks().with_cwd(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
    std::fs::canonicalize(system.process(pid)?.cwd()?).ok()
}

/// Start time of a process. On Linux in clock ticks since boot: `sysinfo` counts in seconds from a moment
/// that moves with the system clock.
#[cfg(target_os = "linux")]
fn started(_: &System, pid: Pid) -> Option<u64> {
    let process = procfs::process::Process::new(i32::try_from(pid.as_u32()).ok()?).ok()?;
    Some(process.stat().ok()?.starttime)
}

#[cfg(not(target_os = "linux"))]
fn started(system: &System, pid: Pid) -> Option<u64> {
    system.process(pid).map(Process::start_time)
}

/// Paths of Gatehouse's own programs.
fn own_executables() -> Vec<PathBuf> {
    let Ok(this) = std::env::current_exe() else { return Vec::new() };
    let command_line = this.with_file_name(format!("gatehousectl{}", std::env::consts::EXE_SUFFIX));
    vec![this, command_line]
}

fn program(process: &Process) -> Program {
    let Some(file) = process.exe().filter(|file| !file.as_os_str().is_empty()) else {
        let name = process.name().to_string_lossy().into_owned();
        // Only the name that the process gives itself is known.
        return Program { path: name.clone(), name, is_known: false };
    };
    // A program that was replaced while running still counts as the one at that path.
    let path = file.to_string_lossy();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
    let name = Path::new(path).file_stem().map_or_else(|| path.into(), OsStr::to_string_lossy);
    match interpreter_target(&name, process.cmd(), process.cwd()) {
        Some(InterpreterTarget::Script(script)) => Program {
            name: format!("{name} {}", Path::new(&script).file_name().unwrap_or_default().to_string_lossy()),
            path: format!("{path} {script}"),
            is_known: true,
        },
        Some(InterpreterTarget::Other) => {
            Program { name: name.into_owned(), path: path.to_owned(), is_known: false }
        }
        None => Program { name: name.into_owned(), path: path.to_owned(), is_known: true },
    }
}

/// What an interpreter runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InterpreterTarget {
    /// A script by the path of its file, or a module.
    Script(String),
    /// Something else on its command line, or unknown.
    Other,
}

/// What an interpreter runs: the first word of its command line that isn't an option, if it names a file, or
/// a module given with `-m`. Nothing else of a command line is used, since it may contain secrets. An option
/// that isn't known to be harmless may load other code; the script then doesn't determine what runs, so it
/// isn't reported. `None` for a program that isn't an interpreter.
fn interpreter_target(program: &str, words: &[OsString], folder: Option<&Path>) -> Option<InterpreterTarget> {
    let known = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    let (_, harmless) = INTERPRETERS.iter().find(|(name, _)| known.eq_ignore_ascii_case(name))?;
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy()).peekable();
    if matches!(known, "deno" | "bun") {
        words.next_if(|word| word == "run");
    }
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if option == "-m" && is_python(known) {
            let module = words.next().filter(|module| is_module_name(module));
            return Some(module.map_or(InterpreterTarget::Other, |module| resolve_module(&module, folder)));
        }
        if option == "--" {
            break;
        }
        if !is_harmless(&option, harmless) {
            return Some(InterpreterTarget::Other);
        }
    }
    let file = words.next().map(|word| at(&word, folder)).filter(|path| path.is_file());
    Some(file.map_or(InterpreterTarget::Other, |file| {
        InterpreterTarget::Script(file.to_string_lossy().into_owned())
    }))
}

/// Whether an option is in a list of whole words, or consists only of the letters of one of its bundles.
fn is_harmless(option: &str, harmless: &[&str]) -> bool {
    harmless.iter().any(|known| match known.strip_prefix('*') {
        Some(letters) => option.len() > 1 && option[1..].chars().all(|letter| letters.contains(letter)),
        None => option == *known,
    })
}

fn is_python(program: &str) -> bool {
    matches!(program, "python" | "pypy")
}

fn at(word: &str, folder: Option<&Path>) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(word), |folder| folder.join(word))
}

/// A module is looked up first in the folder in which its interpreter was started.
fn resolve_module(module: &str, folder: Option<&Path>) -> InterpreterTarget {
    let path = at(&module.replace('.', "/"), folder);
    let mut files = [path.with_extension("py"), path.join("__main__.py")].into_iter();
    match files.find(|file| file.is_file()) {
        Some(file) => InterpreterTarget::Script(file.to_string_lossy().into_owned()),
        None => InterpreterTarget::Script(format!("-m {module}")),
    }
}

fn is_module_name(word: &str) -> bool {
    word.len() <= 100 && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_interpreter_script_and_hides_other_arguments() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["cli.js", "tool.py", "x.js"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        std::fs::create_dir_all(dir.path().join("pack/age")).unwrap();
        std::fs::write(dir.path().join("pack/age/__main__.py"), "").unwrap();
        let path = |file: &str| dir.path().join(file).to_str().unwrap().to_owned();
        let run = |words: &str| {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            interpreter_target(words[0].to_str().unwrap(), &words, Some(dir.path()))
        };
        for (words, script) in [
            ("node cli.js --require ./x.js --token s3cret", "cli.js"),
            ("node --no-warnings --enable-source-maps cli.js", "cli.js"),
            ("node -- cli.js", "cli.js"),
            ("python3.12 tool.py", "tool.py"),
            ("python3 -u -sE tool.py -c x", "tool.py"),
            ("python3 -m tool", "tool.py"),
            ("python3 -m pack.age", "pack/age/__main__.py"),
            ("bash -eu cli.js", "cli.js"),
            ("bun run cli.js", "cli.js"),
            ("deno run cli.js", "cli.js"),
        ] {
            assert_eq!(run(words), Some(InterpreterTarget::Script(path(script))), "{words}");
        }
        assert_eq!(
            run("python3 -m http.server"),
            Some(InterpreterTarget::Script("-m http.server".to_owned()))
        );
        for words in [
            "node --require=./x.js cli.js",
            "node --require ./x.js cli.js",
            "node -r ./x.js cli.js",
            "node --import=./x.js cli.js",
            "node --loader ./x.js cli.js",
            "node --inspect cli.js",
            "node --env-file=x cli.js",
            "node --some-new-option cli.js",
            "node -e code cli.js",
            "node --eval=code cli.js",
            "node -p code",
            "node - cli.js",
            "node no-such-file cli.js",
            "node",
            "python3 -c code tool.py",
            "python3 -ic code tool.py",
            "python3 -W error::x.Y tool.py",
            "python3 -X importtime tool.py",
            "python3 -m",
            "python3 -m ../tool",
            "python3 -i tool.py",
            "bash -c cli.js",
            "bash -ec cli.js",
            "bash --rcfile x.js cli.js",
            "bash -s cli.js",
            "bash",
            "deno run --allow-all cli.js",
            "deno run -A cli.js",
            "deno eval code",
            "bun --preload ./x.js cli.js",
            "perl -Mx cli.js",
            "ruby -r./x.js cli.js",
            "php -d auto_prepend_file=x.js cli.js",
            "java -jar cli.js",
            "java -cp . Main",
            "busybox sh cli.js",
        ] {
            assert_eq!(run(words), Some(InterpreterTarget::Other), "{words}");
        }
        for words in ["claude cli.js", "code --some-option", "shellcheck cli.js"] {
            assert_eq!(run(words), None, "{words}");
        }
    }

    #[test]
    fn reports_process_with_its_parents() {
        let mut children = [(), ()].map(|()| std::process::Command::new("sleep").arg("60").spawn().unwrap());
        let [first, again, other] = [0, 0, 1].map(|number: usize| process_chain(children[number].id()));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(first, again);
        assert_ne!(first.as_ref().unwrap().id, other.unwrap().id);
        let peer_process = first.unwrap().seen_from.unwrap();
        let this = std::env::current_exe().unwrap();
        assert_eq!(peer_process.program.name, "sleep");
        assert!(peer_process.program.path.starts_with('/'), "{}", peer_process.program.path);
        assert_eq!(peer_process.parents[0].path, this.to_str().unwrap());
        assert!(peer_process.parents.len() <= MAX_PARENTS);
        assert_eq!(process_chain(u32::MAX - 1), None);
    }

    #[test]
    fn skips_own_programs() {
        // This test process counts as ours by its path.
        let peer_process = process_chain(std::process::id()).unwrap().seen_from.unwrap();
        assert_ne!(peer_process.program.path, std::env::current_exe().unwrap().to_str().unwrap());
    }
}
