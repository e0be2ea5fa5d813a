//! Filters the environment variables that the window's process runs with (PERM-16): only an allowlist
//! stays. Others open the web view to automation and inspectors, which could press **Allow**, or make
//! the toolkit, the web view or the C library load code into this process.
//!
//! A variable that acts on the dynamic loader (`LD_PRELOAD`) has taken effect before any code here runs.

#[cfg(target_os = "linux")]
mod in_place;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use gatehouse_common::user_environment::{PROXIES, kept_as};

/// Names of variables that, like [`PROXIES`], only describe the session: its display, its folders, and
/// how things look. None of them names a file with code for this process; `GTK_IM_MODULE` names one of
/// the input methods installed on the system. None names certificates either (`SSL_CERT_FILE`): whoever
/// controls a trusted certificate could read sign-ins, so only those of the system's store are trusted.
const ALLOWED: &[&str] = &[
    // The user and the session.
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "PWD",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "ICEAUTHORITY",
    "SESSION_MANAGER",
    "DESKTOP_SESSION",
    "DESKTOP_STARTUP_ID",
    "DESKTOP_AUTOSTART_ID",
    "GNOME_DESKTOP_SESSION_ID",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "BROWSER",
    // Appearance, rendering and input.
    "GTK_THEME",
    "GTK_CSD",
    "GTK_OVERLAY_SCROLLING",
    "GTK_USE_PORTAL",
    "GTK_IM_MODULE",
    "XMODIFIERS",
    "GDK_SCALE",
    "GDK_DPI_SCALE",
    "XCURSOR_THEME",
    "XCURSOR_SIZE",
    "NO_AT_BRIDGE",
    CPU_RENDERING,
    "WEBKIT_DISABLE_COMPOSITING_MODE",
    "LIBGL_ALWAYS_SOFTWARE",
    "DRI_PRIME",
    "RUST_BACKTRACE",
    // macOS.
    "__CF_USER_TEXT_ENCODING",
    "__CFBundleIdentifier",
    "XPC_FLAGS",
    "XPC_SERVICE_NAME",
    "COMMAND_MODE",
    // Windows.
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "DRIVERDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "LOGONSERVER",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_IDENTIFIER",
    "PROCESSOR_LEVEL",
    "PROCESSOR_REVISION",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PUBLIC",
    "SESSIONNAME",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERDOMAIN",
    "USERDOMAIN_ROAMINGPROFILE",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Allowed prefixes: locale, folders and session, Gatehouse's own, and the per-drive folders on Windows.
const ALLOWED_PREFIXES: [&str; 4] = ["LC_", "XDG_", "GATEHOUSE_", "="];

/// Withheld although the prefix is allowed: the toolkit reads a settings file in these folders, which
/// may name modules with code. Gatehouse keeps nothing there, and finds the download folder as if they
/// were not set; servers get them.
const WITHHELD: [&str; 2] = ["XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"];

/// Allowed GDK backends. The toolkit has others, one of which (broadway) serves the window as a web page
/// that anyone can open.
const BACKENDS: [&str; 2] = ["x11", "wayland"];

/// Where the runtime of an AppImage says that the image and the folder of its mount are: updates replace the one, and the
/// start at login starts it. Only believed by a program in such a mount.
const OF_APP_IMAGE: [&str; 2] = ["APPIMAGE", APP_FOLDER];
const APP_FOLDER: &str = "APPDIR";

/// With any value but `0`, WebKitGTK draws pages with the processor. For pages of text, starting the graphics driver in
/// each web process costs more memory and time than it saves, and on some machines windows stay blank with it. If the user
/// sets it, this and the rest of [`SET_WITH_IT`] are left to the user.
const CPU_RENDERING: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";

/// Variables that are set where the user does not set [`CPU_RENDERING`]. Without the other two, this process would load the
/// graphics driver as well, only to ask about it: 30 MiB with Mesa's, and 40 ms while the page starts.
const SET_WITH_IT: [(&str, &str); 3] = [
    (CPU_RENDERING, "set-by-gatehouse"),
    // The graphics device, which WebKitGTK would ask the driver for. It is opened only to draw with the graphics card.
    ("WEBKIT_WEB_RENDER_DEVICE_FILE", "set-by-gatehouse"),
    // The first GTK application of an X session asks the driver about its visuals, unless drawing with OpenGL is disabled.
    ("GDK_GL", "set-by-gatehouse,disable"),
];

/// Leaves this process without all other variables, and with those of [`missing`]. To be called first of all, before there
/// are threads. Where that is not possible, the process is restarted without them, which on Linux costs a tenth of a second
/// for loading the toolkit's libraries again. Servers get the withheld variables from the copies kept under other names.
/// Returns the exit code if this process has to end.
pub(crate) fn clean_environment() -> Option<ExitCode> {
    if is_driven() || is_clean() {
        return None;
    }
    #[cfg(target_os = "linux")]
    if in_place::has_few_threads() && in_place::clean() && is_clean() {
        return None;
    }
    Some(restart(std::env::vars_os()))
}

/// Whether there is nothing to take away or to add.
fn is_clean() -> bool {
    std::env::vars_os().all(|(name, value)| is_allowed(&name, &value)) && missing().next().is_none()
}

/// Variables that the window needs and the user didn't set.
fn missing() -> impl Iterator<Item = (OsString, OsString)> {
    let wanted = cfg!(target_os = "linux") && std::env::var_os(CPU_RENDERING).is_none();
    let set = if wanted { &SET_WITH_IT[..] } else { &[] };
    set.iter().map(|(name, value)| (name.into(), value.into()))
}

/// Whether a test driver started this process and controls it through variables. Always false in a build
/// without the feature `test-door`, which no release has.
fn is_driven() -> bool {
    cfg!(feature = "test-door") && std::env::var_os("TAURI_AUTOMATION").is_some()
}

fn is_allowed(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let known = |name: &str| match name {
        "GDK_BACKEND" => {
            value.to_str().is_some_and(|list| list.split(',').all(|one| BACKENDS.contains(&one)))
        }
        _ if WITHHELD.contains(&name) => false,
        _ if OF_APP_IMAGE.contains(&name) => is_in_app_image(),
        _ => {
            SET_WITH_IT.iter().any(|set| set.0 == name && value == set.1)
                || ALLOWED.contains(&name)
                || PROXIES.contains(&name)
                || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        }
    };
    // On Windows names are case-insensitive.
    if cfg!(windows) { known(&name.to_ascii_uppercase()) } else { known(name) }
}

fn is_in_app_image() -> bool {
    let folder = std::env::var_os(APP_FOLDER);
    folder.is_some_and(|folder| {
        std::env::current_exe().is_ok_and(|program| is_mount_of(Path::new(&folder), &program))
    })
}

/// Whether a program is in a folder that the runtime of an AppImage mounts, by the name that it gives to all of them.
fn is_mount_of(folder: &Path, program: &Path) -> bool {
    let name = folder.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with(".mount_")) && program.starts_with(folder)
}

/// The variables to run with. A name that is not Unicode is dropped.
fn sanitize(given: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
    given.filter_map(|(name, value)| {
        if is_allowed(&name, &value) { Some((name, value)) } else { Some((withheld_copy(&name)?, value)) }
    })
}

/// The name under which a withheld variable is kept; none if its own is not Unicode.
fn withheld_copy(name: &OsStr) -> Option<OsString> {
    Some(kept_as(name.to_str()?).into())
}

fn restart(given: impl Iterator<Item = (OsString, OsString)>) -> ExitCode {
    let failed = match std::env::current_exe() {
        Ok(program) => {
            let mut command = std::process::Command::new(program);
            command.args(std::env::args_os().skip(1)).env_clear().envs(missing()).envs(sanitize(given));
            match replace(command) {
                Ok(code) => return code,
                Err(error) => error,
            }
        }
        Err(error) => error,
    };
    eprintln!(
        "Gatehouse does not run with variables that can steer it, and could not start without them: {failed}"
    );
    ExitCode::FAILURE
}

/// Replaces this process by the program; returns only on an error.
#[cfg(unix)]
fn replace(mut command: std::process::Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Runs the program as a child and returns its exit code.
#[cfg(not(unix))]
fn replace(mut command: std::process::Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_session_variables_and_none_that_load_code() {
        for name in [
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "XDG_RUNTIME_DIR",
            "XDG_CURRENT_DESKTOP",
            "DBUS_SESSION_BUS_ADDRESS",
            "LC_ALL",
            "GDK_SCALE",
            "GTK_THEME",
            "GTK_IM_MODULE",
            "XMODIFIERS",
            "SSH_AUTH_SOCK",
            "GATEHOUSE_DATA_DIR",
        ]
        .into_iter()
        .chain(PROXIES)
        {
            assert!(is_allowed(OsStr::new(name), OsStr::new("x")), "{name}");
        }
        for name in [
            // Automation and inspectors.
            "TAURI_AUTOMATION",
            "TAURI_WEBVIEW_AUTOMATION",
            "tauri_automation",
            "WEBKIT_INSPECTOR_SERVER",
            "WEBKIT_INSPECTOR_HTTP_SERVER",
            "WEBVIEW2_ADDITIONAL_BROWSER_ARGUMENTS",
            "GTK_DEBUG",
            "AT_SPI_BUS_ADDRESS",
            // Code for this process, or for the web view's.
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "GLIBC_TUNABLES",
            "GCONV_PATH",
            "LOCPATH",
            "XDG_CONFIG_HOME",
            "XDG_CONFIG_DIRS",
            "GTK_MODULES",
            "GTK3_MODULES",
            "GTK_PATH",
            "GTK_EXE_PREFIX",
            "GTK_IM_MODULE_FILE",
            "GDK_PIXBUF_MODULE_FILE",
            "GDK_PIXBUF_MODULEDIR",
            "GIO_EXTRA_MODULES",
            "GIO_MODULE_DIR",
            "GSETTINGS_BACKEND",
            "GST_PLUGIN_PATH",
            "GST_REGISTRY",
            "WEBKIT_EXEC_PATH",
            "WEBKIT_INJECTED_BUNDLE_PATH",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS",
            "LIBGL_DRIVERS_PATH",
            "LIBVA_DRIVERS_PATH",
            "VK_ICD_FILENAMES",
            "__EGL_VENDOR_LIBRARY_FILENAMES",
            "__GLX_VENDOR_LIBRARY_NAME",
            // Trusted certificates, and the logging of TLS keys.
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "SSLKEYLOGFILE",
            "OPENSSL_CONF",
            "NODE_OPTIONS",
            "",
            "MY_HOME",
            "home",
        ] {
            assert!(
                !is_allowed(OsStr::new(name), OsStr::new("x")) || cfg!(windows) && name == "home",
                "{name}"
            );
        }
    }

    #[test]
    fn allows_only_display_backends() {
        for (value, is_kept) in [
            ("x11", true),
            ("wayland", true),
            ("wayland,x11", true),
            ("broadway", false),
            ("x11,broadway", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(OsStr::new("GDK_BACKEND"), OsStr::new(value)), is_kept, "{value}");
        }
    }

    /// Starts the process as a test driver or an attacker would. After the restart none of these
    /// variables is left, and servers still get what the user set.
    #[cfg(unix)]
    #[test]
    fn restarts_without_steering_variables() {
        use gatehouse_common::user_environment::{variable, variables};
        const CHILD: &str = "GATEHOUSE_STEERED_CHILD";
        const FREE: &str = "nobody steers this";
        let set = [
            ("TAURI_AUTOMATION", "true"),
            ("WEBKIT_INSPECTOR_SERVER", "127.0.0.1:9"),
            ("GTK_MODULES", "/tmp/evil.so"),
            ("GDK_BACKEND", "broadway"),
            ("XDG_CONFIG_HOME", "/tmp/evil"),
            ("GITHUB_TOKEN", "for a server"),
            ("SSL_CERT_FILE", "/tmp/evil.pem"),
            ("SSL_CERT_DIR", "/tmp/evil"),
            ("APPIMAGE", "/tmp/evil.AppImage"),
            ("APPDIR", "/tmp/evil"),
            // Looks like one of Gatehouse's own; withholding it must come to an end.
            ("LOOKS_OURS", "set-by-gatehouse"),
        ];
        if std::env::var_os(CHILD).is_some() {
            if std::env::vars_os().all(|(name, value)| is_allowed(&name, &value)) {
                assert!(set.iter().all(|(name, _)| std::env::var_os(name).is_none()));
                assert!(set.iter().all(|(name, value)| variable(name).is_some_and(|found| found == *value)));
                assert!(variables().contains_key(OsStr::new("GITHUB_TOKEN")));
                assert_eq!(std::env::var("DISPLAY").as_deref(), Ok(":7"));
                assert_eq!(missing().next(), None);
                assert!(
                    SET_WITH_IT.iter().all(|(name, _)| variable(name).is_none()),
                    "servers don't get them"
                );
                println!("{FREE}");
                return;
            }
            restart(std::env::vars_os());
            panic!("it came back");
        }
        let this = "process::environment::tests::restarts_without_steering_variables";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([this, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .env("DISPLAY", ":7")
            .envs(set)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains(FREE), "{child:?}");
    }

    #[test]
    fn believes_only_the_mount_of_its_own_app_image() {
        for (folder, is_believed) in [
            ("/tmp/.mount_GatehoXyz", true),
            ("/tmp/.mount_GatehoXyz/usr", false),
            ("/tmp/.mount_Other", false),
            ("/tmp", false),
            ("/", false),
            ("", false),
        ] {
            let program = Path::new("/tmp/.mount_GatehoXyz/usr/bin/gatehouse");
            assert_eq!(is_mount_of(Path::new(folder), program), is_believed, "{folder}");
        }
    }
}
