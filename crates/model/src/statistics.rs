//! Figures about calls (UI-7): how many there were over time and how they ended, by client and server, and which tools
//! take how long. They outlive the records of the calls, and nothing in them comes from arguments or results.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::{ClientId, ServerId};
use crate::record::OutcomeClass;
use crate::time::Timestamp;

/// Which calls are counted, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallStatisticsQuery {
    /// Calls that came in since then, from the start of that interval on.
    pub since: Timestamp,
    /// Calls that came in before then; until now where absent.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// How long each interval is.
    pub interval: StatisticsInterval,
    /// What is counted separately.
    #[serde(default)]
    pub group: StatisticsGroup,
    /// Only from this client.
    #[serde(default)]
    pub client: Option<ClientId>,
    /// Only to this server.
    #[serde(default)]
    pub server: Option<ServerId>,
    /// Minutes that the reader's clock is ahead of UTC: days begin at its midnight, in whole hours.
    #[serde(default)]
    pub utc_offset: i32,
}

/// How long each interval of the statistics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum StatisticsInterval {
    /// Known of the last day only.
    Minute,
    Hour,
    Day,
}

impl StatisticsInterval {
    /// Its length in milliseconds.
    #[must_use]
    pub fn millis(self) -> i64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => 24 * 3_600_000,
        }
    }
}

/// What the statistics count separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum StatisticsGroup {
    /// Nothing: all calls together.
    #[default]
    All,
    Client,
    Server,
}

/// How many calls ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallCounts {
    pub ok: u32,
    pub errors: u32,
    /// Refused and never sent.
    pub denied: u32,
    /// Cancelled, or the client was told to call again.
    pub unfinished: u32,
}

impl CallCounts {
    /// Adds calls that ended in this way.
    pub fn add(&mut self, class: OutcomeClass, calls: u32) {
        let of = match class {
            OutcomeClass::Ok => &mut self.ok,
            OutcomeClass::Error => &mut self.errors,
            OutcomeClass::Denied => &mut self.denied,
            OutcomeClass::Unfinished => &mut self.unfinished,
        };
        *of = of.saturating_add(calls);
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u32 {
        let Self { ok, errors, denied, unfinished } = *self;
        ok.saturating_add(errors).saturating_add(denied).saturating_add(unfinished)
    }
}

/// The calls of one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatisticsPoint {
    /// When the interval begins.
    pub at: Timestamp,
    /// Id of the client or server that is counted separately; absent where nothing is.
    pub of: Option<String>,
    pub counts: CallCounts,
}

/// The calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolStatistics {
    pub server: ServerId,
    /// Name on the server; `prompt:` and its name for a prompt, and only the kind and a colon for resources,
    /// completions and other requests.
    pub tool: String,
    pub counts: CallCounts,
    /// Milliseconds that the calls took which were sent, on average, without the time that a person was waited for.
    pub average_ms: u32,
    /// The same of the slowest.
    pub slowest_ms: u32,
}

/// Figures about calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallStatistics {
    /// Since when figures are kept; before that nothing is known.
    pub recorded_since: Timestamp,
    /// All calls of the time that was asked for.
    pub totals: CallCounts,
    /// The intervals in which there were calls, oldest first.
    pub points: Vec<StatisticsPoint>,
    /// The tools with the most calls, most first.
    pub most_used: Vec<ToolStatistics>,
    /// The tools that take longest on average, slowest first.
    pub slowest: Vec<ToolStatistics>,
}
