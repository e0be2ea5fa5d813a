//! The real application on its own desktop: display, bus, unlocked keychain and window manager are
//! started for it and end with it. Pages are driven through the platform's WebDriver. Must never touch
//! the desktop of the developer.

#[cfg(target_os = "linux")]
mod bus_monitor;
mod desktop;
mod driver;
#[cfg(target_os = "linux")]
mod full_screen;
#[cfg(target_os = "linux")]
mod pointer;
#[cfg(target_os = "linux")]
mod tray_host;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
pub use bus_monitor::BusMonitor;
pub use desktop::{Desktop, WindowPlace};
use driver::WebDriverSession;
#[cfg(target_os = "linux")]
pub use full_screen::FullScreenWindow;
#[cfg(target_os = "linux")]
pub use pointer::{Pointer, ScreenPoint};
#[cfg(target_os = "linux")]
pub use tray_host::TrayHost;

use crate::client::{Client, Sdk};
use crate::eventually::eventually;
use crate::paths;

/// What a person can reach: the last open dialog, or else the whole page.
const REACHABLE: &str = "([...document.querySelectorAll('[aria-modal=true]')].filter((it) => it.checkVisibility()).at(-1) ?? document)";

/// The application with its pages under control. Killed when dropped.
#[derive(Debug)]
pub struct AppWindow {
    driver: WebDriverSession,
}

/// One page of the application. It is looked for each time it is used: windows come and go.
#[derive(Clone, Copy, Debug)]
pub struct WebPage<'a> {
    driver: &'a WebDriverSession,
    kind: PageKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageKind {
    Main,
    Prompt,
}

impl PageKind {
    /// Of the page at an address of the application.
    fn of(address: &str) -> Option<Self> {
        if address.contains("prompt.html") {
            return Some(Self::Prompt);
        }
        address.starts_with("tauri:").then_some(Self::Main)
    }
}

impl AppWindow {
    /// Starts the application on this desktop and waits until its main page is loaded.
    pub fn start(desktop: &Desktop) -> Result<Self> {
        let window = Self::open(desktop)?;
        window.main().wait_until("return document.querySelector('header code') !== null")?;
        Ok(window)
    }

    /// Starts the application as [`AppWindow::start`] does, but its core may wait for user input.
    pub fn open(desktop: &Desktop) -> Result<Self> {
        let driver = WebDriverSession::start(desktop, &paths::program("gatehouse")?)?;
        let window = Self { driver };
        window.main().switch_to()?;
        Ok(window)
    }

    pub fn main(&self) -> WebPage<'_> {
        WebPage { driver: &self.driver, kind: PageKind::Main }
    }

    /// The page of the prompt, which is loaded when a client connects.
    pub fn prompt(&self) -> WebPage<'_> {
        WebPage { driver: &self.driver, kind: PageKind::Prompt }
    }

    /// Adds a client with this name, and connects it to the gateway of this application.
    pub fn connect_client(&self, name: &str) -> Result<Client> {
        let minted = self.main().command("clients.add", &json!({ "name": name }))?;
        let text = |member: &str| minted[member].as_str().context("nothing was minted");
        Client::connect(Sdk::TypeScript, "2026-07-28", text("endpoint")?, Some(text("token")?))
    }

    /// How many pages there are.
    pub fn count(&self) -> Result<usize> {
        Ok(self.driver.handles()?.len())
    }

    /// Quits the application by its own command, as a user would, and waits until it is gone.
    pub fn quit(self) -> Result<()> {
        self.main().run("window.__TAURI_INTERNALS__.invoke('quit'); return null").ok();
        self.wait_until_closed()
    }

    /// Closes the main window as its page does, which gets no reply. The driver gets its own before that.
    pub fn close_main(&self) -> Result<()> {
        let close = "setTimeout(() => window.__TAURI_INTERNALS__.invoke('close_main'), 100); return null";
        self.main().run(close).map(drop)
    }

    /// Waits until the application has exited.
    pub fn wait_until_closed(self) -> Result<()> {
        self.driver.wait_until_closed()
    }
}

impl WebPage<'_> {
    fn switch_to(&self) -> Result<()> {
        if self.is_current() {
            return Ok(());
        }
        eventually(format!("the page {:?}", self.kind), || {
            for handle in self.driver.handles()? {
                // A window may be gone by now.
                let is_found = self.driver.post("window", &json!({ "handle": handle })).is_ok();
                if is_found && self.is_current() {
                    return Ok(Ok(()));
                }
            }
            Ok(Err("there is none"))
        })
    }

    /// Whether the driver is at this page.
    fn is_current(&self) -> bool {
        let address = self.driver.get("url").ok();
        address.as_ref().and_then(Value::as_str).and_then(PageKind::of) == Some(self.kind)
    }

    /// Its address.
    pub fn address(&self) -> Result<String> {
        self.switch_to()?;
        Ok(self.driver.get("url")?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs the body of a function in the page.
    pub fn run(&self, body: &str) -> Result<Value> {
        self.switch_to()?;
        self.driver.post("execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Runs the body of an async function in the page and waits for its value.
    pub fn wait_for(&self, body: &str) -> Result<Value> {
        self.switch_to()?;
        let script = format!(
            "const done = arguments[0]; (async () => {{ {body} }})().then((ok) => done({{ ok }}), \
             (error) => done({{ error: typeof error === 'string' ? error : JSON.stringify(error) + String(error) }}));"
        );
        let outcome = self.driver.post("execute/async", &json!({ "script": script, "args": [] }))?;
        match outcome.get("error") {
            Some(error) => bail!("{}", error.as_str().unwrap_or_default()),
            None => Ok(outcome["ok"].clone()),
        }
    }

    /// Invokes a command of the shell as the page could.
    pub fn invoke(&self, command: &str, args: &Value) -> Result<Value> {
        self.wait_for(&format!("return window.__TAURI_INTERNALS__.invoke({}, {args})", json!(command)))
    }

    /// Runs a command of the core as the main page could.
    pub fn command(&self, name: &str, args: &Value) -> Result<Value> {
        self.invoke("command", &json!({ "name": name, "args": args }))
    }

    /// Runs the body repeatedly until its value is not empty.
    pub fn wait_until(&self, body: &str) -> Result<Value> {
        let found = eventually(format!("the page to fulfil {body}"), || {
            let found = self.run(body)?;
            let is_empty = matches!(found, Value::Null | Value::Bool(false));
            Ok(if is_empty { Err("it returns nothing") } else { Ok(found) })
        });
        found.or_else(|error| bail!("{error}\n{}", self.text()?))
    }

    /// The visible text of the page.
    pub fn text(&self) -> Result<String> {
        Ok(self.run("return document.body.innerText")?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the page shows this text.
    pub fn wait_for_text(&self, text: &str) -> Result<()> {
        self.wait_until(&format!("return document.body.innerText.includes({})", json!(text))).map(drop)
    }

    /// Clicks on the first enabled, visible element that matches, with the pointer.
    pub fn click(&self, css: &str) -> Result<()> {
        let element = self.element(&format!("document.querySelectorAll({})", json!(css)))?;
        self.driver.post(&format!("element/{element}/click"), &json!({})).map(drop)
    }

    /// Clicks on the element with this name that is a button, a link, a label, an input, a summary or has an
    /// ARIA role. A label may have a description below its name.
    pub fn press(&self, name: &str) -> Result<()> {
        let element = self.element(&format!(
            "[...{REACHABLE}.querySelectorAll('button, a, [role], label, input, summary')].filter((it) => \
             [it.getAttribute('aria-label'), it.innerText?.trim(), it.value, \
             it.matches('label') && it.innerText.trim().split('\\n', 1)[0]].includes({}))",
            json!(name)
        ))?;
        self.driver.post(&format!("element/{element}/click"), &json!({})).map(drop)
    }

    /// Clicks on the field with this label, selects its text and replaces it in one edit, as pasting does. Typing would
    /// have to clear the field first, and the driver clears it without an event that React hears: if the page renders
    /// before the first key, the old text is back.
    pub fn fill(&self, label: &str, text: &str) -> Result<()> {
        let element = self.element(&labelled("input, textarea", label))?;
        self.driver.post(&format!("element/{element}/click"), &json!({}))?;
        let text = json!(text);
        let edit = format!(
            "document.activeElement.select(); return document.execCommand('insertText', false, {text})"
        );
        let is_replaced = self.run(&edit)?;
        ensure!(is_replaced == true, "{label} takes no text");
        Ok(())
    }

    /// Chooses an option of the list with this label.
    pub fn choose(&self, label: &str, option: &str) -> Result<()> {
        let lists = labelled("select", label);
        self.element(&lists)?;
        let found = self.wait_until(&format!(
            "return [...({lists}[0]?.options ?? [])].find((it) => it.text.trim() === {}) ?? null",
            json!(option)
        ))?;
        let option = element_id(&found).context("no element")?;
        self.driver.post(&format!("element/{option}/click"), &json!({})).map(drop)
    }

    /// Takes a screenshot of the page, once it stands still.
    pub fn screenshot(&self, file: &Path) -> Result<()> {
        self.wait_for("await document.fonts.ready; await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")?;
        let encoded = self.driver.get("screenshot")?;
        driver::write_picture(file, encoded.as_str().context("no picture")?)
    }

    /// The id of the first element of a list that is visible and enabled, once it stands still and no
    /// other element covers its centre: a person cannot click an element that moves or is covered
    /// either.
    fn element(&self, list: &str) -> Result<String> {
        let find = format!(
            "const it = [...{list}].find((it) => it.checkVisibility() && !it.disabled && \
             it.getAttribute('aria-disabled') !== 'true'); \
             if (!it) return null; \
             it.scrollIntoView({{ block: 'nearest', behavior: 'instant' }}); \
             const place = () => {{ const {{ x, y, width, height }} = it.getBoundingClientRect(); \
             return [x + width / 2, y + height / 2]; }}; \
             const before = place(); \
             await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); \
             const after = place(); \
             const top = document.elementFromPoint(...after); \
             const hit = top && (it.contains(top) || [...(it.labels ?? [])].some((one) => one.contains(top))); \
             return hit && String(before) === String(after) ? it : null;"
        );
        let id = eventually(format!("one of {list} that can be clicked on"), || {
            Ok(element_id(&self.wait_for(&find)?).ok_or("there is none"))
        });
        id.or_else(|error| bail!("{error}\n{}", self.text()?))
    }
}

/// The list of the elements of some kinds that a person can reach and that have this label.
fn labelled(kinds: &str, label: &str) -> String {
    format!(
        "[...{REACHABLE}.querySelectorAll('{kinds}')].filter((it) => \
         [it.getAttribute('aria-label'), document.getElementById(it.getAttribute('aria-labelledby'))?.innerText.trim(), \
         ...[...(it.labels ?? [])].map((one) => one.innerText.replace(/\\s*\\*$/, '').trim())].includes({}))",
        json!(label)
    )
}

/// The id of an element that a script returned.
fn element_id(found: &Value) -> Option<String> {
    let id = found.as_object()?.values().next()?;
    id.as_str().map(str::to_owned)
}
