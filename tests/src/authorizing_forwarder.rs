//! A port that leads to the gateway with a client's token, for programs that can't send one. Must never change anything
//! but the heads of requests: the port in `Host` and `Origin`, `Connection`, and `Authorization`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};

/// Longest head of a request, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

const HEAD_END: &[u8] = b"\r\n\r\n";

/// Where requests go, and how.
#[derive(Debug)]
struct ForwardTarget {
    /// The authority of the gateway's address.
    authority: String,
    own_port: u16,
    token: String,
}

/// Opens the port, for as long as this process runs. Returns the address that stands for `endpoint`.
pub fn open(endpoint: &str, token: &str) -> Result<String> {
    let rest = endpoint.strip_prefix("http://").context("not an http address")?;
    let (authority, path) = rest.split_once('/').context("no path")?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own_port = listener.local_addr()?.port();
    let target =
        Arc::new(ForwardTarget { authority: authority.to_owned(), own_port, token: token.to_owned() });
    std::thread::Builder::new().spawn(move || {
        for stream in listener.incoming().flatten() {
            let target = Arc::clone(&target);
            std::thread::spawn(move || {
                if let Err(error) = target.forward(stream) {
                    eprintln!("a request was not forwarded: {error:#}");
                }
            });
        }
    })?;
    Ok(format!("http://127.0.0.1:{own_port}/{path}"))
}

impl ForwardTarget {
    /// Forwards one request with its answer. The gateway closes the connection after it, so each request has one of its own.
    fn forward(&self, mut client: TcpStream) -> Result<()> {
        let Some((head, rest)) = read_head(&mut client)? else { return Ok(()) };
        let head = self.authorized(&head).context("the head of the request is no text")?;
        let mut gateway = TcpStream::connect(&self.authority)?;
        gateway.write_all(head.as_bytes())?;
        gateway.write_all(&rest)?;
        let (mut body, mut to_gateway) = (client.try_clone()?, gateway.try_clone()?);
        std::thread::spawn(move || {
            let copied = io::copy(&mut body, &mut to_gateway);
            // A client that leaves cancels what it asked for, so the gateway has to see it.
            to_gateway.shutdown(Shutdown::Both).and(copied.map(drop))
        });
        let copied = io::copy(&mut gateway, &mut client);
        // Either end may have closed it already.
        client.shutdown(Shutdown::Both).ok();
        copied.map(drop).or_else(|error| if is_end(&error) { Ok(()) } else { Err(error.into()) })
    }

    fn authorized(&self, head: &[u8]) -> Option<String> {
        let mut lines = std::str::from_utf8(head).ok()?.trim_end().split("\r\n");
        let mut out = format!("{}\r\n", lines.next()?);
        let own = format!("127.0.0.1:{}", self.own_port);
        for line in lines {
            let (name, _) = line.split_once(':')?;
            match name.to_ascii_lowercase().as_str() {
                "connection" => {}
                "host" | "origin" => out.push_str(&format!("{}\r\n", line.replace(&own, &self.authority))),
                _ => out.push_str(&format!("{line}\r\n")),
            }
        }
        out.push_str(&format!("Connection: close\r\nAuthorization: Bearer {}\r\n\r\n", self.token));
        Some(out)
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
}

/// The head of a request, and what was read behind it; `None` at the end of the connection.
fn read_head(stream: &mut TcpStream) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8 * 1024];
    loop {
        if let Some(at) = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END) {
            let rest = bytes.split_off(at + HEAD_END.len());
            return Ok(Some((bytes, rest)));
        }
        anyhow::ensure!(bytes.len() < LONGEST_HEAD, "the head of a request is too long");
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_only_own_address_and_connection() {
        let target = ForwardTarget {
            authority: "127.0.0.1:80".to_owned(),
            own_port: 4000,
            token: "secret".to_owned(),
        };
        let head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nOrigin: http://127.0.0.1:4000\r\n\
                     connection: keep-alive\r\nX-Port: 127.0.0.1:4000\r\n\r\n";
        assert_eq!(
            target.authorized(head).unwrap(),
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80\r\n\
             X-Port: 127.0.0.1:4000\r\nConnection: close\r\nAuthorization: Bearer secret\r\n\r\n"
        );
        let foreign = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        assert!(target.authorized(foreign).unwrap().contains("Host: evil.example\r\n"));
    }
}
