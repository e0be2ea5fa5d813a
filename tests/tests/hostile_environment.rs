//! A program of the same user starts the real window with environment variables that make libraries load
//! code, show an attacker's pages or open the web view to an inspector. The test states what was tried
//! and what stopped it.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::paths;
use gatehouse_tests::window::Desktop;

/// Contained in every value that names something to load.
const EVIL: &str = "evil-of-the-test";

/// The hostile variables, with values that do not disturb the desktop's own programs: `@` is an empty
/// folder.
const HOSTILE: [(&str, &str); 28] = [
    // The C library.
    ("LD_LIBRARY_PATH", "@"),
    ("GCONV_PATH", "@"),
    ("LOCPATH", "@"),
    // The toolkit, and a settings file of it that may name modules.
    ("GTK_MODULES", "evil-of-the-test"),
    ("GTK3_MODULES", "evil-of-the-test"),
    ("GTK_PATH", "@"),
    ("GTK_EXE_PREFIX", "@"),
    ("GTK_IM_MODULE_FILE", "@/immodules.cache"),
    ("GDK_PIXBUF_MODULE_FILE", "@/loaders.cache"),
    ("GDK_PIXBUF_MODULEDIR", "@"),
    ("GIO_EXTRA_MODULES", "@"),
    ("GIO_MODULE_DIR", "@"),
    ("GSETTINGS_BACKEND", "evil-of-the-test"),
    ("XDG_CONFIG_HOME", "@"),
    ("XDG_CONFIG_DIRS", "@"),
    ("QT_PLUGIN_PATH", "@"),
    // A web page that anyone can open instead of a window.
    ("GDK_BACKEND", "broadway"),
    // Sound, video and drawing.
    ("GST_PLUGIN_PATH", "@"),
    ("GST_REGISTRY", "@/registry.bin"),
    ("LIBGL_DRIVERS_PATH", "@"),
    ("__EGL_VENDOR_LIBRARY_FILENAMES", "@/egl.json"),
    ("VK_ICD_FILENAMES", "@/icd.json"),
    // The web view: its programs, code in its pages, its inspector, its automation.
    ("WEBKIT_EXEC_PATH", "@"),
    ("WEBKIT_INJECTED_BUNDLE_PATH", "@"),
    ("WEBKIT_INSPECTOR_SERVER", "127.0.0.1:9"),
    ("WEBKIT_INSPECTOR_HTTP_SERVER", "127.0.0.1:9"),
    ("TAURI_WEBVIEW_AUTOMATION", "true"),
    // Loaded by programs that the window starts.
    ("NODE_OPTIONS", "--require=@/code.js"),
];

/// Variables that describe the session and how things look, and stay as given.
const HARMLESS: [&str; 8] = [
    "HOME",
    "DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "LANG",
    "GTK_THEME",
    "GDK_SCALE",
];

/// The variables that a process was started with.
fn environment(pid: u32) -> Result<BTreeMap<String, String>> {
    let bytes = fs::read(format!("/proc/{pid}/environ"))?;
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// All descendants of a process.
fn descendants(of: u32) -> Result<Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that has ended meanwhile has no parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = children.remove(&of).unwrap_or_default();
    let mut at = 0;
    while let Some(pid) = family.get(at) {
        let more = children.remove(pid).unwrap_or_default();
        family.extend(more);
        at += 1;
    }
    Ok(family)
}

/// The file name of a process's program.
fn program(pid: u32) -> String {
    let file = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    file.file_name().map(OsStr::to_string_lossy).unwrap_or_default().into_owned()
}

/// Tried: variables that make the toolkit, the web view, their libraries and the C library load code
/// into the window, or open it to others. Stopped by: the window's process restarts itself with an
/// allowlist of variables; neither it nor the processes of the web view have any other. The window still
/// appears on the screen.
#[test]
fn it_starts_the_window_with_variables_that_load_code() -> Result<()> {
    let desktop = Desktop::start()?;
    let folder = desktop.folder(EVIL)?;
    let folder = folder.to_str().context("path")?;
    let mut command = desktop.command("sh");
    command.args(["-c", "exec \"$0\" 2>&1"]).arg(paths::program("gatehouse")?);
    // With this variable a test build could be controlled by a driver.
    command.env_remove("TAURI_AUTOMATION").env("GTK_THEME", "Adwaita").env("GDK_SCALE", "1");
    command.envs(HOSTILE.map(|(name, value)| (name, value.replace('@', folder))));
    let given: HashMap<String, String> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    let mut window = ChildProcess::start("gatehouse", &mut command)?;
    loop {
        let line = window.next_line()?;
        ensure!(!line.contains(EVIL), "something was looked for: {line}");
        if line.contains("first useful paint") {
            break;
        }
    }
    desktop.until_visible("Gatehouse", true)?;

    ensure!(program(window.pid()) == "gatehouse", "another program is in its place");
    let mut looked_at = vec![window.pid()];
    // Servers and the login shell get what the user set; no code of the window runs in them.
    looked_at
        .extend(descendants(window.pid())?.into_iter().filter(|pid| program(*pid).starts_with("WebKit")));
    let programs: Vec<String> = looked_at.iter().map(|pid| program(*pid)).collect();
    for wanted in ["WebKitWebProcess", "WebKitNetworkProcess"] {
        ensure!(programs.iter().any(|program| program == wanted), "no {wanted} among {programs:?}");
    }
    for (pid, program) in looked_at.into_iter().zip(&programs) {
        let found = environment(pid)?;
        for (name, _) in HOSTILE {
            ensure!(!found.contains_key(name), "{program} has {name}={:?}", found.get(name));
        }
        let renderer = found.get("WEBKIT_DISABLE_DMABUF_RENDERER").map(String::as_str);
        ensure!(renderer == Some("set-by-gatehouse"), "{program} draws with {renderer:?}");
        for name in HARMLESS {
            let wanted = given.get(name).with_context(|| format!("{name} was not given"))?;
            ensure!(found.get(name) == Some(wanted), "{program} has {name}={:?}", found.get(name));
        }
    }
    // Drivers of graphics cards are large, and are code that others install. Pages are drawn without them.
    let mapped = fs::read_to_string(format!("/proc/{}/maps", window.pid()))?;
    for driver in ["_dri.so", "libgallium"] {
        ensure!(!mapped.contains(driver), "the window's process has loaded {driver}");
    }
    let left = fs::read_dir(Path::new(folder))?.count();
    ensure!(left == 0, "something was written to {folder}");
    window.signal("TERM")?;
    window.wait()?;
    Ok(())
}
