//! How long a verdict takes with many grants and many tools: less than a microsecond when optimised.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

#[path = "words/table.rs"]
mod table;

use std::time::{Duration, Instant};

use gatehouse_model::grant::{Decision, Verdict};
use gatehouse_policy::verdict::RuleBook;
use table::{Call, rule};

/// 1,000 grants on 20 servers, wide ones with 10,000 pinned tools among them, and others in the way.
fn book(call: &Call) -> RuleBook {
    let mut rules = Vec::new();
    for number in 0..990 {
        let server = number % 20 + 1;
        let pin = format!("tool_{number}=1");
        rules.push(rule(&format!("allow tool tool_{number} on s{server} for c1 pins {pin}"), number, call));
    }
    let pins: Vec<String> = (0..10_000).map(|tool| format!("tool_{tool}=1")).collect();
    for number in 990..1000 {
        rules.push(rule(
            &format!("allow writes on s1 for c{} pins {}", 1000 - number, pins.join(",")),
            number,
            call,
        ));
    }
    RuleBook::new(rules)
}

fn p50(call: &Call) -> (Duration, Verdict) {
    let book = book(call);
    let mut took: Vec<Duration> = call.with_facts(|facts| {
        let once = |_| {
            let begin = Instant::now();
            std::hint::black_box(book.decide(std::hint::black_box(facts)));
            begin.elapsed()
        };
        (0..10_001).map(once).collect()
    });
    took.sort_unstable();
    (took[took.len() / 2], call.decide(&book))
}

#[test]
fn a_verdict_takes_less_than_a_microsecond() {
    let limit = if cfg!(debug_assertions) { Duration::from_micros(50) } else { Duration::from_micros(1) };
    for (name, call, decision) in [
        ("one tool", "tool_500 on s1", Decision::Allow),
        ("all writes, 10,000 pins", "tool_9876 on s1", Decision::Allow),
        ("nothing applies", "tool_9876 on s1 by c77", Decision::Ask),
        ("another server", "tool_9876 on s99", Decision::Ask),
    ] {
        let (took, verdict) = p50(&Call::parse(call));
        println!("{name}: {took:?}");
        assert_eq!(verdict.decision, decision, "{name}");
        assert!(took < limit, "{name}: {took:?}");
    }
}
