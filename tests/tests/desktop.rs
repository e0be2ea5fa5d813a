//! What the desktop shows of Gatehouse outside its windows: notifications, badge, tray, start at login, the place of the
//! window, updates. Notifications are shown by Dunst, and clicked on there.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::Client;
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::oidc::AuthorizationServer;
use gatehouse_tests::paths;
use gatehouse_tests::update_server::UpdateServer;
use gatehouse_tests::window::{AppWindow, BusMonitor, Desktop, FullScreenWindow, TrayHost, WindowPlace};
use serde_json::json;

/// A click with the first button does what the notification offers.
const DUNST: &str = "[global]\nmouse_left_click = do_action, close_current\nidle_threshold = 0\n";

/// The name of Dunst's window.
const NOTIFICATION: &str = "Dunst";

/// A desktop with a service that shows notifications.
fn desktop_with_notifications() -> Result<Desktop> {
    let mut desktop = Desktop::start()?;
    let settings = desktop.home().join("dunstrc");
    fs::write(&settings, DUNST)?;
    let mut dunst = desktop.command("dunst");
    desktop.start_service(dunst.arg("-config").arg(settings), "org.freedesktop.Notifications")?;
    Ok(desktop)
}

/// Clicks on the notification that is shown.
fn click_notification(desktop: &Desktop) -> Result<()> {
    desktop.until_visible(NOTIFICATION, true)?;
    let WindowPlace { x, y, width, height } = desktop.place_of(NOTIFICATION)?;
    let (x, y) = ((x + width / 2).to_string(), (y + height / 2).to_string());
    desktop.xdotool(&["mousemove", &x, &y, "click", "1"]).map(drop)
}

/// Closes the main window, and waits until it is gone.
fn close(desktop: &Desktop, window: &AppWindow) -> Result<()> {
    window.close_main()?;
    desktop.until_visible("Gatehouse", false)
}

/// Starts Gatehouse once more, which opens the window of the first.
fn start_again(desktop: &Desktop) -> Result<()> {
    ensure!(desktop.command(paths::program("gatehouse")?).status()?.success());
    desktop.until_visible("Gatehouse", true)
}

fn deny(window: &AppWindow, client: &mut Client, call: &str) -> Result<()> {
    let prompt = window.prompt();
    eventually_holds("the answer to be taken", || {
        let pending =
            prompt.wait_for("return window.__TAURI_INTERNALS__.invoke('prompt_pending', { known: [] })")?;
        let answer = json!({"answers": [{
            "id": pending[0]["id"], "hash": pending[0]["request"]["hash"],
            "answer": {"answer": "deny", "choice": {"lifetime": "once", "width": "call", "everyClient": false, "conditions": []}},
        }]});
        Ok(prompt.invoke("prompt_answer", &answer).is_ok())
    })?;
    ensure!(!client.finish(call)?.is_ok());
    Ok(())
}

/// Behind a window in full screen the prompt cannot be seen. The notification says who wants what, and a click on it brings
/// the prompt with the keyboard; it answers nothing. The icon counts what is pending.
#[test]
fn notification_leads_to_the_request() -> Result<()> {
    let desktop = desktop_with_notifications()?;
    desktop.store_preferences(&json!({"preferences": {"firstRunDone": true, "notificationSound": true}}))?;
    let mut badge =
        BusMonitor::start(&desktop, "type='signal',interface='com.canonical.Unity.LauncherEntry'")?;
    let mut notifications = BusMonitor::start(&desktop, "interface='org.freedesktop.Notifications'")?;
    let window = AppWindow::start(&desktop)?;
    let mut client = window.connect_client("Claude Code")?;
    let film = FullScreenWindow::open(&desktop)?;
    let call = client.begin("current_time", &json!({}))?;
    badge.wait_for_values(&["\"application://Gatehouse.desktop\"", "int64 1", "boolean true"])?;
    notifications.wait_for_values(&[
        "\"Claude Code wants to use Current time\"",
        "\"sound-name\"",
        "\"message-new-instant\"",
    ])?;
    ensure!(desktop.focused_window()? != "Gatehouse asks");
    click_notification(&desktop)?;
    eventually_holds(
        "the prompt to have the keyboard",
        || Ok(desktop.focused_window()? == "Gatehouse asks"),
    )?;
    let pending = window.prompt().invoke("prompt_pending", &json!({ "known": [] }))?;
    ensure!(pending.as_array().is_some_and(|all| all.len() == 1), "a click answered: {pending}");
    deny(&window, &mut client, &call)?;
    badge.wait_for_values(&["int64 0", "boolean false"])?;
    drop(film);
    window.quit()
}

/// What nobody clicked on is taken back when the request was answered. Without the preference there is no sound.
#[test]
fn notification_ends_with_the_request() -> Result<()> {
    let desktop = desktop_with_notifications()?;
    let mut notifications = BusMonitor::start(&desktop, "interface='org.freedesktop.Notifications'")?;
    let window = AppWindow::start(&desktop)?;
    let mut client = window.connect_client("Claude Code")?;
    let _film = FullScreenWindow::open(&desktop)?;
    let call = client.begin("current_time", &json!({}))?;
    notifications.wait_for_values(&["\"Claude Code wants to use Current time\"", "\"suppress-sound\""])?;
    desktop.until_visible(NOTIFICATION, true)?;
    deny(&window, &mut client, &call)?;
    notifications.wait_for_values(&["member=CloseNotification"])?;
    desktop.until_visible(NOTIFICATION, false)?;
    window.quit()
}

/// A server that needs a sign-in says so once, also when the window is closed, and the click leads to its page.
#[test]
fn notification_leads_to_the_server() -> Result<()> {
    let desktop = desktop_with_notifications()?;
    let provider = AuthorizationServer::start(&[])?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    // Its prompt is a page that stays when the main window is closed.
    let _client = window.connect_client("Claude Code")?;
    let _film = FullScreenWindow::open(&desktop)?;
    let draft = json!({ "name": "Linear", "transport": { "type": "http", "url": provider.mcp } });
    main.command("servers.add", &json!({ "draft": draft, "trustLabels": false, "secrets": [] }))?;
    let servers = main.command("servers.list", &json!({}))?;
    let added = servers.as_array().and_then(|all| all.iter().find(|it| it["config"]["name"] == "Linear"));
    let server = added.and_then(|added| added["config"]["id"].as_str()).context("no server")?;
    close(&desktop, &window)?;
    click_notification(&desktop)?;
    desktop.until_visible("Gatehouse", true)?;
    main.wait_until(&format!("return location.hash.startsWith('#/servers/{server}')"))?;
    main.wait_for_text("Sign in")?;
    window.quit()
}

/// The tray's menu names what is pending, and leads there; it pauses and resumes, opens the window and quits.
#[test]
fn tray_shows_and_acts() -> Result<()> {
    let desktop = Desktop::start()?;
    let tray = TrayHost::start(&desktop)?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    let mut client = window.connect_client("Claude Code")?;
    tray.wait_for_entry(|text| text == "Show pending approvals")?;
    ensure!(tray.choose("Show pending approvals").is_err(), "nothing is pending");
    let quiet = tray.icon()?;

    let call = client.begin("current_time", &json!({}))?;
    let request = tray.wait_for_entry(|text| text.starts_with("Claude Code: Current time"))?;
    tray.wait_for_entry(|text| text.ends_with("1 pending approval"))?;
    eventually_holds("another icon", || Ok(tray.icon()? != quiet))?;
    desktop.until_visible("Gatehouse asks", true)?;
    window.prompt().invoke("prompt_put_away", &json!({}))?;
    desktop.until_visible("Gatehouse asks", false)?;
    tray.choose(&request)?;
    eventually_holds(
        "the prompt to have the keyboard",
        || Ok(desktop.focused_window()? == "Gatehouse asks"),
    )?;
    deny(&window, &mut client, &call)?;
    eventually_holds("the first icon", || Ok(tray.icon()? == quiet))?;

    let is_paused = || Ok::<_, anyhow::Error>(main.command("status", &json!({}))?["paused"] == true);
    tray.choose("Pause everything")?;
    tray.wait_for_entry(|text| text == "Resume")?;
    ensure!(is_paused()?);
    tray.choose("Resume")?;
    tray.wait_for_entry(|text| text == "Pause everything")?;
    ensure!(!is_paused()?);

    close(&desktop, &window)?;
    tray.choose("Show Gatehouse")?;
    desktop.until_visible("Gatehouse", true)?;
    tray.choose("Quit Gatehouse")?;
    window.wait_until_closed()
}

/// The window comes back where it was, from the tray and after a new start, and never outside the screens.
#[test]
fn window_comes_back_in_its_place() -> Result<()> {
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    let _client = window.connect_client("Claude Code")?;
    desktop.until_visible("Gatehouse", true)?;
    desktop.xdotool(&[
        "search",
        "--onlyvisible",
        "--name",
        "^Gatehouse$",
        "windowsize",
        "--sync",
        "900",
        "600",
    ])?;
    desktop.xdotool(&[
        "search",
        "--onlyvisible",
        "--name",
        "^Gatehouse$",
        "windowmove",
        "--sync",
        "211",
        "137",
    ])?;
    let before = desktop.place_of("Gatehouse")?;
    ensure!((before.width, before.height) == (900, 600), "{before:?}");
    // Twice: a place that is measured and set in different ways would move a little each time.
    for _ in 0..2 {
        close(&desktop, &window)?;
        start_again(&desktop)?;
        main.wait_until("return document.querySelector('header code') !== null")?;
        assert_eq!(desktop.place_of("Gatehouse")?, before);
    }
    window.quit()?;
    let window = AppWindow::start(&desktop)?;
    assert_eq!(desktop.place_of("Gatehouse")?, before);
    window.quit()?;

    // A screen that was unplugged since.
    desktop.store_preferences(&json!({
        "preferences": { "firstRunDone": true },
        "mainWindow": { "x": 5000, "y": 300, "width": 900, "height": 600, "isMaximized": false },
    }))?;
    let window = AppWindow::start(&desktop)?;
    let WindowPlace { x, y, .. } = desktop.place_of("Gatehouse")?;
    ensure!((0..1280).contains(&x) && (0..900).contains(&y), "{x}, {y}");
    window.quit()
}

/// Start at login is a switch of the page. What the desktop then starts is in the tray, without a window.
#[test]
fn starts_at_login_in_the_tray() -> Result<()> {
    let mut desktop = Desktop::start()?;
    // The file that the user downloaded, which is what has to be started.
    let image = desktop.home().join("Gatehouse.AppImage");
    std::os::unix::fs::symlink(paths::program("gatehouse")?, &image)?;
    desktop.set_variable("APPIMAGE", &image);
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    main.run("location.hash = '#/settings'; return null")?;
    main.press("Start at login")?;
    let entry = desktop.home().join(".config/autostart/Gatehouse.desktop");
    eventually_holds("the entry for the login", || Ok(entry.exists()))?;
    window.quit()?;

    let entry = fs::read_to_string(entry)?;
    let line = entry.lines().find_map(|line| line.strip_prefix("Exec=")).context("starts nothing")?;
    ensure!(line.starts_with(image.to_str().context("no name")?), "{line}");
    let tray = TrayHost::start(&desktop)?;
    let mut login =
        desktop.command("sh").args(["-c", &format!("exec {line}")]).stderr(Stdio::null()).spawn()?;
    tray.wait_for_entry(|text| text == "Show Gatehouse")?;
    ensure!(!desktop.is_visible("Gatehouse")?, "a window at login");
    tray.choose("Show Gatehouse")?;
    desktop.until_visible("Gatehouse", true)?;
    tray.choose("Quit Gatehouse")?;
    ensure!(login.wait()?.success());
    Ok(())
}

/// A Gatehouse that was downloaded as one file, with a server of its releases.
struct UpdateTestbed {
    window: AppWindow,
    server: UpdateServer,
    /// The file, which is what an update replaces.
    image: PathBuf,
    _desktop: Desktop,
}

// They begin as every program of Linux does, and have a header's length: the updater looks at that.
const INSTALLED: &[u8] = &program(b'1');
const NEWER: &[u8] = &program(b'2');

const fn program(content: u8) -> [u8; 64] {
    let mut program = [content; 64];
    (program[0], program[1], program[2], program[3]) = (0x7f, b'E', b'L', b'F');
    program
}

impl UpdateTestbed {
    fn start() -> Result<Self> {
        let mut desktop = Desktop::start()?;
        let server = UpdateServer::start(desktop.home())?;
        let image = desktop.home().join("Gatehouse.AppImage");
        fs::write(&image, INSTALLED)?;
        desktop.set_variable("APPIMAGE", &image);
        desktop.set_variable("SSL_CERT_FILE", server.certificate());
        desktop.set_variable("GATEHOUSE_UPDATE_URL", server.address());
        desktop.set_variable("GATEHOUSE_UPDATE_KEY", server.public_key()?);
        let window = AppWindow::start(&desktop)?;
        window.main().run("location.hash = '#/settings'; return null")?;
        Ok(Self { window, server, image, _desktop: desktop })
    }

    /// Looks for an update and installs it, as a user does.
    fn update_to(&self, version: &str) -> Result<()> {
        let main = self.window.main();
        main.press("Check for updates")?;
        main.wait_for_text(&format!("Version {version} is available."))?;
        main.press(&format!("Install {version}"))
    }

    fn installed(&self) -> Result<Vec<u8>> {
        Ok(fs::read(&self.image)?)
    }
}

#[test]
fn update_is_downloaded_and_installed_when_the_user_says_so() -> Result<()> {
    let bed = UpdateTestbed::start()?;
    let main = bed.window.main();
    bed.server.offer("99.0.0", NEWER, &bed.server.sign(NEWER, Some("99.0.0"))?);
    bed.server.hold_back();
    bed.update_to("99.0.0")?;
    main.wait_for_text("Downloading version 99.0.0")?;
    main.press("Cancel")?;
    main.wait_for_text("Version 99.0.0 is available.")?;
    assert_eq!(bed.installed()?, INSTALLED);

    bed.server.offer("99.0.0", NEWER, &bed.server.sign(NEWER, Some("99.0.0"))?);
    main.press("Install 99.0.0")?;
    main.wait_for_text("Version 99.0.0 is installed. Quit Gatehouse and start it again to use it.")?;
    assert_eq!(bed.installed()?, NEWER);
    bed.window.quit()
}

/// Whoever controls the server of releases, or its address, installs nothing.
#[test]
fn update_needs_its_own_signature() -> Result<()> {
    let bed = UpdateTestbed::start()?;
    let main = bed.window.main();
    let other = UpdateServer::start(&bed.image.with_file_name("tmp"))?;
    for (what, signature) in [
        ("of somebody else", other.sign(NEWER, Some("99.0.0"))?),
        ("of another package", bed.server.sign(INSTALLED, Some("99.0.0"))?),
        ("of an older version", bed.server.sign(NEWER, Some("0.0.1"))?),
        ("of no version", bed.server.sign(NEWER, None)?),
        ("none", String::new()),
    ] {
        bed.server.offer("99.0.0", NEWER, &signature);
        bed.update_to("99.0.0")?;
        main.wait_for_text("The update wasn't installed.").with_context(|| what.to_owned())?;
        assert_eq!(bed.installed()?, INSTALLED, "{what}");
    }
    // Older than what runs.
    bed.server.offer("0.0.1", NEWER, &bed.server.sign(NEWER, Some("0.0.1"))?);
    main.press("Check for updates")?;
    main.wait_for_text("Gatehouse is up to date.")?;
    bed.window.quit()
}
