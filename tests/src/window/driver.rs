//! One session of the platform's WebDriver (W3C WebDriver), which starts the application itself.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::desktop::Desktop;
use crate::child_process::ChildProcess;
use crate::eventually::{eventually, eventually_holds};
use crate::http;

/// A session. Dropping it ends the application.
#[derive(Debug)]
pub(super) struct WebDriverSession {
    address: String,
    session: String,
    /// Declared last: the driver outlives the session.
    _program: ChildProcess,
}

impl WebDriverSession {
    /// Starts the driver, and through it the application.
    pub(super) fn start(desktop: &Desktop, application: &Path) -> Result<Self> {
        // A free port chosen by the system.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = desktop.command("WebKitWebDriver");
        command.args(["--host=127.0.0.1", &format!("--port={port}")]);
        command.env("TAURI_AUTOMATION", "true").env("TAURI_WEBVIEW_AUTOMATION", "true");
        let program = ChildProcess::start("WebKitWebDriver", &mut command)?;
        let mut driver =
            Self { address: format!("http://127.0.0.1:{port}"), session: String::new(), _program: program };
        eventually("an answer of the driver", || Ok(driver.send("GET", "/status", None).map(drop)))?;
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "webkitgtk:browserOptions": { "binary": application, "args": [] }
        } } });
        let session = driver.send("POST", "/session", Some(&wanted))?;
        driver.session = session["sessionId"].as_str().context("no session")?.to_owned();
        Ok(driver)
    }

    pub(super) fn handles(&self) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.get("window/handles")?)?)
    }

    pub(super) fn get(&self, what: &str) -> Result<Value> {
        self.send("GET", &format!("/session/{}/{what}", self.session), None)
    }

    pub(super) fn post(&self, what: &str, body: &Value) -> Result<Value> {
        self.send("POST", &format!("/session/{}/{what}", self.session), Some(body))
    }

    /// Waits until the application has exited.
    pub(super) fn wait_until_closed(&self) -> Result<()> {
        eventually_holds("the end of the application", || {
            Ok(!self.handles().is_ok_and(|handles| !handles.is_empty()))
        })
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = [("Content-Type", "application/json")];
        let answer = http::send(method, &format!("{}{path}", self.address), &headers, body.as_bytes())?;
        let mut answer: Value = serde_json::from_str(&answer.body).context("the driver answers no JSON")?;
        let value = answer["value"].take();
        match value.get("error").and_then(Value::as_str) {
            Some(error) if value.get("stacktrace").is_some() => {
                bail!("{error}: {}", value["message"].as_str().unwrap_or_default())
            }
            _ => Ok(value),
        }
    }
}

impl Drop for WebDriverSession {
    fn drop(&mut self) {
        if !self.session.is_empty()
            && self.send("DELETE", &format!("/session/{}", self.session), None).is_err()
        {
            // The application has exited already.
        }
    }
}

/// Writes a screenshot that is encoded in base64.
pub(super) fn write_picture(file: &Path, encoded: &str) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut decode = Command::new("base64");
    decode.arg("--decode").stdout(std::fs::File::create(file)?).stdin(std::process::Stdio::piped());
    let mut child = decode.spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().context("no input")?, encoded.as_bytes())?;
    anyhow::ensure!(child.wait()?.success(), "the picture could not be decoded");
    Ok(())
}
