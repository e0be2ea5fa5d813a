//! The answer to one raw request, line by line, while it still comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};

use crate::eventually::TEST_TIMEOUT;

/// The answer on one connection. Dropping it closes the connection.
#[derive(Debug)]
pub struct SseStream(BufReader<TcpStream>);

/// The head of a response.
#[derive(Debug)]
pub struct ResponseHead {
    pub(crate) status_line: String,
    /// Header fields, names in lower case.
    fields: Vec<(String, String)>,
}

impl ResponseHead {
    /// A field by its name in lower case.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl SseStream {
    /// Sends a request; its answer is read from the stream.
    pub fn open(endpoint: &str, method: &str, headers: &[(String, String)], body: &str) -> Result<Self> {
        let rest = endpoint.strip_prefix("http://").context("not an http address")?;
        let (authority, path) = rest.split_once('/').context("no path")?;
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        stream.set_write_timeout(Some(TEST_TIMEOUT))?;
        let mut text = format!("{method} /{path} HTTP/1.1\r\nHost: {authority}\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(text.as_bytes())?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Reads the head, if nothing was read yet.
    pub(crate) fn head(&mut self) -> Result<ResponseHead> {
        let mut status_line = String::new();
        self.0.read_line(&mut status_line)?;
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                return Ok(ResponseHead { status_line, fields });
            };
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads a body of this length, in bytes.
    pub(crate) fn body(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(body)
    }

    /// Reads up to a line that contains this text.
    pub fn line(&mut self, part: &str) -> Result<String> {
        self.lines_to(part)?.pop().with_context(|| format!("no line with {part:?}"))
    }

    /// Reads up to a line that contains this text, and returns all lines up to it.
    pub fn lines_to(&mut self, part: &str) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            ensure!(self.0.read_line(&mut line)? > 0, "the connection ended without {part:?}: {lines:#?}");
            let is_last = line.contains(part);
            lines.push(line);
            if is_last {
                return Ok(lines);
            }
        }
    }

    /// The answer to the call.
    pub fn answer(&mut self) -> Result<String> {
        self.line(r#""result""#)
    }
}
