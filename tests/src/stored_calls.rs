//! Many stored calls, as somebody has them after months: written by the product's own store into a data folder that no
//! Gatehouse uses meanwhile. The same number and the same moment give the same calls.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use gatehouse_model::approval::Subject;
use gatehouse_model::grant::{Rule, Verdict};
use gatehouse_model::record::CallOutcome;
use gatehouse_model::verdict_trace::{JudgedCheck, PolicyCheck};
use gatehouse_model::{
    CallId, CallRecord, ClientId, Clock as _, Decision, GrantId, ServerId, SystemClock, Timestamp,
};
use gatehouse_store::{Owner, Retention, Store, StoreOptions, memory};
use serde_json::json;

/// The time that the calls are spread over, less than calls are kept by default.
pub const SPREAD: Duration = Duration::from_secs(80 * 24 * 3600);

/// A word of half of the calls.
pub const COMMON_WORD: &str = "report";
/// One of this many calls is of [`StoredCalls::rare_client`] and of [`StoredCalls::rare_tool`].
pub const RARE: u64 = 20_000;

const CLIENTS: u64 = 6;
const SERVERS: u64 = 12;
/// Of each server.
const TOOLS: u64 = 30;
const WORDS: u64 = 2_000;
const WORDS_OF_RESULT: u64 = 24;
/// Calls that are queued before they are waited for; the store's queue holds more.
const BATCH: u64 = 4_096;

/// Calls that are or were stored, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct StoredCalls {
    pub count: u64,
    /// When the newest of them came in.
    pub newest: Timestamp,
}

/// Stores calls in a data folder, which is created if it does not exist. Blocks.
pub fn fill(data_dir: &Path, count: u64) -> Result<StoredCalls> {
    let options = StoreOptions {
        dir: data_dir.to_owned(),
        owner: Owner::Window,
        // Calls are not sealed, and nothing else is written.
        secrets: memory(),
        clock: Arc::new(SystemClock),
    };
    let store = Store::open_with_retention(options, Retention::EVERYTHING)?;
    let stored = StoredCalls { count, newest: SystemClock.now() };
    for first in (0..count).step_by(BATCH as usize) {
        for number in first..count.min(first + BATCH) {
            store.activity().record(stored.record(number));
        }
        store.activity().flush();
    }
    ensure!(store.activity().dropped_count() == 0, "some calls were not stored");
    store.close();
    Ok(stored)
}

impl StoredCalls {
    /// The client with the most calls.
    #[must_use]
    pub fn common_client(&self) -> ClientId {
        client(0)
    }

    /// A client with hardly any calls.
    #[must_use]
    pub fn rare_client(&self) -> ClientId {
        client(CLIENTS)
    }

    /// The server with the most calls.
    #[must_use]
    pub fn common_server(&self) -> ServerId {
        server(0)
    }

    /// The server with the fewest calls.
    #[must_use]
    pub fn rare_server(&self) -> ServerId {
        server(SERVERS - 1)
    }

    /// The tool with the most calls, of all servers.
    #[must_use]
    pub fn common_tool(&self) -> String {
        tool(0)
    }

    /// A tool with hardly any calls.
    #[must_use]
    pub fn rare_tool(&self) -> String {
        tool(TOOLS)
    }

    /// A word that only this call has.
    #[must_use]
    pub fn word_of(&self, number: u64) -> String {
        format!("r{number:07}")
    }

    /// A word of some calls: about one of 80 has it.
    #[must_use]
    pub fn some_word(&self, number: u64) -> String {
        word(number % WORDS)
    }

    /// When a call came in.
    #[must_use]
    pub fn time_of(&self, number: u64) -> Timestamp {
        let before = u128::from(self.count.saturating_sub(number + 1)) * SPREAD.as_millis()
            / u128::from(self.count.max(1));
        Timestamp(self.newest.0.saturating_sub(i64::try_from(before).unwrap_or(i64::MAX)))
    }

    /// One call; the oldest has the number 0.
    #[must_use]
    pub fn record(&self, number: u64) -> CallRecord {
        let is_rare = number % RARE == RARE / 2;
        let of_client = if is_rare { CLIENTS } else { skewed(number, 1, CLIENTS) };
        let of_server = skewed(number, 2, SERVERS);
        let tool = tool(if is_rare { TOOLS } else { skewed(number, 3, TOOLS) });
        let at = self.time_of(number);
        let duration_ms = 3 + u32::try_from(skewed(number, 4, 5_000)).unwrap_or_default();
        let (decision, rule, outcome) = ending(number);
        let words: Vec<String> = (0..WORDS_OF_RESULT).map(|at| word(mix(number, 16 + at) % WORDS)).collect();
        let topic = if mix(number, 5).is_multiple_of(2) { COMMON_WORD } else { "letter" };
        let arguments = json!({
            "path": format!("/home/ana/{topic}s/{}.md", self.word_of(number)),
            "query": word(mix(number, 6) % WORDS),
            "limit": mix(number, 7) % 500,
        })
        .to_string();
        let text = words.join(" ");
        let result = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        CallRecord {
            id: CallId::from_random(number),
            at,
            client: client(of_client),
            client_name: format!("Client {of_client}"),
            server: server(of_server),
            server_name: format!("server{of_server}"),
            subject: Subject::Tool { name: tool.clone() },
            exposed_name: tool,
            program: Some("/usr/bin/agent".to_owned()),
            by_user: mix(number, 8).is_multiple_of(100),
            verdict: Verdict { decision, rule },
            judged: Some(JUDGED.into_iter().map(JudgedCheck::new).collect()),
            outcome,
            waited_ms: 0,
            duration_ms,
            bytes_in: u32::try_from(arguments.len()).unwrap_or_default(),
            bytes_out: u32::try_from(result.len()).unwrap_or_default(),
            arguments: Some(arguments),
            result: Some(result),
        }
    }
}

/// The checks that are recorded with each call.
const JUDGED: [PolicyCheck; 6] = [
    PolicyCheck::ManagedPolicy,
    PolicyCheck::Pause,
    PolicyCheck::Denies,
    PolicyCheck::LateApproval,
    PolicyCheck::Verification,
    PolicyCheck::Allows,
];

/// What decided a call, and how it ended: of a hundred, two are denied, three fail and one is cancelled.
fn ending(number: u64) -> (Decision, Rule, CallOutcome) {
    let grant = GrantId::from_random(mix(number, 9) % 40);
    match mix(number, 10) % 100 {
        0 | 1 => (Decision::Deny, Rule::ExplicitDeny { grant, reason: None }, CallOutcome::Refused),
        2..=4 => (Decision::Allow, Rule::AlwaysGrant { grant }, CallOutcome::ToolError),
        5 => (Decision::Allow, Rule::AlwaysGrant { grant }, CallOutcome::Cancelled),
        _ => (Decision::Allow, Rule::AlwaysGrant { grant }, CallOutcome::Ok),
    }
}

fn client(number: u64) -> ClientId {
    ClientId::from_random(number)
}

fn server(number: u64) -> ServerId {
    ServerId::from_random(number)
}

fn tool(number: u64) -> String {
    format!("read_something_{number}")
}

fn word(number: u64) -> String {
    format!("word{number:04}")
}

/// A number below `most`, the smaller the more often: a few clients, servers and tools have most of the calls.
fn skewed(number: u64, salt: u64, most: u64) -> u64 {
    let below = mix(number, salt) % 1_000;
    below * below * below * most / 1_000_000_000
}

/// Spreads numbers evenly over 64 bits (SplitMix64).
fn mix(number: u64, salt: u64) -> u64 {
    let mut mixed = number.wrapping_mul(64).wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::record::CallFilter;

    use super::*;

    fn found(store: &Store, filter: CallFilter) -> usize {
        store.activity().list(&CallFilter { limit: Some(10_000), ..filter }).unwrap().len()
    }

    #[test]
    fn stores_calls_that_are_found_by_everything_they_are_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("data");
        let stored = fill(&dir, 5_000).unwrap();
        let options =
            StoreOptions { dir, owner: Owner::Window, secrets: memory(), clock: Arc::new(SystemClock) };
        let store = Store::open(options).unwrap();
        let all = CallFilter::default();
        assert_eq!(found(&store, all.clone()), 5_000);
        assert_eq!(store.activity().list(&all).unwrap()[0], stored.record(4_999));
        assert_eq!(found(&store, CallFilter { text: Some(stored.word_of(0)), ..all.clone() }), 1);
        for (filter, least, most) in [
            (CallFilter { client: Some(stored.common_client()), ..all.clone() }, 2_000, 4_000),
            (CallFilter { server: Some(stored.common_server()), ..all.clone() }, 1_500, 3_500),
            (CallFilter { server: Some(stored.rare_server()), ..all.clone() }, 50, 500),
            (CallFilter { tool: Some(stored.common_tool()), ..all.clone() }, 1_000, 3_000),
            (CallFilter { decision: Some(Decision::Deny), ..all.clone() }, 50, 200),
            (CallFilter { by_user: true, ..all.clone() }, 20, 100),
            (CallFilter { text: Some(COMMON_WORD.into()), ..all.clone() }, 2_000, 3_000),
            (CallFilter { text: Some(stored.some_word(7)), ..all.clone() }, 20, 150),
            (CallFilter { since: Some(stored.time_of(4_000)), ..all.clone() }, 1_000, 1_000),
        ] {
            let count = found(&store, filter.clone());
            assert!((least..=most).contains(&count), "{filter:?}: {count}");
        }
    }
}
