//! `audit …`: verbs and options.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// The last entries.
    List {
        /// At most so many.
        #[arg(long, default_value_t = 1000)]
        limit: u32,
        /// Only after this entry.
        #[arg(long)]
        after: Option<u64>,
    },
    /// Check that nothing was changed or left out.
    Verify,
    /// Take the notice about missing entries out of the status; `verify` goes on naming the gap.
    Acknowledge,
    /// The whole audit as text.
    Export {
        /// In which form.
        #[arg(long, default_value = "json-lines")]
        format: ExportFormatArg,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormatArg {
    /// One JSON object a line.
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
}
