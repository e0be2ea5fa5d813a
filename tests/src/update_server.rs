//! A server of releases as the updater asks for them, with a certificate of its own. Releases are signed with `minisign`, as
//! the Tauri CLI does.

use std::io::Cursor;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use minisign::KeyPair;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

/// The name that the certificate is for.
const HOST: &str = "localhost";

pub struct UpdateServer {
    port: u16,
    certificate: PathBuf,
    keys: KeyPair,
    offered: Offered,
    /// Ends the server when it is dropped.
    _runtime: Runtime,
}

type Offered = Arc<Mutex<Offer>>;

/// The newest release.
#[derive(Clone, Default)]
struct Offer {
    manifest: Value,
    package: Bytes,
    is_held_back: bool,
}

impl UpdateServer {
    /// Starts it; its certificate is written to the folder.
    pub fn start(folder: &Path) -> Result<Self> {
        let certified = rcgen::generate_simple_self_signed([HOST.to_owned()])?;
        let certificate = folder.join("update-server.pem");
        std::fs::write(&certificate, certified.cert.pem())?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)?;
        let runtime = Runtime::new()?;
        let tcp = runtime.block_on(TcpListener::bind((HOST, 0)))?;
        let port = tcp.local_addr()?.port();
        let offered = Offered::default();
        let routes = Router::new()
            .route(
                "/latest.json",
                get(|State(offered): State<Offered>| async move { offered.lock().manifest.to_string() }),
            )
            .route("/package", get(|State(offered): State<Offered>| async move { package(&offered.lock()) }))
            .with_state(Arc::clone(&offered));
        let listener = TlsListener { tcp, tls: TlsAcceptor::from(Arc::new(tls)) };
        runtime.spawn(async move { axum::serve(listener, routes).await });
        let keys = KeyPair::generate_unencrypted_keypair()?;
        Ok(Self { port, certificate, keys, offered, _runtime: runtime })
    }

    /// Address of the manifest of the newest release.
    pub fn address(&self) -> String {
        format!("https://{HOST}:{}/latest.json", self.port)
    }

    /// The public key that releases are signed for, as it is built into a program.
    pub fn public_key(&self) -> Result<String> {
        Ok(STANDARD.encode(self.keys.pk.to_box()?.to_string()))
    }

    /// File of the certificate.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// The signature of a package, which may also say of which version it is.
    pub fn sign(&self, package: &[u8], version: Option<&str>) -> Result<String> {
        let version = version.map(|version| format!("\tversion:{version}")).unwrap_or_default();
        let comment = format!("timestamp:0\tfile:Gatehouse.AppImage{version}");
        let signature =
            minisign::sign(Some(&self.keys.pk), &self.keys.sk, Cursor::new(package), Some(&comment), None)?;
        Ok(STANDARD.encode(signature.to_string()))
    }

    /// Offers a release from now on.
    pub fn offer(&self, version: &str, package: &[u8], signature: &str) {
        let address = format!("https://{HOST}:{}/package", self.port);
        let manifest = json!({ "version": version, "url": address, "signature": signature });
        *self.offered.lock() =
            Offer { manifest, package: Bytes::copy_from_slice(package), is_held_back: false };
    }

    /// From now on, half of the package is sent, and then nothing more.
    pub fn hold_back(&self) {
        self.offered.lock().is_held_back = true;
    }
}

fn package(offer: &Offer) -> Body {
    if !offer.is_held_back {
        return Body::from(offer.package.clone());
    }
    let half = offer.package.slice(..offer.package.len() / 2);
    let first = futures::stream::once(async { Ok::<_, std::io::Error>(half) });
    Body::from_stream(first.chain(futures::stream::pending()))
}

struct TlsListener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    /// The next connection whose client accepts the certificate.
    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            if let Ok((stream, peer)) = self.tcp.accept().await
                && let Ok(stream) = self.tls.accept(stream).await
            {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
