//! A real authorization server, an MCP server that it protects (`tests/js`), and a user at a browser.
//! Must never print what the authorization server issued.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gatehouse_model::Secret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::child_process::ChildProcess;
use crate::eventually::eventually;
use crate::http;
use crate::paths;

/// Both servers, in one process.
#[derive(Debug)]
pub struct AuthorizationServer {
    _lines: ChildProcess,
    /// Address of the protected MCP server.
    pub mcp: String,
    /// Issuer at the start; [`AuthorizationServer::replace_issuer`] returns a new one.
    pub issuer: String,
    test: String,
}

/// The preregistered clients at the present issuer.
#[derive(Debug, Deserialize)]
pub struct RegisteredClients {
    /// Signs in users; redirects to `/callback` on this machine, at any port.
    pub confidential: SecretClient,
    /// Client credentials with a secret.
    pub machine: SecretClient,
    /// Client credentials with a signed assertion.
    pub key: KeyClient,
}

#[derive(Debug, Deserialize)]
pub struct SecretClient {
    pub id: String,
    pub secret: Secret,
}

#[derive(Debug, Deserialize)]
pub struct KeyClient {
    pub id: String,
    /// Private key in PEM.
    pub pem: Secret,
    /// Signature algorithm.
    pub algorithm: String,
}

/// Requests to the present issuer by grant type, and for `authorize`, `registration` and `revocation`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestCounts {
    asked: BTreeMap<String, u64>,
    granted: BTreeMap<String, u64>,
    /// Number of access tokens that are valid now.
    pub access_tokens: u64,
}

impl RequestCounts {
    /// Number of requests of a kind.
    pub fn asked(&self, what: &str) -> u64 {
        self.asked.get(what).copied().unwrap_or_default()
    }

    /// Number of granted requests of a kind.
    pub fn granted(&self, what: &str) -> u64 {
        self.granted.get(what).copied().unwrap_or_default()
    }
}

/// A token that the MCP server received.
#[derive(Debug, Clone, Deserialize)]
pub struct ReceivedToken {
    pub hash: String,
    pub issuer: Option<String>,
    /// Method of the request.
    pub method: String,
    /// The tool that was called.
    pub tool: Option<String>,
    /// Status of the answer.
    pub status: u16,
}

/// A token, code, verifier or secret that the authorization server issued.
#[derive(Debug, Deserialize)]
pub struct IssuedSecret {
    pub kind: String,
    pub value: Secret,
}

/// The `iss` in authorization responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iss {
    /// Correct.
    Right,
    /// Wrong in one character.
    Wrong,
    /// Missing, although it is promised.
    Absent,
}

impl AuthorizationServer {
    /// Starts both; the options are `--jwt`, `--older` and `--lifetime SECONDS`.
    pub fn start(options: &[&str]) -> Result<Self> {
        let mut command = Command::new("node");
        command.arg(paths::tests_dir().join("js/authorization-server.mjs")).args(options);
        let mut lines = ChildProcess::start("the authorization server", &mut command)?;
        let ready: Value = serde_json::from_str(&lines.next_line()?)?;
        let text =
            |name: &str| Ok::<_, anyhow::Error>(ready[name].as_str().context("no address")?.to_owned());
        Ok(Self { mcp: text("mcp")?, issuer: text("issuer")?, test: text("test")?, _lines: lines })
    }

    /// The preregistered clients.
    pub fn clients(&self) -> Result<RegisteredClients> {
        self.get("clients")
    }

    /// The requests to the present issuer so far.
    pub fn counts(&self) -> Result<RequestCounts> {
        self.get("counts")
    }

    /// Every token that the MCP server received so far, in order.
    pub fn received_tokens(&self) -> Result<Vec<ReceivedToken>> {
        self.get("seen")
    }

    /// Tokens and codes that were sent to an issuer other than their own: kind and hash, for each
    /// issuer.
    pub fn misdirected_secrets(&self) -> Result<BTreeMap<String, Vec<Value>>> {
        self.get("strays")
    }

    /// Every token, code, verifier and secret so far.
    pub fn secrets(&self) -> Result<Vec<IssuedSecret>> {
        self.get("secrets")
    }

    /// Sets the lifetime of access tokens in seconds.
    pub fn set_lifetime(&self, seconds: u32) -> Result<()> {
        self.post("switches", &json!({ "lifetime": seconds })).map(drop)
    }

    /// Sets the delay of the token endpoint in milliseconds.
    pub fn set_delay(&self, milliseconds: u32) -> Result<()> {
        self.post("switches", &json!({ "delay": milliseconds })).map(drop)
    }

    /// Sets the `iss` of the next authorization responses.
    pub fn set_iss(&self, iss: Iss) -> Result<()> {
        let word = match iss {
            Iss::Right => "right",
            Iss::Wrong => "wrong",
            Iss::Absent => "absent",
        };
        self.post("switches", &json!({ "iss": word })).map(drop)
    }

    /// The next request for this grant type gets an error such as `invalid_client`.
    pub fn answer_once(&self, grant: &str, error: &str) -> Result<()> {
        self.post("answer", &json!({ "grant": grant, "error": error })).map(drop)
    }

    /// Revokes everything that a user allowed.
    pub fn revoke(&self, user: &str) -> Result<()> {
        self.post("revoke", &json!({ "user": user })).map(drop)
    }

    /// Expires all access tokens; refresh tokens stay valid.
    pub fn expire(&self) -> Result<()> {
        self.post("expire", &json!({})).map(drop)
    }

    /// Replaces the present issuer by another one, and returns it.
    pub fn replace_issuer(&self) -> Result<String> {
        let swapped = self.post("swap", &json!({}))?;
        Ok(swapped["issuer"].as_str().context("no issuer")?.to_owned())
    }

    /// Waits until no access token is valid any more.
    pub fn wait_until_expired(&self) -> Result<()> {
        eventually("the end of all access tokens", || {
            let counts = self.counts()?;
            Ok(if counts.access_tokens == 0 { Ok(()) } else { Err(format!("{counts:?}")) })
        })
    }

    /// Searches these files and texts for everything that was ever issued. As a check of the search
    /// itself, they have to contain the protected server's URL.
    pub fn ensure_nothing_leaked(&self, folder: &Path, texts: &[(&str, String)]) -> Result<()> {
        let secrets = self.secrets()?;
        ensure!(!secrets.is_empty(), "nothing was ever given away");
        let mut files = Vec::new();
        collect_files(folder, &mut files)?;
        let mut places: Vec<(String, String)> = Vec::new();
        for path in &files {
            let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
            places.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
        places.extend(texts.iter().map(|(name, text)| ((*name).to_owned(), text.clone())));
        let known = places.iter().any(|(_, text)| text.contains(&self.mcp));
        ensure!(known, "not even the server's address is to be found: this looks in the wrong places");
        for (name, text) in &places {
            for IssuedSecret { kind, value } in &secrets {
                // Short values would be found by chance.
                ensure!(value.reveal().len() >= 16, "a {kind} is too short to be looked for");
                ensure!(!text.contains(value.reveal()), "{name} holds a {kind}");
            }
        }
        Ok(())
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let answer = http::send("GET", &format!("{}/{name}", self.test), &[], b"")?;
        ensure!(answer.status == 200, "/test/{name}: {}", answer.status);
        Ok(serde_json::from_str(&answer.body)?)
    }

    fn post(&self, name: &str, wanted: &Value) -> Result<Value> {
        let answer = http::post(&format!("{}/{name}", self.test), &[], wanted.to_string().as_bytes())?;
        ensure!(answer.status == 200, "/test/{name}: {}", answer.body);
        Ok(serde_json::from_str(&answer.body)?)
    }
}

fn collect_files(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => collect_files(&entry.path(), files)?,
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(())
}

/// A user at a browser: fills in the forms of the authorization server.
#[derive(Debug, Clone, Copy)]
pub struct Browser {
    user: &'static str,
    more: &'static [&'static str],
}

/// The page at which a browser ended.
#[derive(Debug, Deserialize)]
pub struct BrowserPage {
    pub address: String,
    /// Its status; 0 if it was not opened.
    pub status: u16,
    pub text: String,
}

impl Browser {
    /// A user who gives consent, with their own cookies.
    #[must_use]
    pub fn of(user: &'static str) -> Self {
        Self { user, more: &[] }
    }

    /// A user who signs in and then denies consent.
    #[must_use]
    pub fn refusing(user: &'static str) -> Self {
        Self { user, more: &["--deny"] }
    }

    /// Follows an address to the last page.
    pub fn visit(self, address: &str) -> Result<BrowserPage> {
        self.run(address, self.more)
    }

    /// Follows an address up to the redirect that leaves the authorization server, and returns that
    /// redirect's address.
    pub fn stop_before_callback(self, address: &str) -> Result<String> {
        let more = [self.more, &["--stop"]].concat();
        let page = self.run(address, &more)?;
        ensure!(page.status == 0, "it ended at a page of the authorization server: {}", page.text);
        Ok(page.address)
    }

    fn run(self, address: &str, more: &[&str]) -> Result<BrowserPage> {
        let script = paths::tests_dir().join("js/browser.mjs");
        let mut command = Command::new("node");
        command.arg(script).args([address, "--user", self.user]).args(more);
        let output = command.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_leaked_and_misdirected_secrets() -> Result<()> {
        let provider = AuthorizationServer::start(&[])?;
        let secret = provider.clients()?.confidential.secret;
        let folder = tempfile::tempdir()?;
        assert!(provider.ensure_nothing_leaked(folder.path(), &[]).is_err(), "there was nothing to look in");
        fs::create_dir(folder.path().join("deep"))?;
        fs::write(folder.path().join("deep/file"), [&[0, 255], provider.mcp.as_bytes()].concat())?;
        provider.ensure_nothing_leaked(folder.path(), &[])?;
        let said = format!("it said {}.", secret.reveal());
        assert!(provider.ensure_nothing_leaked(folder.path(), &[("a text", said.clone())]).is_err());
        fs::write(folder.path().join("deep/other"), [&[0, 255], said.as_bytes()].concat())?;
        assert!(provider.ensure_nothing_leaked(folder.path(), &[]).is_err());

        let issuer = provider.replace_issuer()?;
        assert!(provider.misdirected_secrets()?.values().all(Vec::is_empty));
        let body =
            format!("grant_type=authorization_code&client_id=confidential&client_secret={}", secret.reveal());
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = http::post(&format!("{issuer}/token"), &form, body.as_bytes())?;
        assert_eq!(answer.status, 401, "another issuer took the secret");
        assert_eq!(provider.misdirected_secrets()?[&issuer].len(), 1);
        Ok(())
    }
}
