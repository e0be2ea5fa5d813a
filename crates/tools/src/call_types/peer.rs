//! The peer process of a connection, as the operating system reports it, and which calls of one client
//! therefore come from the same source (PERM-9, PERM-11). It is compared and shown, but not verified.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::SessionId;
use gatehouse_model::approval::{PeerProcess, Program};

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Unique id.
    pub id: PeerId,
    /// Its program and the parent processes; `None` if unknown.
    pub seen_from: Option<Arc<PeerProcess>>,
}

/// Id of the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeerId {
    /// A process of this computer.
    Process {
        /// The process id, which the system may reuse after the process ends.
        pid: u32,
        /// Start time in a system-specific unit; together with `pid` it is unique.
        started: u64,
    },
    /// A connection of an unknown process, by a number that is unique in this run of Gatehouse.
    Connection(u64),
}

/// The source of a call, as far as known. Answers and results of a call are shared only with identical calls
/// of the same source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallSource {
    /// The path of a program for which it is known what it runs; all its processes are one source.
    Program(Box<str>),
    /// One process and its session, because it is unknown what its program runs.
    Process {
        program: Box<str>,
        id: PeerId,
        /// Set for clients of the stateful protocol revisions.
        session: Option<SessionId>,
    },
    /// A session of an unknown process.
    Session(SessionId),
}

impl Peer {
    /// The other end of one more connection, of which nothing is known.
    #[must_use]
    pub fn unseen() -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        Self { id: PeerId::Connection(CONNECTIONS.fetch_add(1, Ordering::Relaxed)), seen_from: None }
    }

    pub fn program(&self) -> Option<&Program> {
        self.seen_from.as_ref().map(|seen| &seen.program)
    }

    /// The source of its calls in a session; `None` if neither process nor session is known.
    pub fn source(&self, session: Option<&SessionId>) -> Option<CallSource> {
        match self.program() {
            Some(program) if program.is_known => Some(CallSource::Program(program.path.as_str().into())),
            Some(program) => Some(CallSource::Process {
                program: program.path.as_str().into(),
                id: self.id,
                session: session.cloned(),
            }),
            None => session.cloned().map(CallSource::Session),
        }
    }

    /// What the hash of an approval request contains of the peer besides program and session: its process or
    /// connection, if those two don't identify the source. So no call of an unknown program joins the request
    /// of another.
    pub(crate) fn hashed_id(&self, source: Option<&CallSource>) -> Option<String> {
        match source {
            Some(CallSource::Program(_) | CallSource::Session(_)) => None,
            Some(CallSource::Process { .. }) | None => Some(self.id.to_string()),
        }
    }
}

impl CallSource {
    /// The session of its calls, if another session is another source.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Program(_) => None,
            Self::Process { session, .. } => session.as_ref(),
            Self::Session(session) => Some(session),
        }
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, started } => write!(f, "process {pid} {started}"),
            Self::Connection(number) => write!(f, "connection {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(path: &str, is_known: bool, pid: u32) -> Peer {
        let program = Program { name: path.to_owned(), path: path.to_owned(), is_known };
        Peer {
            id: PeerId::Process { pid, started: 7 },
            seen_from: Some(Arc::new(PeerProcess { program, parents: Vec::new() })),
        }
    }

    #[test]
    fn what_tells_the_calls_of_two_peers_apart() {
        let session = |id: &str| Some(SessionId::from(id));
        let later = Peer { id: PeerId::Process { pid: 1, started: 8 }, ..peer("/node", false, 1) };
        let unseen = Peer::unseen();
        for (what, one, other, is_same_source, is_same_id) in [
            ("a known program", (peer("/a", true, 1), None), (peer("/a", true, 2), session("s")), true, true),
            ("two programs", (peer("/a", true, 1), None), (peer("/b", true, 1), None), false, true),
            ("one process", (peer("/node", false, 1), None), (peer("/node", false, 1), None), true, true),
            ("two processes", (peer("/node", false, 1), None), (peer("/node", false, 2), None), false, false),
            ("an id that was given again", (peer("/node", false, 1), None), (later, None), false, false),
            (
                "two processes, one session",
                (peer("/node", false, 1), session("s")),
                (peer("/node", false, 2), session("s")),
                false,
                false,
            ),
            (
                "one process, two sessions",
                (peer("/node", false, 1), session("s")),
                (peer("/node", false, 1), session("t")),
                false,
                true,
            ),
            (
                "unseen, one session",
                (Peer::unseen(), session("s")),
                (Peer::unseen(), session("s")),
                true,
                true,
            ),
            ("unseen, two connections", (Peer::unseen(), None), (Peer::unseen(), None), true, false),
            ("unseen, one connection", (unseen.clone(), None), (unseen, None), true, true),
        ] {
            let source = |(peer, session): &(Peer, Option<SessionId>)| peer.source(session.as_ref());
            let id = |it: &(Peer, Option<SessionId>)| it.0.hashed_id(source(it).as_ref());
            assert_eq!(source(&one) == source(&other), is_same_source, "{what}");
            assert_eq!(id(&one) == id(&other), is_same_id, "{what}");
        }
        assert_eq!(Peer::unseen().source(None), None);
    }
}
