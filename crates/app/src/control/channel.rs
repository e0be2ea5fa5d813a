//! The authenticated channel of the control socket: both ends prove that they know the same key without
//! revealing it, and from then on every line is encrypted and numbered. Nothing is sent over a channel
//! before the peer's proof was verified, and a line that fails to decrypt closes it.
//!
//! ```text
//! client → server   {"hello":1,"as":"operator","share":C}
//! server → client   {"hello":1,"share":S,"proof":HMAC(master, "server proof")}
//! both directions   base64(ChaCha20-Poly1305(own key, number, line))
//!
//! master = HMAC(key, domain ‖ X25519(C, S) ‖ SHA-256(domain ‖ as ‖ C ‖ S))
//! ```
//!
//! The shares are fresh for each connection and therefore serve as nonces; a key that leaks later does
//! not decrypt recorded traffic (forward secrecy). The server proves itself first, because the process
//! that listens at the path may not be Gatehouse; the client's proof is its first encrypted line. Each
//! direction has its own key, so that lines cannot be reflected to their sender. The line number is the
//! AEAD nonce, so a line that was dropped, replayed, reordered or modified fails to decrypt.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::{digest, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use gatehouse_store::ControlKey;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Domain separation: keys and proofs of this protocol are valid nowhere else.
const DOMAIN: &[u8] = b"gatehouse control channel 1";
const SERVER_PROOF: &[u8] = b"server proof";
const TO_SERVER: &[u8] = b"client to server";
const TO_CLIENT: &[u8] = b"server to client";
/// Protocol version.
const VERSION: u32 = 1;

/// Why the channel could not be made or was closed. The text is for the local log only.
#[derive(Debug)]
pub(super) struct ChannelError(pub(super) &'static str);

/// The key that authenticates a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum KeyOwner {
    Operator,
    /// The key of the client whose token has this SHA-256.
    Client {
        /// Lower-case hexadecimal.
        token_sha256: String,
    },
}

/// The first line of a client that has a key.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    hello: u32,
    #[serde(rename = "as")]
    pub(super) owner: KeyOwner,
    share: String,
}

/// The answer to a [`Hello`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Welcome {
    hello: u32,
    share: String,
    proof: String,
}

/// Client side of a handshake that waits for the server's answer.
pub(super) struct PendingHandshake {
    private: EphemeralPrivateKey,
    own: Vec<u8>,
    owner: KeyOwner,
}

/// Both directions of a channel, from the view of one end.
pub(super) struct Channel {
    pub(super) sealer: LineSealer,
    pub(super) opener: LineOpener,
}

/// Starts the handshake as the client.
pub(super) fn start_handshake(owner: KeyOwner) -> Result<(PendingHandshake, Hello), ChannelError> {
    let (private, own) = generate_share()?;
    let hello = Hello { hello: VERSION, owner: owner.clone(), share: BASE64.encode(&own) };
    Ok((PendingHandshake { private, own, owner }, hello))
}

impl PendingHandshake {
    /// Verifies the server's proof and returns the channel.
    pub(super) fn finish(self, key: &ControlKey, welcome: &Welcome) -> Result<Channel, ChannelError> {
        let theirs = share(&welcome.share)?;
        let shares = KeyShares { owner: &self.owner, client: &self.own, server: &theirs };
        let master = master(key, self.private, &theirs, &shares)?;
        let proof = BASE64.decode(&welcome.proof).map_err(|_| ChannelError("the proof is not base64"))?;
        if welcome.hello != VERSION || hmac::verify(&master, SERVER_PROOF, &proof).is_err() {
            return Err(ChannelError("the other end does not know the key"));
        }
        Ok(Channel {
            sealer: LineSealer::new(&master, TO_SERVER)?,
            opener: LineOpener::new(&master, TO_CLIENT)?,
        })
    }
}

/// Answers a client's [`Hello`] with the proof that this end knows the key. The client's knowledge is
/// proved by its first line, which decrypts only if it used the same key.
pub(super) fn accept_handshake(key: &ControlKey, hello: &Hello) -> Result<(Welcome, Channel), ChannelError> {
    if hello.hello != VERSION {
        return Err(ChannelError("another version"));
    }
    let theirs = share(&hello.share)?;
    let (private, own) = generate_share()?;
    let shares = KeyShares { owner: &hello.owner, client: &theirs, server: &own };
    let master = master(key, private, &theirs, &shares)?;
    let proof = BASE64.encode(hmac::sign(&master, SERVER_PROOF));
    let channel = Channel {
        sealer: LineSealer::new(&master, TO_CLIENT)?,
        opener: LineOpener::new(&master, TO_SERVER)?,
    };
    Ok((Welcome { hello: VERSION, share: BASE64.encode(&own), proof }, channel))
}

fn generate_share() -> Result<(EphemeralPrivateKey, Vec<u8>), ChannelError> {
    let no_random = |_| ChannelError("the system gave no random bits");
    let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(no_random)?;
    let public = private.compute_public_key().map_err(no_random)?;
    Ok((private, public.as_ref().to_vec()))
}

fn share(text: &str) -> Result<Vec<u8>, ChannelError> {
    BASE64.decode(text).ok().filter(|bytes| bytes.len() == 32).ok_or(ChannelError("the share is not one"))
}

/// The handshake values that both ends have seen.
struct KeyShares<'a> {
    owner: &'a KeyOwner,
    client: &'a [u8],
    server: &'a [u8],
}

impl KeyShares<'_> {
    /// The transcript hash. Equal on both ends only if nothing was modified in transit.
    fn digest(&self) -> digest::Digest {
        let (role, whose) = match self.owner {
            KeyOwner::Operator => (b"operator".as_slice(), b"".as_slice()),
            KeyOwner::Client { token_sha256 } => (b"client".as_slice(), token_sha256.as_bytes()),
        };
        let mut context = digest::Context::new(&digest::SHA256);
        for part in [DOMAIN, role, whose, self.client, self.server] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.finish()
    }
}

fn master(
    key: &ControlKey,
    private: EphemeralPrivateKey,
    theirs: &[u8],
    shares: &KeyShares<'_>,
) -> Result<hmac::Key, ChannelError> {
    let peer = UnparsedPublicKey::new(&X25519, theirs);
    agree_ephemeral(private, peer, ChannelError("the share is not one"), |common| {
        let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key.bytes()));
        mac.update(DOMAIN);
        mac.update(common);
        mac.update(shares.digest().as_ref());
        Ok(hmac::Key::new(hmac::HMAC_SHA256, mac.sign().as_ref()))
    })
}

fn derive_direction_key(master: &hmac::Key, label: &[u8]) -> Result<LessSafeKey, ChannelError> {
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(hmac::sign(master, label).as_ref());
    let key = UnboundKey::new(&CHACHA20_POLY1305, &*key).map_err(|_| ChannelError("the key is not one"))?;
    Ok(LessSafeKey::new(key))
}

/// Line counter; used as the AEAD nonce, so no value is used twice.
#[derive(Default)]
struct NonceCounter(u64);

impl NonceCounter {
    fn next(&mut self) -> Result<Nonce, ChannelError> {
        let mut nonce = [0; NONCE_LEN];
        nonce[NONCE_LEN - 8..].copy_from_slice(&self.0.to_be_bytes());
        self.0 = self.0.checked_add(1).ok_or(ChannelError("too many lines"))?;
        Ok(Nonce::assume_unique_for_key(nonce))
    }
}

/// Encrypts outgoing lines.
pub(super) struct LineSealer {
    key: LessSafeKey,
    nonces: NonceCounter,
}

impl LineSealer {
    fn new(master: &hmac::Key, label: &[u8]) -> Result<Self, ChannelError> {
        Ok(Self { key: derive_direction_key(master, label)?, nonces: NonceCounter::default() })
    }

    /// Encrypts a line and encodes it in base64, without the line end.
    pub(super) fn seal(&mut self, mut line: Vec<u8>) -> Result<Vec<u8>, ChannelError> {
        self.key
            .seal_in_place_append_tag(self.nonces.next()?, Aad::from(DOMAIN), &mut line)
            .map_err(|_| ChannelError("a line cannot be encrypted"))?;
        Ok(BASE64.encode(line).into_bytes())
    }
}

/// Decrypts incoming lines.
pub(super) struct LineOpener {
    key: LessSafeKey,
    nonces: NonceCounter,
}

impl LineOpener {
    fn new(master: &hmac::Key, label: &[u8]) -> Result<Self, ChannelError> {
        Ok(Self { key: derive_direction_key(master, label)?, nonces: NonceCounter::default() })
    }

    /// Decrypts the next line. Fails unless it is exactly the next line that the peer sent.
    pub(super) fn open(&mut self, line: &str) -> Result<String, ChannelError> {
        let mut line = BASE64.decode(line).map_err(|_| ChannelError("a line is not base64"))?;
        let opened = self
            .key
            .open_in_place(self.nonces.next()?, Aad::from(DOMAIN), &mut line)
            .map_err(|_| ChannelError("a line is not the next one of the other end"))?
            .len();
        line.truncate(opened);
        String::from_utf8(line).map_err(|_| ChannelError("a line is not text"))
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;

    fn key(text: &str) -> ControlKey {
        ControlKey::of_operator_key(&Secret::new(text))
    }

    fn channel_pair() -> (Channel, Channel) {
        let (pending, hello) = start_handshake(KeyOwner::Operator).unwrap();
        let (welcome, server) = accept_handshake(&key("right"), &hello).unwrap();
        (pending.finish(&key("right"), &welcome).unwrap(), server)
    }

    fn sealed(sealer: &mut LineSealer, line: &str) -> String {
        String::from_utf8(sealer.seal(line.as_bytes().to_vec()).unwrap()).unwrap()
    }

    #[test]
    fn lines_round_trip_in_both_directions() {
        let (mut client, mut server) = channel_pair();
        // Too long to occur in a sealed line by chance.
        let readable = "a line that nobody may read";
        for line in [readable, "two", ""] {
            let sent = sealed(&mut client.sealer, line);
            assert!(!sent.contains(readable));
            assert_eq!(server.opener.open(&sent).unwrap(), line);
            assert_eq!(client.opener.open(&sealed(&mut server.sealer, line)).unwrap(), line);
        }
    }

    #[test]
    fn rejects_server_without_the_key() {
        let (pending, hello) = start_handshake(KeyOwner::Operator).unwrap();
        let (welcome, _) = accept_handshake(&key("wrong"), &hello).unwrap();
        assert!(pending.finish(&key("right"), &welcome).is_err());
        // Nor does one that only reflects what it received.
        let (pending, hello) = start_handshake(KeyOwner::Operator).unwrap();
        let echo = Welcome { hello: 1, share: hello.share.clone(), proof: hello.share };
        assert!(pending.finish(&key("right"), &echo).is_err());
    }

    #[test]
    fn rejects_client_without_the_key() {
        let (pending, hello) = start_handshake(KeyOwner::Operator).unwrap();
        let (welcome, mut server) = accept_handshake(&key("right"), &hello).unwrap();
        let theirs = share(&welcome.share).unwrap();
        let shares = KeyShares { owner: &KeyOwner::Operator, client: &pending.own, server: &theirs };
        let guessed = master(&key("wrong"), pending.private, &theirs, &shares).unwrap();
        let mut sealer = LineSealer::new(&guessed, TO_SERVER).unwrap();
        assert!(server.opener.open(&sealed(&mut sealer, "x")).is_err());
        let mut opener = LineOpener::new(&guessed, TO_CLIENT).unwrap();
        assert!(opener.open(&sealed(&mut server.sealer, "x")).is_err());
    }

    #[test]
    fn proof_covers_key_owner_and_shares() {
        let client = KeyOwner::Client { token_sha256: "ab".into() };
        for (asked, told) in [(KeyOwner::Operator, client.clone()), (client, KeyOwner::Operator)] {
            let (pending, hello) = start_handshake(asked).unwrap();
            let (welcome, _) = accept_handshake(&key("right"), &Hello { owner: told, ..hello }).unwrap();
            assert!(pending.finish(&key("right"), &welcome).is_err());
        }
        // The proof of another connection is not valid for this one.
        let (_, other) = start_handshake(KeyOwner::Operator).unwrap();
        let (welcome, _) = accept_handshake(&key("right"), &other).unwrap();
        let (pending, _) = start_handshake(KeyOwner::Operator).unwrap();
        assert!(pending.finish(&key("right"), &welcome).is_err());
    }

    #[test]
    fn rejects_changed_replayed_dropped_and_reflected_lines() {
        let lines =
            |channel: &mut Channel| [sealed(&mut channel.sealer, "one"), sealed(&mut channel.sealer, "two")];
        let (mut client, mut server) = channel_pair();
        let [one, _] = lines(&mut client);
        assert!(server.opener.open(&one).is_ok());
        assert!(server.opener.open(&one).is_err(), "repeated");

        let (mut client, mut server) = channel_pair();
        let [_, two] = lines(&mut client);
        assert!(server.opener.open(&two).is_err(), "left out");

        let (mut client, _) = channel_pair();
        let [one, _] = lines(&mut client);
        assert!(client.opener.open(&one).is_err(), "sent back");

        let (mut client, mut server) = channel_pair();
        let [one, _] = lines(&mut client);
        let (first, rest) = one.split_at(1);
        let changed = format!("{}{rest}", if first == "A" { "B" } else { "A" });
        assert!(server.opener.open(&changed).is_err(), "changed");
        let (_, mut other) = channel_pair();
        assert!(other.opener.open(&one).is_err(), "of another connection");
    }
}
