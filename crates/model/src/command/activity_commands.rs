//! Commands about what happened: events, calls, audit.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::table::commands;
use super::values::{CallExportFormat, ExportFormat, ExportedCalls, ExportedText};
use crate::event::EventEnvelope;
use crate::id::CallId;
use crate::record::{AuditEntryView, AuditVerdict, CallFilter, CallRecord, RunningCall};
use crate::statistics::{CallStatistics, CallStatisticsQuery};

commands! {
    activity_commands {
        /// What happened since Gatehouse started, oldest first: the last 5,000 events, lines of logs and
        /// progress left out. Approval requests are in it with their whole arguments.
        "events.list" EventsList {} -> Vec<EventEnvelope>, Operator: "Approval requests are in it with their whole arguments.";

        /// The last calls, newest first.
        "calls.list" CallsList {
            filter: CallFilter,
        } -> Vec<CallRecord>,
            Anyone: "It only looks; arguments, results and searching in them are for the operator.";

        /// Figures about calls over time, by client or server, and about tools.
        "calls.statistics" CallsStatistics {
            query: CallStatisticsQuery,
        } -> CallStatistics, Anyone: "It only looks; nothing of what calls contained is in it.";
        /// Writes the calls that match to a file in the user's folder of downloads.
        "calls.export" CallsExport {
            /// Its `limit` and `olderThan` do not count.
            filter: CallFilter,
            format: CallExportFormat,
            /// What `servers.stopRun` is to call it; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> ExportedCalls, Operator: "It writes a file, and shows what was in calls.";

        /// Calls that have begun and not ended, oldest first.
        "calls.running" CallsRunning {} -> Vec<RunningCall>, Operator: "It shows what is in the arguments of calls.";
        /// Cancels a call that is with its server, as its client could.
        "calls.cancel" CallsCancel {
            call: CallId,
        } -> (), Operator: "It ends a call that the user may wait for.";

        /// Entries of the audit, oldest first.
        "audit.list" AuditList {
            /// After this entry; from the first where absent.
            #[ts(type = "number | null")]
            after: Option<u64>,
            /// At most so many; 1,000 where absent.
            limit: Option<u32>,
        } -> Vec<AuditEntryView>,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
        /// Entries of the audit, newest first.
        "audit.latest" AuditLatest {
            /// Before this entry; from the last where absent.
            #[ts(type = "number | null")]
            before: Option<u64>,
            /// At most so many; 1,000 where absent.
            limit: Option<u32>,
        } -> Vec<AuditEntryView>,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
        /// Checks the audit chain.
        "audit.verify" AuditVerify {
            /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> AuditVerdict, Anyone: "It only looks.";
        /// Ceases to report in the status that the end of the audit was cut off. `audit.verify` goes on
        /// naming the gap.
        "audit.acknowledge" AuditAcknowledge {} -> (), Operator: "It silences a warning that somebody tampered.";
        /// The whole audit as text.
        "audit.export" AuditExport {
            /// In which form.
            format: ExportFormat,
            /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> ExportedText,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    }
}
