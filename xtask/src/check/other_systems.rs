//! Compiles the workspace for Windows and macOS on Linux, without linking: `cargo xtask check --target
//! windows`. The toolchain is Debian's, in a folder of the cache that is entered by chroot, because it
//! brings the sources of `std` and a C compiler for Windows; the C compiler for macOS is Zig's. Making
//! it needs root. Where it cannot be made, the check is skipped with a message that cannot be missed; an
//! error of the compiler is a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::paths::{WorkspacePaths, cargo_home};
use crate::process::{output, print_step, program, run, succeeds};

/// Changes whenever the toolchain has to be made again.
const TOOLCHAIN: &str = "2";

const ZIG: &str = "ziglang==0.17.1";

/// A system that the workspace is compiled for.
struct Target {
    name: &'static str,
    triple: &'static str,
    /// Which parts of the standard library are built.
    build_std: &'static str,
    /// Variables that name the C compiler.
    variables: &'static [&'static str],
}

const TARGETS: [Target; 2] = [
    Target {
        name: "windows",
        triple: "x86_64-pc-windows-gnu",
        build_std: "-Zbuild-std=std,panic_abort",
        variables: &[],
    },
    Target {
        name: "macos",
        triple: "aarch64-apple-darwin",
        build_std: "-Zbuild-std=std,panic_abort",
        variables: &[
            "CC_aarch64_apple_darwin=mac-cc",
            "CXX_aarch64_apple_darwin=mac-c++",
            "AR_aarch64_apple_darwin=mac-ar",
            "SDKROOT=/zig/ziglang/lib/libc/darwin",
        ],
    },
];

/// Arguments: the folder of the toolchain.
const BOOTSTRAP: &str = r#"
if ! command -v debootstrap >/dev/null; then
  apt-get update
  apt-get install --yes --no-install-recommends debootstrap
fi
rm -rf --one-file-system "$1"
mkdir -p "$1"
debootstrap --variant=minbase --include=ca-certificates sid "$1"
cp /etc/resolv.conf "$1/etc/"
for certificate in /usr/local/share/ca-certificates/*.crt; do
  if [ -e "$certificate" ]; then cp "$certificate" "$1/usr/local/share/ca-certificates/"; fi
done
echo 'Acquire::Check-Valid-Until "false";' >"$1/etc/apt/apt.conf.d/99local"
mkdir -p "$1/cargo/registry" "$1/zig" "$1/probe/src" "$1/src"
"#;

/// Runs inside of the toolchain.
const INSTALL: &str = r#"
update-ca-certificates
apt-get update
apt-get install --yes --no-install-recommends rustc cargo rust-src gcc g++ libc6-dev make cmake nasm \
  pkg-config git gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32
printf '[package]\nname = "probe"\nedition = "2024"\n' >/probe/Cargo.toml
: >/probe/src/lib.rs
"#;

/// A compiler for macOS: Zig's, without the options that only Apple's knows. `%` is its name. Zig has no headers of
/// Apple's frameworks, so that Objective-C can't be compiled; an empty file is, since nothing is linked.
const MAC_COMPILER: &str = r#"#!/bin/sh
skip=no
for argument do
  shift
  if [ "$skip" = yes ]; then skip=no; continue; fi
  case "$argument" in
    --target=* | -mmacosx-version-min=* | -fembed-bitcode*) continue ;;
    -target | -arch | -isysroot) skip=yes; continue ;;
    *.m) argument=/usr/local/share/empty.c ;;
  esac
  set -- "$@" "$argument"
done
exec /zig/ziglang/zig % -target aarch64-macos "$@"
"#;

const MAC_ARCHIVER: &str = "#!/bin/sh\nexec /zig/ziglang/zig ar \"$@\"\n";

/// Arguments: the folders of the toolchain, of cargo's registry and of Zig, and a command to run inside.
/// The mounts are those of this process alone and end with it.
const ENTER: &str = r#"
root=$1 registry=$2 zig=$3
shift 3
mount --bind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$registry" "$root/cargo/registry"
mount --bind "$zig" "$root/zig"
exec chroot "$root" "$@"
"#;

/// Replaces the sources inside of the toolchain. They keep their times, so that only what changed is
/// compiled again. Arguments: the folder that they go to.
const COPY_SOURCES: &str = r#"
rm -rf --one-file-system "$1"
mkdir -p "$1"
git ls-files -z --cached --others --exclude-standard |
  tar --create --null --files-from - --ignore-failed-read | tar --extract --directory "$1"
"#;

pub(crate) fn check_all(paths: &WorkspacePaths) -> Result<()> {
    TARGETS.iter().try_for_each(|target| check(paths, target.name))
}

pub(crate) fn check(paths: &WorkspacePaths, name: &str) -> Result<()> {
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        bail!("there is no target `{name}`; there are {}", TARGETS.map(|target| target.name).join(", "));
    };
    let toolchain = match Toolchain::prepare(paths, target) {
        Ok(toolchain) => toolchain,
        Err(error) => {
            let line = "#".repeat(100);
            println!("\n{line}\n# SKIPPED: nothing was compiled for {name}.\n# {error:#}\n{line}");
            return Ok(());
        }
    };
    print_step(&format!("Compiling for {name}"));
    let sources = toolchain.root.join("src/gatehouse");
    run(shell(COPY_SOURCES, &paths.root).arg(&sources))?;
    // Tests start processes in ways that only Linux has.
    run(toolchain.cargo(target, "/src/gatehouse").args([
        "--locked",
        "--keep-going",
        "--workspace",
        "--exclude=gatehouse-tests",
    ]))
}

/// The folder with the toolchain, and what is mounted into it.
struct Toolchain {
    root: PathBuf,
    registry: PathBuf,
    zig: PathBuf,
    /// Where commands start.
    checkout: PathBuf,
}

impl Toolchain {
    /// Makes it unless it is there, and compiles the standard library for the target.
    fn prepare(paths: &WorkspacePaths, target: &Target) -> Result<Self> {
        print_step(&format!("Preparing a toolchain for {}", target.name));
        if !cfg!(target_os = "linux") || output(program("id", &paths.root).arg("-u"))?.trim() != "0" {
            bail!("The toolchain can be made by root on Linux only.");
        }
        if !succeeds(program("apt-get", &paths.root).arg("--version")) {
            bail!("The toolchain is made with apt-get and debootstrap, and there is no apt-get.");
        }
        let toolchain = Self {
            root: paths.cache.join("other-systems"),
            registry: cargo_home()?.join("registry"),
            zig: paths.cache.join("zig"),
            checkout: paths.root.clone(),
        };
        fs::create_dir_all(&toolchain.registry)?;
        fs::create_dir_all(&toolchain.zig)?;
        toolchain.install()?;
        if target.name == "macos" {
            toolchain.install_zig()?;
        }
        run(&mut toolchain.cargo(target, "/probe")).context("the standard library cannot be built")?;
        Ok(toolchain)
    }

    fn install(&self) -> Result<()> {
        let stamp = self.root.join("gatehouse-toolchain");
        if fs::read_to_string(&stamp).is_ok_and(|version| version == TOOLCHAIN) {
            println!("{}: up to date", self.root.display());
            return Ok(());
        }
        run(shell(BOOTSTRAP, &self.checkout).arg(&self.root))?;
        run(self.enter("/").args(["DEBIAN_FRONTEND=noninteractive", "sh", "-euc", INSTALL]))?;
        let programs = self.root.join("usr/local/bin");
        for (name, text) in [
            ("mac-cc", MAC_COMPILER.replace('%', "cc")),
            ("mac-c++", MAC_COMPILER.replace('%', "c++")),
            ("mac-ar", MAC_ARCHIVER.to_owned()),
        ] {
            let path = programs.join(name);
            fs::write(&path, text)?;
            run(program("chmod", &self.checkout).arg("+x").arg(path))?;
        }
        fs::write(self.root.join("usr/local/share/empty.c"), "")?;
        // Sources of packages that replace the usual ones on this machine.
        let config = cargo_home()?.join("config.toml");
        if config.exists() {
            fs::copy(config, self.root.join("cargo/config.toml"))?;
        }
        fs::write(stamp, TOOLCHAIN)?;
        Ok(())
    }

    fn install_zig(&self) -> Result<()> {
        let stamp = self.zig.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|version| version == ZIG) {
            return Ok(());
        }
        let python = self.zig.join("python");
        run(program("python3", &self.checkout).args(["-m", "venv", "--clear"]).arg(&python))?;
        run(program(python.join("bin/python"), &self.checkout)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"])
            .arg(&self.zig)
            .arg(ZIG))?;
        fs::write(stamp, ZIG)?;
        Ok(())
    }

    /// `cargo check` for the target in a folder inside of the toolchain.
    fn cargo(&self, target: &Target, folder: &str) -> Command {
        let mut command = self.enter(folder);
        command.args([
            "CARGO_HOME=/cargo",
            "CARGO_TARGET_DIR=/target",
            "CARGO_INCREMENTAL=0",
            "RUSTC_BOOTSTRAP=1",
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        ]);
        command.args(target.variables);
        command.args(["cargo", "check", target.build_std, "--target", target.triple]);
        command
    }

    /// `env` in a folder inside of the toolchain; variables and a command are appended.
    fn enter(&self, folder: &str) -> Command {
        let mut command = program("unshare", &self.checkout);
        command.args(["--mount", "sh", "-euc", ENTER, "sh"]);
        command.arg(&self.root).arg(&self.registry).arg(&self.zig);
        // What the cargo that runs this task has set is about another toolchain.
        command.args(["env", "--unset=RUSTUP_TOOLCHAIN", "--unset=RUSTFLAGS", "--unset=CARGO"]);
        command.args(["--chdir", folder]);
        command.args(["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]);
        command
    }
}

/// A script of the shell; its arguments are appended.
fn shell(script: &str, folder: &Path) -> Command {
    let mut command = program("sh", folder);
    command.args(["-euc", script, "sh"]).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn drops_compiler_options_that_zig_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let zig = folder.path().join("zig");
        fs::write(&zig, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        fs::set_permissions(&zig, fs::Permissions::from_mode(0o755)).unwrap();
        let script = MAC_COMPILER.replace('%', "cc").replace("/zig/ziglang/zig", zig.to_str().unwrap());
        let mut command = program("sh", folder.path());
        command.args(["-euc", &script, "sh", "-arch", "arm64", "-O2", "--target=arm64-apple-macosx"]);
        command.args(["-isysroot", "/sdk", "-mmacosx-version-min=11.0", "-c", "a b.c"]);
        command.arg("notify.m");
        let expected = "cc\n-target\naarch64-macos\n-O2\n-c\na b.c\n/usr/local/share/empty.c\n";
        assert_eq!(output(&mut command).unwrap(), expected);
    }

    #[test]
    fn copies_sources_with_uncommitted_ones() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        run(program("git", from.path()).args(["init", "--quiet"])).unwrap();
        fs::write(from.path().join(".gitignore"), "ignored\n").unwrap();
        for name in ["a b.rs", "ignored"] {
            fs::write(from.path().join(name), "").unwrap();
        }
        let sources = to.path().join("sources");
        for _ in 0..2 {
            run(shell(COPY_SOURCES, from.path()).arg(&sources)).unwrap();
        }
        let mut names: Vec<_> =
            fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".gitignore", "a b.rs"]);
    }
}
