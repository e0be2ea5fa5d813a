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
pub(super) struct Broken(pub(super) &'static str);

/// The key that authenticates a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum KeyOf {
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
    pub(super) key_of: KeyOf,
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
pub(super) struct Begun {
    private: EphemeralPrivateKey,
    own: Vec<u8>,
    key_of: KeyOf,
}

/// Both directions of a channel, from the view of one end.
pub(super) struct Channel {
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
}

/// Starts the handshake as the client.
pub(super) fn begin(key_of: KeyOf) -> Result<(Begun, Hello), Broken> {
    let (private, own) = fresh_share()?;
    let hello = Hello { hello: VERSION, key_of: key_of.clone(), share: BASE64.encode(&own) };
    Ok((Begun { private, own, key_of }, hello))
}

impl Begun {
    /// Verifies the server's proof and returns the channel.
    pub(super) fn finish(self, key: &ControlKey, welcome: &Welcome) -> Result<Channel, Broken> {
        let theirs = share(&welcome.share)?;
        let shares = Shares { key_of: &self.key_of, client: &self.own, server: &theirs };
        let master = master(key, self.private, &theirs, &shares)?;
        let proof = BASE64.decode(&welcome.proof).map_err(|_| Broken("the proof is not base64"))?;
        if welcome.hello != VERSION || hmac::verify(&master, SERVER_PROOF, &proof).is_err() {
            return Err(Broken("the other end does not know the key"));
        }
        Ok(Channel { sealer: Sealer::new(&master, TO_SERVER)?, opener: Opener::new(&master, TO_CLIENT)? })
    }
}

/// Answers a client's [`Hello`] with the proof that this end knows the key. The client's knowledge is
/// proved by its first line, which decrypts only if it used the same key.
pub(super) fn answer(key: &ControlKey, hello: &Hello) -> Result<(Welcome, Channel), Broken> {
    if hello.hello != VERSION {
        return Err(Broken("another version"));
    }
    let theirs = share(&hello.share)?;
    let (private, own) = fresh_share()?;
    let shares = Shares { key_of: &hello.key_of, client: &theirs, server: &own };
    let master = master(key, private, &theirs, &shares)?;
    let proof = BASE64.encode(hmac::sign(&master, SERVER_PROOF));
    let channel =
        Channel { sealer: Sealer::new(&master, TO_CLIENT)?, opener: Opener::new(&master, TO_SERVER)? };
    Ok((Welcome { hello: VERSION, share: BASE64.encode(&own), proof }, channel))
}

fn fresh_share() -> Result<(EphemeralPrivateKey, Vec<u8>), Broken> {
    let no_random = |_| Broken("the system gave no random bits");
    let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(no_random)?;
    let public = private.compute_public_key().map_err(no_random)?;
    Ok((private, public.as_ref().to_vec()))
}

fn share(text: &str) -> Result<Vec<u8>, Broken> {
    BASE64.decode(text).ok().filter(|bytes| bytes.len() == 32).ok_or(Broken("the share is not one"))
}

/// The handshake values that both ends have seen.
struct Shares<'a> {
    key_of: &'a KeyOf,
    client: &'a [u8],
    server: &'a [u8],
}

impl Shares<'_> {
    /// The transcript hash. Equal on both ends only if nothing was modified in transit.
    fn digest(&self) -> digest::Digest {
        let (role, whose) = match self.key_of {
            KeyOf::Operator => (b"operator".as_slice(), b"".as_slice()),
            KeyOf::Client { token_sha256 } => (b"client".as_slice(), token_sha256.as_bytes()),
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
    shares: &Shares<'_>,
) -> Result<hmac::Key, Broken> {
    let peer = UnparsedPublicKey::new(&X25519, theirs);
    agree_ephemeral(private, peer, Broken("the share is not one"), |common| {
        let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key.bytes()));
        mac.update(DOMAIN);
        mac.update(common);
        mac.update(shares.digest().as_ref());
        Ok(hmac::Key::new(hmac::HMAC_SHA256, mac.sign().as_ref()))
    })
}

fn direction(master: &hmac::Key, label: &[u8]) -> Result<LessSafeKey, Broken> {
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(hmac::sign(master, label).as_ref());
    let key = UnboundKey::new(&CHACHA20_POLY1305, &*key).map_err(|_| Broken("the key is not one"))?;
    Ok(LessSafeKey::new(key))
}

/// Line counter; used as the AEAD nonce, so no value is used twice.
#[derive(Default)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> Result<Nonce, Broken> {
        let mut nonce = [0; NONCE_LEN];
        nonce[NONCE_LEN - 8..].copy_from_slice(&self.0.to_be_bytes());
        self.0 = self.0.checked_add(1).ok_or(Broken("too many lines"))?;
        Ok(Nonce::assume_unique_for_key(nonce))
    }
}

/// Encrypts outgoing lines.
pub(super) struct Sealer {
    key: LessSafeKey,
    numbers: Numbers,
}

impl Sealer {
    fn new(master: &hmac::Key, label: &[u8]) -> Result<Self, Broken> {
        Ok(Self { key: direction(master, label)?, numbers: Numbers::default() })
    }

    /// Encrypts a line and encodes it in base64, without the line end.
    pub(super) fn seal(&mut self, mut line: Vec<u8>) -> Result<Vec<u8>, Broken> {
        self.key
            .seal_in_place_append_tag(self.numbers.next()?, Aad::from(DOMAIN), &mut line)
            .map_err(|_| Broken("a line cannot be encrypted"))?;
        Ok(BASE64.encode(line).into_bytes())
    }
}

/// Decrypts incoming lines.
pub(super) struct Opener {
    key: LessSafeKey,
    numbers: Numbers,
}

impl Opener {
    fn new(master: &hmac::Key, label: &[u8]) -> Result<Self, Broken> {
        Ok(Self { key: direction(master, label)?, numbers: Numbers::default() })
    }

    /// Decrypts the next line. Fails unless it is exactly the next line that the peer sent.
    pub(super) fn open(&mut self, line: &str) -> Result<String, Broken> {
        let mut line = BASE64.decode(line).map_err(|_| Broken("a line is not base64"))?;
        let opened = self
            .key
            .open_in_place(self.numbers.next()?, Aad::from(DOMAIN), &mut line)
            .map_err(|_| Broken("a line is not the next one of the other end"))?
            .len();
        line.truncate(opened);
        String::from_utf8(line).map_err(|_| Broken("a line is not text"))
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;

    fn key(text: &str) -> ControlKey {
        ControlKey::of_operator_key(&Secret::new(text))
    }

    fn both() -> (Channel, Channel) {
        let (begun, hello) = begin(KeyOf::Operator).unwrap();
        let (welcome, server) = answer(&key("right"), &hello).unwrap();
        (begun.finish(&key("right"), &welcome).unwrap(), server)
    }

    fn sealed(sealer: &mut Sealer, line: &str) -> String {
        String::from_utf8(sealer.seal(line.as_bytes().to_vec()).unwrap()).unwrap()
    }

    #[test]
    fn lines_go_both_ways() {
        let (mut client, mut server) = both();
        for line in ["one", "two", ""] {
            let sent = sealed(&mut client.sealer, line);
            assert!(!sent.contains("one"));
            assert_eq!(server.opener.open(&sent).unwrap(), line);
            assert_eq!(client.opener.open(&sealed(&mut server.sealer, line)).unwrap(), line);
        }
    }

    #[test]
    fn a_server_that_does_not_know_the_key_proves_nothing() {
        let (begun, hello) = begin(KeyOf::Operator).unwrap();
        let (welcome, _) = answer(&key("wrong"), &hello).unwrap();
        assert!(begun.finish(&key("right"), &welcome).is_err());
        // Nor does one that only reflects what it received.
        let (begun, hello) = begin(KeyOf::Operator).unwrap();
        let echo = Welcome { hello: 1, share: hello.share.clone(), proof: hello.share };
        assert!(begun.finish(&key("right"), &echo).is_err());
    }

    #[test]
    fn a_client_that_does_not_know_the_key_opens_nothing_and_sends_nothing() {
        let (begun, hello) = begin(KeyOf::Operator).unwrap();
        let (welcome, mut server) = answer(&key("right"), &hello).unwrap();
        let theirs = share(&welcome.share).unwrap();
        let shares = Shares { key_of: &KeyOf::Operator, client: &begun.own, server: &theirs };
        let guessed = master(&key("wrong"), begun.private, &theirs, &shares).unwrap();
        let mut sealer = Sealer::new(&guessed, TO_SERVER).unwrap();
        assert!(server.opener.open(&sealed(&mut sealer, "x")).is_err());
        let mut opener = Opener::new(&guessed, TO_CLIENT).unwrap();
        assert!(opener.open(&sealed(&mut server.sealer, "x")).is_err());
    }

    #[test]
    fn whose_key_it_is_and_the_shares_are_part_of_the_proof() {
        let client = KeyOf::Client { token_sha256: "ab".into() };
        for (asked, told) in [(KeyOf::Operator, client.clone()), (client, KeyOf::Operator)] {
            let (begun, hello) = begin(asked).unwrap();
            let (welcome, _) = answer(&key("right"), &Hello { key_of: told, ..hello }).unwrap();
            assert!(begun.finish(&key("right"), &welcome).is_err());
        }
        // The proof of another connection is not valid for this one.
        let (_, other) = begin(KeyOf::Operator).unwrap();
        let (welcome, _) = answer(&key("right"), &other).unwrap();
        let (begun, _) = begin(KeyOf::Operator).unwrap();
        assert!(begun.finish(&key("right"), &welcome).is_err());
    }

    #[test]
    fn a_line_that_is_changed_repeated_left_out_or_sent_back_does_not_open() {
        let lines =
            |channel: &mut Channel| [sealed(&mut channel.sealer, "one"), sealed(&mut channel.sealer, "two")];
        let (mut client, mut server) = both();
        let [one, _] = lines(&mut client);
        assert!(server.opener.open(&one).is_ok());
        assert!(server.opener.open(&one).is_err(), "repeated");

        let (mut client, mut server) = both();
        let [_, two] = lines(&mut client);
        assert!(server.opener.open(&two).is_err(), "left out");

        let (mut client, _) = both();
        let [one, _] = lines(&mut client);
        assert!(client.opener.open(&one).is_err(), "sent back");

        let (mut client, mut server) = both();
        let [one, _] = lines(&mut client);
        let (first, rest) = one.split_at(1);
        let changed = format!("{}{rest}", if first == "A" { "B" } else { "A" });
        assert!(server.opener.open(&changed).is_err(), "changed");
        let (_, mut other) = both();
        assert!(other.opener.open(&one).is_err(), "of another connection");
    }
}
