//! One HTTP request per connection, and its answer: whole, or in chunks, so that a connection that breaks can be told from
//! an answer that ended.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result};
use serde_json::Value;

use super::ProviderRequest;

/// Reads a request.
pub(super) fn read(stream: &TcpStream) -> Result<ProviderRequest> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let mut word = || Some(words.next()?.to_owned());
    let (method, path) = (word().context("no method")?, word().context("no path")?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(Ok(0), |length| length.parse::<usize>())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
    Ok(ProviderRequest { method, path, headers, body })
}

/// Writes a whole answer. `headers` are lines with their ends.
pub(super) fn write(stream: &mut TcpStream, status: u16, headers: &str, body: &Value) -> Result<()> {
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

/// A stream of events.
pub(super) struct ChunkedStream<'a>(&'a mut TcpStream);

impl<'a> ChunkedStream<'a> {
    pub(super) fn begin(stream: &'a mut TcpStream) -> Result<Self> {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )?;
        Ok(Self(stream))
    }

    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        // An empty chunk would be the end.
        if !text.is_empty() {
            write!(self.0, "{:x}\r\n{text}\r\n", text.len())?;
            self.0.flush()?;
        }
        Ok(())
    }

    pub(super) fn end(self) -> Result<()> {
        write!(self.0, "0\r\n\r\n")?;
        Ok(())
    }

    pub(super) fn connection(&self) -> &TcpStream {
        self.0
    }
}
