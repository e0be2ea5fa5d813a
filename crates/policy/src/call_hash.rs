//! The hash of one exact call (PERM-7).
//!
//! An approval is valid only for this hash. Every part is hashed with its length in front, so that two
//! different calls can't have the same input to the hash.

use gatehouse_model::ServerBinding;
use gatehouse_model::id::{CallHash, ClientId, Fingerprint, SessionId};
use sha2::{Digest, Sha256};

/// Everything that identifies an exact call.
#[derive(Clone, Copy, Debug)]
pub struct CallHashInput<'a> {
    pub client: &'a ClientId,
    /// The server, its generation and its identity.
    pub server: &'a ServerBinding,
    /// `Subject::rule_name` of what is used.
    pub subject: &'a str,
    /// Fingerprint of the definition; `None` if there is none.
    pub fingerprint: Option<&'a Fingerprint>,
    /// The argument bytes as they will be sent.
    pub arguments: &'a str,
}

#[must_use]
pub fn call_hash(call: &CallHashInput<'_>) -> CallHash {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse call 2\n");
    add_part(&mut hash, call.client.as_str());
    add_part(&mut hash, call.server.server.as_str());
    hash.update(call.server.generation.0.to_be_bytes());
    add_part(&mut hash, call.server.identity.as_str());
    add_part(&mut hash, call.subject);
    match call.fingerprint {
        None => hash.update([0]),
        Some(fingerprint) => {
            hash.update([1]);
            add_part(&mut hash, fingerprint.as_str());
        }
    }
    add_part(&mut hash, call.arguments);
    CallHash::new(hex::encode(hash.finalize()))
}

/// Everything that an answer to an approval request is bound to beyond the call hash: a call by another
/// program, by another process of an unknown program, or in another session needs its own approval request.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalHashInput<'a> {
    pub call: &'a CallHash,
    /// The program of the peer process, if it is known.
    pub program: Option<&'a str>,
    /// The process or connection, if program and session don't identify the source of the call.
    pub peer: Option<&'a str>,
    /// How the client identifies itself.
    pub client_info: Option<&'a str>,
    /// Set for clients of the stateful protocol revisions.
    pub session: Option<&'a SessionId>,
    /// The `inputResponses` and `requestState` members of a follow-up round (input required), as they will be
    /// sent.
    pub round: &'a str,
}

/// The hash that an answer to the approval request must repeat.
#[must_use]
pub fn approval_hash(shown: &ApprovalHashInput<'_>) -> CallHash {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse question 2\n");
    add_part(&mut hash, shown.call.as_str());
    for text in [shown.program, shown.peer, shown.client_info, shown.session.map(SessionId::as_str)] {
        match text {
            None => hash.update([0]),
            Some(text) => {
                hash.update([1]);
                add_part(&mut hash, text);
            }
        }
    }
    add_part(&mut hash, shown.round);
    CallHash::new(hex::encode(hash.finalize()))
}

fn add_part(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Generation;

    use super::*;

    /// A call as text.
    #[derive(Clone, Copy)]
    struct CallParts {
        client: &'static str,
        server: &'static str,
        generation: u32,
        identity: &'static str,
        subject: &'static str,
        fingerprint: Option<&'static str>,
        arguments: &'static str,
    }

    const CALL: CallParts = CallParts {
        client: "c",
        server: "s",
        generation: 1,
        identity: "i",
        subject: "t",
        fingerprint: Some("f"),
        arguments: "{}",
    };

    fn hash(call: CallParts) -> CallHash {
        let fingerprint = call.fingerprint.map(Fingerprint::from);
        call_hash(&CallHashInput {
            client: &call.client.into(),
            server: &ServerBinding {
                server: call.server.into(),
                generation: Generation(call.generation),
                identity: call.identity.into(),
            },
            subject: call.subject,
            fingerprint: fingerprint.as_ref(),
            arguments: call.arguments,
        })
    }

    #[test]
    fn hashes_equal_calls_equally() {
        let once = hash(CALL);
        assert_eq!(once, hash(CALL));
        assert_eq!(once.as_str().len(), 64);
        assert!(once.as_str().bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
    }

    #[test]
    fn approval_hash_changes_with_every_part() {
        let call = CallHash::from("h");
        let shown = |[program, peer, client_info, session]: [Option<&str>; 4], round| {
            let session = session.map(SessionId::from);
            approval_hash(&ApprovalHashInput {
                call: &call,
                program,
                peer,
                client_info,
                session: session.as_ref(),
                round,
            })
        };
        let all = [
            shown([None, None, None, None], ""),
            shown([Some("p"), None, None, None], ""),
            shown([None, Some("p"), None, None], ""),
            shown([None, None, Some("p"), None], ""),
            shown([None, None, None, Some("p")], ""),
            shown([Some(""), None, None, None], ""),
            shown([Some("p"), Some("p"), None, None], ""),
            shown([Some("p"), Some("q"), None, None], ""),
            shown([None, None, None, None], "p"),
            shown([Some("q"), None, None, None], ""),
            call.clone(),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(shown([Some("p"), None, None, None], ""), all[1]);
    }

    #[test]
    fn call_hash_changes_with_every_part() {
        let all = [
            CALL,
            CallParts { identity: "j", ..CALL },
            CallParts { client: "d", ..CALL },
            CallParts { server: "r", ..CALL },
            CallParts { generation: 2, ..CALL },
            CallParts { subject: "u", ..CALL },
            CallParts { fingerprint: Some("g"), ..CALL },
            CallParts { fingerprint: None, ..CALL },
            CallParts { fingerprint: Some(""), ..CALL },
            CallParts { arguments: "{ }", ..CALL },
            CallParts { client: "cs", server: "", ..CALL },
            CallParts { client: "", server: "cs", ..CALL },
        ]
        .map(hash);
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
