//! Standard input and output: one message per line. Nothing but messages is ever written to standard output.

use bytes::{Bytes, BytesMut};
use tokio::io::{self, AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::message::one_line;

/// Longest message of the client, in bytes: what the gateway reads.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Messages that may wait to be written; after that nothing more is read from the gateway.
const OUTPUT_CAPACITY: usize = 64;

/// Bytes that are collected before they are written.
const WRITE_BUFFER_BYTES: usize = 64 * 1024;

/// One line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Message(Bytes),
    /// Longer than [`MAX_LINE_BYTES`]; it was skipped.
    TooLong,
}

/// Reads lines. Cancelling a read loses the part of a line that was read, so it is only cancelled at the end.
pub(super) struct StdinReader<R> {
    reader: R,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> StdinReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, limit: MAX_LINE_BYTES }
    }

    /// The next line that isn't empty; `None` at the end of the input. What follows the last line end is a line
    /// too.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = BytesMut::new();
            let mut is_too_long = false;
            let is_end = loop {
                let chunk = self.reader.fill_buf().await?;
                if chunk.is_empty() {
                    break true;
                }
                let end = memchr::memchr(b'\n', chunk);
                let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
                is_too_long |= line.len() + part.len() > self.limit;
                if is_too_long {
                    line.clear();
                } else {
                    line.extend_from_slice(part);
                }
                let read = part.len() + usize::from(end.is_some());
                self.reader.consume(read);
                if end.is_some() {
                    break false;
                }
            };
            if is_too_long {
                return Ok(Some(Line::TooLong));
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Line::Message(line.freeze())));
            }
            if is_end {
                return Ok(None);
            }
        }
    }
}

/// Where messages to the client go.
#[derive(Clone)]
pub(super) struct Output(mpsc::Sender<Bytes>);

impl Output {
    pub(super) fn new() -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(OUTPUT_CAPACITY);
        (Self(sender), receiver)
    }

    /// Writes a message. If the client has closed the stream, it goes nowhere: the bridge ends then.
    pub(super) async fn send(&self, message: Bytes) {
        self.0.send(one_line(message)).await.unwrap_or(());
    }
}

/// When [`write_lines`] ends.
#[derive(Clone, Default)]
pub(super) struct OutputEnd {
    /// Cancelled when nothing more is to be written than what waits already.
    pub(super) finish: CancellationToken,
    /// Cancelled by the writer if the client has closed the stream.
    pub(super) closed: CancellationToken,
}

/// Writes messages until it is to finish, or the stream is closed.
pub(super) async fn write_lines(
    writer: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Bytes>,
    end: OutputEnd,
) {
    let mut writer = BufWriter::with_capacity(WRITE_BUFFER_BYTES, writer);
    let written: io::Result<()> = async {
        loop {
            let first = tokio::select! {
                biased;
                message = messages.recv() => message,
                () = end.finish.cancelled() => None,
            };
            let Some(message) = first else { return writer.flush().await };
            write_line(&mut writer, &message).await?;
            // What has come meanwhile is written with it.
            while let Ok(message) = messages.try_recv() {
                write_line(&mut writer, &message).await?;
            }
            writer.flush().await?;
        }
    }
    .await;
    if written.is_err() {
        end.closed.cancel();
    }
}

async fn write_line(writer: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    writer.write_all(message).await?;
    writer.write_all(b"\n").await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut reader = StdinReader { reader: tokio::io::BufReader::with_capacity(4, input), limit };
        let mut found = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    fn message(text: &'static str) -> Line {
        Line::Message(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn reads_lines_and_skips_the_ones_that_are_too_long() {
        let input = b"{\"a\":1}\r\n\n  \n0123456789abcdef\nlast";
        assert_eq!(lines(input, 10).await, [message("{\"a\":1}"), Line::TooLong, message("last")]);
        assert_eq!(lines(b"", 10).await, []);
        assert_eq!(lines(b"\n\n", 10).await, []);
    }

    #[tokio::test]
    async fn writes_one_message_per_line() {
        let (output, messages) = Output::new();
        output.send(Bytes::from_static(b"{\n}")).await;
        output.send(Bytes::from_static(b"[]")).await;
        drop(output);
        let mut written = Vec::new();
        write_lines(&mut written, messages, OutputEnd::default()).await;
        assert_eq!(written, b"{ }\n[]\n");
    }
}
