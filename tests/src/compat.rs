//! The matrix of real clients: what AI clients from npm and PyPI can do through Gatehouse, over HTTP and over the bridge.
//! `cargo xtask compat` runs all of it, the tests run the SDKs. Beside the matrix, applications from npm are connected and
//! imported from as their users do it, and a small language model calls tools over REST.
//!
//! Must never leave out a cell that a client fails, or a step that an application fails.

#[cfg(target_os = "linux")]
mod application_trial;
#[cfg(target_os = "linux")]
mod applications;
mod cells;
mod clients;
mod small_model;

use anyhow::{Result, bail};

#[cfg(target_os = "linux")]
pub use application_trial::ApplicationRow;
#[cfg(target_os = "linux")]
pub use applications::{APPLICATIONS, Application, ApplicationStep};
use cells::Trial;
pub use clients::{CLIENTS, CompatClient};
pub use small_model::{QUESTIONS, SMALL_MODEL, SmallModelTrial};

/// How a client reaches Gatehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionKind {
    Http,
    /// By `gatehousectl bridge`, which the client starts.
    Bridge,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// It lists the tools.
    List,
    /// It calls one that is allowed.
    Call,
    /// It waits while a person is asked, who allows.
    Allowed,
    /// The same, and the person denies with a reason.
    Denied,
    /// Many calls side by side, each with its own result.
    Parallel,
    /// A result of 1 MiB.
    Large,
    /// It leaves, the person allows after that, and it calls again: the call runs once, and its result arrives.
    Late,
    /// It calls again, and reads that the person has not answered yet before it would leave: its time-out was learned.
    Told,
    /// Gatehouse ends and starts again in the middle of its session.
    Restart,
}

impl Cell {
    pub const ALL: [Self; 9] = [
        Self::List,
        Self::Call,
        Self::Allowed,
        Self::Denied,
        Self::Parallel,
        Self::Large,
        Self::Late,
        Self::Told,
        Self::Restart,
    ];
}

/// All cells of one client over one connection.
#[derive(Debug)]
pub struct MatrixRow {
    pub client: &'static str,
    pub kind: ConnectionKind,
    /// What became of each cell that was tried; only the first one if the client could not connect.
    pub outcomes: Vec<(Cell, Result<()>)>,
}

impl MatrixRow {
    /// Runs the cells one after the other, on a Gatehouse of its own.
    #[must_use]
    pub fn run(client: &CompatClient, kind: ConnectionKind) -> Self {
        let outcomes = match Trial::start(client, kind) {
            Ok(mut trial) => Cell::ALL
                .into_iter()
                .filter(|cell| !client.not_tried.iter().any(|(not_tried, _)| not_tried == cell))
                .map(|cell| (cell, trial.run(cell)))
                .collect(),
            Err(error) => vec![(Cell::List, Err(error.context("it could not connect")))],
        };
        Self { client: client.name, kind, outcomes }
    }

    /// The failures, as text.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.outcomes.iter().filter_map(move |(cell, outcome)| {
            let error = outcome.as_ref().err()?;
            Some(format!("{} {:?} {cell:?}: {error:#}", self.client, self.kind))
        })
    }
}

/// Runs a client over all of its connections. Fails if any cell fails.
pub fn verify(client: &CompatClient) -> Result<()> {
    let mut failures = Vec::new();
    for kind in client.connections {
        failures.extend(MatrixRow::run(client, *kind).failures());
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
}
