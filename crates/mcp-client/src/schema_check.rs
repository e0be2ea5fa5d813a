//! Validates JSON values against JSON Schemas that servers supply.
//!
//! A malicious schema can make validation run forever, exhaust memory or overflow the stack, which
//! would end Gatehouse. So validation runs in processes of its own: this program, started as
//! `--schema-worker`, with limits on time and memory. Each server has at most one validation
//! running, and whatever goes wrong in it affects that schema alone.

mod worker;

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ServerId;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

pub use self::worker::serve;
use self::worker::{CheckTask, ValidatorCache};
use crate::worker_process::WorkerProcess;

/// The hidden argument that makes a program a schema worker.
pub const ARGUMENT: &str = "--schema-worker";

/// Time limit of one validation. Honest schemas take milliseconds.
const TIME: Duration = Duration::from_secs(2);

/// Largest schema, in bytes: a generated one of a large API has a few hundred KiB.
const MAX_SCHEMA_BYTES: usize = 1024 * 1024;

/// Largest value that is validated, in bytes. Larger results are passed to their clients
/// unvalidated, and the call record says so.
const MAX_VALUE_BYTES: usize = 8 * 1024 * 1024;

/// Validations of one server that may be queued, including the running one. Each occupies a
/// blocking thread while it waits.
const MAX_WAITING: usize = 8;

/// Concurrent validations of all servers.
const MAX_RUNNING: usize = 4;

/// Idle workers that are kept for the next validation.
const MAX_IDLE: usize = 2;

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
pub enum SchemaError {
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
    state: Mutex<CheckerState>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct CheckerState {
    idle: Vec<SchemaWorker>,
    running: usize,
    /// Validations of each server, including the running one.
    queued: HashMap<ServerId, ServerQueue>,
}

#[derive(Debug, Default)]
struct ServerQueue {
    count: usize,
    is_running: bool,
}

impl SchemaChecker {
    /// `program` is the worker program, which calls [`serve`] when it is started with [`ARGUMENT`]. Without
    /// one, validations run in this process without limits, as in the crates' tests.
    #[must_use]
    pub fn new(program: Option<PathBuf>) -> Self {
        Self { program, ..Self::default() }
    }

    /// Validates on a blocking thread.
    ///
    /// # Errors
    /// When the value is invalid, or that could not be determined.
    pub async fn check(self: &Arc<Self>, check: SchemaCheck) -> Result<(), SchemaError> {
        let checker = Arc::clone(self);
        tokio::task::spawn_blocking(move || checker.check_now(&check))
            .await
            .unwrap_or_else(|_| Err(unchecked("the check broke off")))
    }

    /// Validates, blocking the current thread.
    pub fn check_now(&self, check: &SchemaCheck) -> Result<(), SchemaError> {
        if check.schema.len() > MAX_SCHEMA_BYTES {
            return Err(SchemaError::Unusable(format!("it is larger than {} KiB", MAX_SCHEMA_BYTES / 1024)));
        }
        if check.value.as_ref().is_some_and(|value| value.len() > MAX_VALUE_BYTES) {
            return Err(unchecked(&format!(
                "the value is larger than {} MiB",
                MAX_VALUE_BYTES / (1024 * 1024)
            )));
        }
        let Some(program) = &self.program else {
            let SchemaCheck { server: _, schema, value, formats } = check;
            return ValidatorCache::default().check(&CheckTask {
                schema,
                value: value.as_deref(),
                formats: *formats,
            });
        };
        let turn = self.acquire(&check.server)?;
        let idle = self.state.lock().idle.pop();
        let worker = match idle {
            Some(worker) => Ok(worker),
            None => SchemaWorker::start(program),
        };
        let mut worker = worker.map_err(|error| unchecked(&format!("no process for it: {error}")))?;
        let outcome = worker.check(check).or_else(|error| {
            // An idle worker may have exited meanwhile; a fresh one has not.
            if worker.checks_done == 0 {
                return Err(error);
            }
            worker = SchemaWorker::start(program)?;
            worker.check(check)
        });
        match outcome {
            Ok(verdict) => {
                let mut state = self.state.lock();
                if state.idle.len() < MAX_IDLE {
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
    fn acquire(&self, server: &ServerId) -> Result<CheckPermit<'_>, SchemaError> {
        let mut state = self.state.lock();
        let queued = state.queued.entry(server.clone()).or_default();
        if queued.count >= MAX_WAITING {
            return Err(unchecked("too many checks of this server wait already"));
        }
        queued.count += 1;
        while state.running >= MAX_RUNNING || state.queued.get(server).is_some_and(|queued| queued.is_running)
        {
            self.freed.wait(&mut state);
        }
        state.running += 1;
        if let Some(queued) = state.queued.get_mut(server) {
            queued.is_running = true;
        }
        Ok(CheckPermit { checker: self, server: server.clone() })
    }
}

fn unchecked(why: &str) -> SchemaError {
    SchemaError::Unchecked(why.to_owned())
}

/// Permit to run one validation, returned on drop.
struct CheckPermit<'a> {
    checker: &'a SchemaChecker,
    server: ServerId,
}

impl Drop for CheckPermit<'_> {
    fn drop(&mut self) {
        let mut state = self.checker.state.lock();
        state.running -= 1;
        if let Some(queued) = state.queued.get_mut(&self.server) {
            queued.is_running = false;
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
struct CheckHeader {
    schema: usize,
    value: Option<usize>,
    formats: bool,
}

#[derive(Debug)]
struct SchemaWorker {
    process: WorkerProcess,
    /// Number of validations that it has made.
    checks_done: usize,
}

impl SchemaWorker {
    fn start(program: &Path) -> io::Result<Self> {
        Ok(Self { process: WorkerProcess::start(program, ARGUMENT, TIME)?, checks_done: 0 })
    }

    fn check(&mut self, check: &SchemaCheck) -> io::Result<Result<(), SchemaError>> {
        let value = check.value.as_deref();
        let head =
            CheckHeader { schema: check.schema.len(), value: value.map(str::len), formats: check.formats };
        let mut message = serde_json::to_vec(&head)?;
        message.push(b'\n');
        message.extend_from_slice(check.schema.as_bytes());
        message.extend_from_slice(value.unwrap_or_default().as_bytes());
        self.process.input.write_all(&message)?;
        self.process.input.flush()?;
        let mut line = String::new();
        if self.process.output.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.checks_done += 1;
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, value: Option<&str>) -> Result<(), SchemaError> {
        let server = ServerId::new("srv-1");
        let check =
            SchemaCheck { server, schema: schema.into(), value: value.map(Into::into), formats: false };
        SchemaChecker::default().check_now(&check)
    }

    #[test]
    fn validates_values() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        assert_eq!(check(schema, Some(r#"{"n":1}"#)), Ok(()));
        assert!(
            matches!(check(schema, Some(r#"{"n":"x"}"#)), Err(SchemaError::Misfit { at, .. }) if at == "/n")
        );
        assert_eq!(check(schema, None), Ok(()));
        assert!(matches!(check(r#"{"type":1}"#, None), Err(SchemaError::Unusable(_))));
        assert!(matches!(check("[", None), Err(SchemaError::Unusable(_))));
    }

    #[test]
    fn does_not_fetch_remote_references() {
        let far = r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#;
        assert!(matches!(check(far, Some("{}")), Err(SchemaError::Unusable(_))));
        let local = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object"}}}"##;
        assert_eq!(check(local, Some("{}")), Ok(()));
    }

    #[test]
    fn rejects_too_large_schema_and_value() {
        let large = format!(r#"{{"description":"{}"}}"#, "x".repeat(MAX_SCHEMA_BYTES));
        assert!(matches!(check(&large, None), Err(SchemaError::Unusable(_))));
        let large = format!("\"{}\"", "x".repeat(MAX_VALUE_BYTES));
        assert!(matches!(check("{}", Some(&large)), Err(SchemaError::Unchecked(_))));
    }

    #[test]
    fn limits_waiting_checks_per_server() {
        let checker = SchemaChecker::default();
        let (slow, other) = (ServerId::new("slow"), ServerId::new("other"));
        let first = checker.acquire(&slow).unwrap();
        std::thread::scope(|scope| {
            for _ in 1..MAX_WAITING {
                scope.spawn(|| drop(checker.acquire(&slow).unwrap()));
            }
            while checker.state.lock().queued.get(&slow).is_none_or(|queued| queued.count < MAX_WAITING) {
                std::thread::yield_now();
            }
            assert!(checker.acquire(&slow).is_err(), "too many wait");
            drop(checker.acquire(&other).unwrap());
            drop(first);
        });
        assert!(checker.state.lock().queued.is_empty());
    }
}
