//! Validates JSON values against JSON Schemas that servers supply.
//!
//! A malicious schema can make validation run forever, exhaust memory or overflow the stack, which
//! would end Gatehouse. So validation runs in processes of its own: this program, started as
//! `--schema-worker`, with limits on time and memory. Each server has at most one validation
//! running, and whatever goes wrong in it affects that schema alone.

mod worker;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ServerId;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

pub(crate) use self::worker::serve;
use self::worker::{Task, Validators};

/// The hidden argument that makes a program a schema worker.
pub(crate) const ARGUMENT: &str = "--schema-worker";

/// Time limit of one validation. Honest schemas take milliseconds.
pub(crate) const TIME: Duration = Duration::from_secs(2);

/// Largest schema, in bytes: a generated one of a large API has a few hundred KiB.
const LARGEST_SCHEMA: usize = 1024 * 1024;

/// Largest value that is validated, in bytes. Larger results are passed to their clients
/// unvalidated, and the call record says so.
const LARGEST_VALUE: usize = 8 * 1024 * 1024;

/// Validations of one server that may be queued, including the running one. Each occupies a
/// blocking thread while it waits.
const MOST_WAITING: usize = 8;

/// Concurrent validations of all servers.
const MOST_RUNNING: usize = 4;

/// Idle workers that are kept for the next validation.
const MOST_IDLE: usize = 2;

/// Parameters of one validation.
#[derive(Clone, Debug)]
pub struct SchemaCheck {
    /// The server that supplied the schema.
    pub server: ServerId,
    /// The schema, as JSON text.
    pub schema: Box<str>,
    /// The value, as JSON text; `None` to check only that the schema is usable.
    pub value: Option<Box<str>>,
    /// Whether `format` is validated, as in forms.
    pub formats: bool,
}

/// Why a value is not known to be valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SchemaFault {
    /// The value is invalid.
    #[error("{why} (at {at})")]
    Misfit {
        why: String,
        /// The location, as a JSON Pointer.
        at: String,
    },
    /// The schema cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The validation was not made or was aborted.
    #[error("{0}")]
    Unchecked(String),
}

/// Runs validations.
#[derive(Debug, Default)]
pub struct SchemaChecker {
    /// The worker program. Without it validations run in this process, without limits.
    program: Option<PathBuf>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    running: usize,
    /// Validations of each server, including the running one.
    queued: HashMap<ServerId, Queued>,
}

#[derive(Debug, Default)]
struct Queued {
    count: usize,
    at_work: bool,
}

impl SchemaChecker {
    /// `program` is the worker program, whose `main` calls [`crate::run_helper_if_asked`]. Without
    /// one, validations run in this process without limits, as in the crates' tests.
    #[must_use]
    pub fn new(program: Option<PathBuf>) -> Self {
        Self { program, ..Self::default() }
    }

    /// Validates on a blocking thread.
    ///
    /// # Errors
    /// When the value is invalid, or that could not be determined.
    pub async fn check(self: &Arc<Self>, check: SchemaCheck) -> Result<(), SchemaFault> {
        let checker = Arc::clone(self);
        tokio::task::spawn_blocking(move || checker.check_now(&check))
            .await
            .unwrap_or_else(|_| Err(unchecked("the check broke off")))
    }

    /// Validates, blocking the current thread.
    ///
    /// # Errors
    /// As for [`Self::check`].
    pub fn check_now(&self, check: &SchemaCheck) -> Result<(), SchemaFault> {
        if check.schema.len() > LARGEST_SCHEMA {
            return Err(SchemaFault::Unusable(format!("it is larger than {} KiB", LARGEST_SCHEMA / 1024)));
        }
        if check.value.as_ref().is_some_and(|value| value.len() > LARGEST_VALUE) {
            return Err(unchecked(&format!(
                "the value is larger than {} MiB",
                LARGEST_VALUE / (1024 * 1024)
            )));
        }
        let Some(program) = &self.program else {
            let SchemaCheck { server: _, schema, value, formats } = check;
            return Validators::default().check(&Task { schema, value: value.as_deref(), formats: *formats });
        };
        let turn = self.turn(&check.server)?;
        let idle = self.state.lock().idle.pop();
        let worker = match idle {
            Some(worker) => Ok(worker),
            None => Worker::start(program),
        };
        let mut worker = worker.map_err(|error| unchecked(&format!("no process for it: {error}")))?;
        let outcome = worker.check(check).or_else(|error| {
            // An idle worker may have exited meanwhile; a fresh one has not.
            if worker.served == 0 {
                return Err(error);
            }
            worker = Worker::start(program)?;
            worker.check(check)
        });
        match outcome {
            Ok(verdict) => {
                let mut state = self.state.lock();
                if state.idle.len() < MOST_IDLE {
                    state.idle.push(worker);
                }
                drop(state);
                drop(turn);
                verdict
            }
            Err(error) => {
                tracing::warn!(server = %check.server, %error, "a check of a schema was ended");
                Err(unchecked(&format!("it took longer than {} s or too much memory", TIME.as_secs())))
            }
        }
    }

    /// Waits until a validation of this server may run.
    fn turn(&self, server: &ServerId) -> Result<Turn<'_>, SchemaFault> {
        let mut state = self.state.lock();
        let queued = state.queued.entry(server.clone()).or_default();
        if queued.count >= MOST_WAITING {
            return Err(unchecked("too many checks of this server wait already"));
        }
        queued.count += 1;
        while state.running >= MOST_RUNNING || state.queued.get(server).is_some_and(|queued| queued.at_work) {
            self.freed.wait(&mut state);
        }
        state.running += 1;
        if let Some(queued) = state.queued.get_mut(server) {
            queued.at_work = true;
        }
        Ok(Turn { checker: self, server: server.clone() })
    }
}

fn unchecked(why: &str) -> SchemaFault {
    SchemaFault::Unchecked(why.to_owned())
}

/// Permit to run one validation, returned on drop.
struct Turn<'a> {
    checker: &'a SchemaChecker,
    server: ServerId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.checker.state.lock();
        state.running -= 1;
        if let Some(queued) = state.queued.get_mut(&self.server) {
            queued.at_work = false;
            queued.count -= 1;
            if queued.count == 0 {
                state.queued.remove(&self.server);
            }
        }
        drop(state);
        self.checker.freed.notify_all();
    }
}

/// Header before schema and value in a message to a worker: a line of JSON with their lengths in
/// bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    schema: usize,
    value: Option<usize>,
    formats: bool,
}

/// A worker process.
struct Worker {
    child: Child,
    input: Box<dyn Write + Send>,
    output: Box<dyn BufRead + Send>,
    /// Number of validations that it has made.
    served: usize,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("child", &self.child.id()).finish_non_exhaustive()
    }
}

impl Worker {
    fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(ARGUMENT).stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::fd::OwnedFd;
            use std::os::unix::net::UnixStream;
            // A socket pair, as for servers: no other program can open a socket by its path and
            // answer in the worker's place.
            let (own, theirs) = UnixStream::pair()?;
            command.env_clear().stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
            // The worker's watchdog ends it in time; this is for a worker whose watchdog doesn't.
            own.set_read_timeout(Some(TIME * 2))?;
            own.set_write_timeout(Some(TIME * 2))?;
            let child = command.spawn()?;
            let output = Box::new(BufReader::new(own.try_clone()?));
            Ok(Self { child, input: Box::new(own), output, served: 0 })
        }
        #[cfg(not(unix))]
        {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let missing = || io::Error::other("a standard stream is missing");
            let input = Box::new(child.stdin.take().ok_or_else(missing)?);
            let output = Box::new(BufReader::new(child.stdout.take().ok_or_else(missing)?));
            Ok(Self { child, input, output, served: 0 })
        }
    }

    fn check(&mut self, check: &SchemaCheck) -> io::Result<Result<(), SchemaFault>> {
        let value = check.value.as_deref();
        let head = Head { schema: check.schema.len(), value: value.map(str::len), formats: check.formats };
        let mut message = serde_json::to_vec(&head)?;
        message.push(b'\n');
        message.extend_from_slice(check.schema.as_bytes());
        message.extend_from_slice(value.unwrap_or_default().as_bytes());
        self.input.write_all(&message)?;
        self.input.flush()?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.served += 1;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            tracing::debug!(%error, "a schema worker could not be ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, value: Option<&str>) -> Result<(), SchemaFault> {
        let server = ServerId::new("srv-1");
        let check =
            SchemaCheck { server, schema: schema.into(), value: value.map(Into::into), formats: false };
        SchemaChecker::default().check_now(&check)
    }

    #[test]
    fn values_are_checked() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        assert_eq!(check(schema, Some(r#"{"n":1}"#)), Ok(()));
        assert!(
            matches!(check(schema, Some(r#"{"n":"x"}"#)), Err(SchemaFault::Misfit { at, .. }) if at == "/n")
        );
        assert_eq!(check(schema, None), Ok(()));
        assert!(matches!(check(r#"{"type":1}"#, None), Err(SchemaFault::Unusable(_))));
        assert!(matches!(check("[", None), Err(SchemaFault::Unusable(_))));
    }

    #[test]
    fn nothing_is_fetched_for_a_reference() {
        let far = r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#;
        assert!(matches!(check(far, Some("{}")), Err(SchemaFault::Unusable(_))));
        let local = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object"}}}"##;
        assert_eq!(check(local, Some("{}")), Ok(()));
    }

    #[test]
    fn what_is_too_large_is_not_checked() {
        let large = format!(r#"{{"description":"{}"}}"#, "x".repeat(LARGEST_SCHEMA));
        assert!(matches!(check(&large, None), Err(SchemaFault::Unusable(_))));
        let large = format!("\"{}\"", "x".repeat(LARGEST_VALUE));
        assert!(matches!(check("{}", Some(&large)), Err(SchemaFault::Unchecked(_))));
    }

    #[test]
    fn each_server_waits_for_itself_alone() {
        let checker = SchemaChecker::default();
        let (slow, other) = (ServerId::new("slow"), ServerId::new("other"));
        let first = checker.turn(&slow).unwrap();
        std::thread::scope(|scope| {
            for _ in 1..MOST_WAITING {
                scope.spawn(|| drop(checker.turn(&slow).unwrap()));
            }
            while checker.state.lock().queued.get(&slow).is_none_or(|queued| queued.count < MOST_WAITING) {
                std::thread::yield_now();
            }
            assert!(checker.turn(&slow).is_err(), "too many wait");
            drop(checker.turn(&other).unwrap());
            drop(first);
        });
        assert!(checker.state.lock().queued.is_empty());
    }
}
