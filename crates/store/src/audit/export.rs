//! Audit export as JSON Lines and CSV.

use std::fmt::Write as _;

use gatehouse_model::AuditEvent;

use super::Audit;
use super::chain::for_each_entry;
use crate::csv::field;
use crate::error::StoreError;

pub use gatehouse_model::command::ExportFormat as AuditFormat;

impl Audit {
    /// The whole audit as text. CSV follows RFC 4180 and has a header. `redact` removes from each entry what
    /// the reader must not see; the hashes are still those of the complete entries. `None` if it is cancelled.
    pub fn export(
        &self,
        format: AuditFormat,
        redact: Option<fn(&mut AuditEvent)>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<String>, StoreError> {
        let (mut text, mut was_cancelled) = (String::new(), false);
        if format == AuditFormat::Csv {
            text.push_str("seq,at,time,kind,details,hash\r\n");
        }
        for_each_entry(&self.ledger.lock(), 0, None, |stored| {
            if is_cancelled() {
                was_cancelled = true;
                return Ok(false);
            }
            let (mut event, mut entry) = (stored.event.clone(), stored.into_entry()?);
            if let Some(redact) = redact {
                redact(&mut entry.event);
                event = serde_json::to_string(&entry.event)?;
            }
            match format {
                AuditFormat::JsonLines => {
                    text.push_str(&serde_json::to_string(&entry)?);
                    text.push('\n');
                }
                AuditFormat::Csv => {
                    let details: serde_json::Value = serde_json::from_str(&event)?;
                    let kind = details.get("audit").and_then(serde_json::Value::as_str).unwrap_or_default();
                    let time = jiff::Timestamp::from_millisecond(entry.at.0)
                        .map(|t| t.to_string())
                        .unwrap_or_default();
                    let line = writeln!(
                        text,
                        "{},{},{time},{},{},{}\r",
                        entry.seq,
                        entry.at.0,
                        field(kind),
                        field(&event),
                        entry.hash
                    );
                    if line.is_err() {
                        return Err(StoreError::Encoding(serde::ser::Error::custom("no room for a line")));
                    }
                }
            }
            Ok(true)
        })?;
        Ok(if was_cancelled { None } else { Some(text) })
    }
}
