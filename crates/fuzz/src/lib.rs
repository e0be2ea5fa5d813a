//! What the fuzz targets share: a loop over generated cases with a budget of time, and generators of text
//! that follows a grammar and then, in a few places, does not.
//!
//! A target is a test beside what it tests, called `fuzz_…`. Tests alone use this crate; no program
//! may depend on it.

pub mod json;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// The variable that says how many seconds each target may take.
pub const BUDGET: &str = "GATEHOUSE_FUZZ_SECONDS";

/// What a target takes where nothing is said.
const USUAL: Duration = Duration::from_secs(5);

/// Cases between two looks at the clock.
const ROUND: u32 = 64;

/// Tries a property with generated cases, random ones in each run, until the time is over. At least one
/// round is always tried.
///
/// # Errors
/// The smallest case found that the property does not hold for.
pub fn fuzz<S: Strategy>(
    target: &str,
    cases: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> Result<(), String>
where
    S::Value: Debug,
{
    let (began, budget) = (Instant::now(), budget(std::env::var(BUDGET).ok().as_deref()));
    let mut tried = 0_u64;
    loop {
        let config = Config { cases: ROUND, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(cases, &property)
            .map_err(|error| format!("{target}, after {tried} cases: {error}"))?;
        tried += u64::from(ROUND);
        if began.elapsed() >= budget {
            println!("{target}: {tried} cases in {:.1} s", began.elapsed().as_secs_f64());
            return Ok(());
        }
    }
}

fn budget(said: Option<&str>) -> Duration {
    said.and_then(|seconds| seconds.parse().ok()).map_or(USUAL, Duration::from_secs)
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Edit {
    Cut(Index, usize),
    Double(Index, usize),
    Insert(Index, &'static str),
    Swap(Index, Index),
}

/// A text as it is, or after a few pieces of it were cut out, doubled, swapped, or some of these tokens were
/// put in.
pub fn mutated(
    text: impl Strategy<Value = String>,
    tokens: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let edit = prop_oneof![
        (any::<Index>(), 1_usize..8).prop_map(|(at, length)| Edit::Cut(at, length)),
        (any::<Index>(), 1_usize..24).prop_map(|(at, length)| Edit::Double(at, length)),
        (any::<Index>(), select(tokens)).prop_map(|(at, token)| Edit::Insert(at, token)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Edit::Swap(a, b)),
    ];
    // Half of the texts stay whole: a reader that refuses everything must not pass.
    let edits = prop_oneof![Just(Vec::new()), prop::collection::vec(edit, 1..5)];
    (text, edits).prop_map(|(text, edits)| {
        let mut letters: Vec<char> = text.chars().collect();
        for edit in edits {
            apply(&mut letters, edit);
        }
        letters.into_iter().collect()
    })
}

fn apply(letters: &mut Vec<char>, edit: Edit) {
    let length = letters.len();
    match edit {
        Edit::Insert(at, token) => {
            let at = at.index(length + 1);
            letters.splice(at..at, token.chars());
        }
        _ if length == 0 => {}
        Edit::Cut(at, count) => {
            let at = at.index(length);
            letters.drain(at..(at + count).min(length));
        }
        Edit::Double(at, count) => {
            let at = at.index(length);
            let piece = letters[at..(at + count).min(length)].to_vec();
            letters.splice(at..at, piece);
        }
        Edit::Swap(a, b) => letters.swap(a.index(length), b.index(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_and_named() {
        let cases = mutated(json::value(), json::TOKENS);
        let found = fuzz("t", &cases, |text| {
            if text.contains("\\u") { Err(TestCaseError::fail("an escape")) } else { Ok(()) }
        });
        assert!(found.unwrap_err().starts_with("t, after "));
    }

    #[test]
    fn the_budget_is_what_the_variable_says() {
        for (said, seconds) in [(None, 5), (Some("60"), 60), (Some("0"), 0), (Some("long"), 5)] {
            assert_eq!(budget(said), Duration::from_secs(seconds));
        }
    }
}
