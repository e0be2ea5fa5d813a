//! Writes calls to a file, record by record, so that no export is in memory as a whole. Nothing is added to what the
//! records hold, in which secrets are masked already.

use std::io::{self, Write};

use gatehouse_model::CallRecord;
use gatehouse_model::approval::Subject;
use gatehouse_model::command::CallExportFormat;
use gatehouse_model::record::{CallOutcome, OutcomeClass};
use serde_json::{Value, json};

use crate::csv::field;

const CSV_HEAD: &str = "id,at,time,client,clientName,server,serverName,kind,name,calledAs,decision,rule,outcome,\
    waitedMs,durationMs,bytesIn,bytesOut,arguments,result\r\n";

/// Writes calls in one form.
#[derive(Debug)]
pub struct CallExporter<W> {
    out: W,
    format: CallExportFormat,
    calls: u64,
}

impl<W: Write> CallExporter<W> {
    /// Begins an export.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn new(mut out: W, format: CallExportFormat) -> io::Result<Self> {
        match format {
            CallExportFormat::JsonLines => {}
            CallExportFormat::Csv => out.write_all(CSV_HEAD.as_bytes())?,
            CallExportFormat::Har => {
                let creator = json!({ "name": "Gatehouse", "version": env!("CARGO_PKG_VERSION") });
                write!(out, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"entries\":[")?;
            }
        }
        Ok(Self { out, format, calls: 0 })
    }

    /// Writes one call.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write(&mut self, record: &CallRecord) -> io::Result<()> {
        match self.format {
            CallExportFormat::JsonLines => {
                serde_json::to_writer(&mut self.out, record)?;
                self.out.write_all(b"\n")?;
            }
            CallExportFormat::Csv => {
                self.out.write_all(csv_line(record)?.as_bytes())?;
            }
            CallExportFormat::Har => {
                let separator: &[u8] = if self.calls == 0 { b"\n" } else { b",\n" };
                self.out.write_all(separator)?;
                serde_json::to_writer(&mut self.out, &har_entry(record))?;
            }
        }
        self.calls += 1;
        Ok(())
    }

    /// Ends the export; returns how many calls were written.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.format == CallExportFormat::Har {
            self.out.write_all(b"\n]}}\n")?;
        }
        self.out.flush()?;
        Ok(self.calls)
    }
}

fn csv_line(record: &CallRecord) -> io::Result<String> {
    let CallRecord { subject, verdict, outcome, .. } = record;
    let (kind, name) = match subject {
        Subject::Tool { name } => ("tool", name),
        Subject::Resource { uri } => ("resource", uri),
        Subject::Prompt { name } => ("prompt", name),
        Subject::Completion { reference } => ("completion", reference),
        Subject::Request { method } => ("request", method),
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| field(text)).collect::<Vec<_>>().join(",");
    let decision = serde_json::to_value(verdict.decision)?;
    Ok(format!(
        "{},{},{},{},{},{},{},{},{}\r\n",
        field(record.id.as_str()),
        record.at.0,
        time(record),
        texts(&[
            record.client.as_str(),
            &record.client_name,
            record.server.as_str(),
            &record.server_name,
            kind,
            name,
            &record.exposed_name,
            decision.as_str().unwrap_or_default(),
            &serde_json::to_string(&verdict.rule)?,
            &serde_json::to_string(outcome)?,
        ]),
        record.waited_ms,
        record.duration_ms,
        record.bytes_in,
        record.bytes_out,
        texts(&[
            record.arguments.as_deref().unwrap_or_default(),
            record.result.as_deref().unwrap_or_default()
        ]),
    ))
}

fn time(record: &CallRecord) -> String {
    jiff::Timestamp::from_millisecond(record.at.0).map(|time| time.to_string()).unwrap_or_default()
}

/// A body as JSON, or as a text if it was cut.
fn body(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    })
}

/// The request as a message of the protocol. Its id and its metadata are not kept.
fn request_message(record: &CallRecord) -> (&str, Value) {
    let arguments = body(record.arguments.as_deref());
    let (method, params) = match &record.subject {
        Subject::Tool { name } => ("tools/call", json!({ "name": name, "arguments": arguments })),
        // The arguments of the others are all that was sent.
        Subject::Resource { .. } => ("resources/read", arguments),
        Subject::Prompt { .. } => ("prompts/get", arguments),
        Subject::Completion { .. } => ("completion/complete", arguments),
        Subject::Request { method } => (method.as_str(), arguments),
    };
    (method, json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

fn response_message(record: &CallRecord) -> Value {
    let member = if matches!(record.outcome, CallOutcome::RpcError { .. }) { "error" } else { "result" };
    json!({ "jsonrpc": "2.0", member: body(record.result.as_deref()) })
}

fn har_entry(record: &CallRecord) -> Value {
    let (method, request) = request_message(record);
    let (status, status_text) = match record.outcome.class() {
        OutcomeClass::Ok => (200, "OK"),
        OutcomeClass::Error => (500, "Error"),
        OutcomeClass::Denied => (403, "Denied"),
        OutcomeClass::Unfinished => (0, ""),
    };
    json!({
        "startedDateTime": time(record),
        "time": record.duration_ms,
        "request": {
            "method": "POST",
            "url": format!("mcp://{}/{method}", record.server),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "queryString": [],
            "postData": { "mimeType": "application/json", "text": request.to_string() },
            "headersSize": -1,
            "bodySize": record.bytes_in,
        },
        "response": {
            "status": status,
            "statusText": status_text,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "content": {
                "size": record.bytes_out,
                "mimeType": "application/json",
                "text": response_message(record).to_string(),
            },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": record.bytes_out,
        },
        "cache": {},
        "timings": {
            "blocked": record.waited_ms,
            "send": 0,
            "wait": record.duration_ms.saturating_sub(record.waited_ms),
            "receive": 0,
        },
        "_gatehouse": {
            "call": record.id,
            "client": record.client_name,
            "server": record.server_name,
            "verdict": record.verdict,
            "outcome": record.outcome,
        },
    })
}
