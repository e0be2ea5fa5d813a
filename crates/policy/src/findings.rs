//! The health of permissions (UI-7): allows that nobody needs any more, and allows that are wider than they were ever
//! needed, with what is left of them when they are narrowed. Pure: the rules, their use and the time are passed in.
//!
//! A narrowed allow is the same allow with fewer approved tools. So whatever else changes later, such as the access class
//! of a tool, it never covers what the wide one would not.

use std::collections::BTreeSet;
use std::time::Duration;

use gatehouse_model::id::GrantId;
use gatehouse_model::time::Timestamp;
use gatehouse_model::{Grant, Lifetime, RuleEffect, Scope};

use crate::coverage::{Coverage, SubjectFacts, coverage};

/// How long an allow must have gone without use, or must have been there, before something is said of it.
pub const UNUSED_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);

/// The use of one allow, as far as calls were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantUse {
    /// When it last decided a call.
    pub last: Option<Timestamp>,
    /// The tools and prompts that it let run, by the names that rules use.
    pub used: BTreeSet<String>,
}

/// What is said of an allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantFinding {
    /// It decided no call for [`UNUSED_AFTER`].
    Unused {
        /// When it last did.
        last: Option<Timestamp>,
    },
    /// It covers tools that were never used.
    TooWide {
        /// Those that were, by name.
        used: Vec<String>,
        /// Those that were not.
        unused: Vec<String>,
    },
}

/// What is said of each allow that lasts until it is revoked. `recorded_since` is when the counting of calls began:
/// nothing is said before it covers the whole of [`UNUSED_AFTER`].
pub fn findings<'a>(
    rules: impl IntoIterator<Item = &'a Grant>,
    use_of: impl Fn(&GrantId) -> GrantUse,
    recorded_since: Timestamp,
    now: Timestamp,
) -> Vec<(&'a Grant, GrantFinding)> {
    let is_long_ago = |at: Timestamp| at.plus(UNUSED_AFTER) <= now;
    if !is_long_ago(recorded_since) {
        return Vec::new();
    }
    let lasting = rules.into_iter().filter(|rule| {
        rule.effect == RuleEffect::Allow && rule.lifetime == Lifetime::Always && is_long_ago(rule.created)
    });
    let found = lasting.filter_map(|rule| {
        let GrantUse { last, used } = use_of(&rule.id);
        if last.is_none_or(is_long_ago) {
            return Some((rule, GrantFinding::Unused { last }));
        }
        let narrowed = narrowed(rule, &used)?;
        let (used, unused) = tools(rule).partition(|tool| narrowed.pins.contains_key(tool));
        Some((rule, GrantFinding::TooWide { used, unused }))
    });
    found.collect()
}

/// The names of the tools that an allow was given for.
fn tools(rule: &Grant) -> impl Iterator<Item = String> {
    rule.pins.keys().filter(|pin| is_tool(pin)).cloned()
}

/// Whether a pin is that of a tool. Prompts and templates only read, and what uses a template is not counted by name, so
/// they stay; so does a tool that is called like one.
fn is_tool(pin: &str) -> bool {
    !["prompt:", "template:"].iter().any(|kind| pin.starts_with(kind))
}

/// The allow for nothing but the tools that were used; `None` if it is for one tool or call anyway, or if that is no
/// narrower, or if it would be left with no tool.
#[must_use]
pub fn narrowed(rule: &Grant, used: &BTreeSet<String>) -> Option<Grant> {
    if rule.effect != RuleEffect::Allow
        || !matches!(rule.width, Scope::Reads | Scope::Writes | Scope::Everything)
    {
        return None;
    }
    let mut narrow = rule.clone();
    narrow.pins.retain(|pin, _| !is_tool(pin) || used.contains(pin));
    (narrow.pins.len() < rule.pins.len() && tools(&narrow).next().is_some()).then_some(narrow)
}

/// Whether an allow is certain to cover nothing that another one does not: it differs from it only in approved tools and
/// definitions that it lacks, and none of these items is covered by it alone. Who made it, when and its id do not count.
#[must_use]
pub fn is_narrower(new: &Grant, old: &Grant, items: &[SubjectFacts<'_>]) -> bool {
    let Grant {
        id: _,
        effect,
        server,
        width,
        clients,
        lifetime,
        conditions,
        pins,
        program,
        created: _,
        author: _,
        reason,
    } = new;
    let is_same = *effect == old.effect
        && *server == old.server
        && *width == old.width
        && *clients == old.clients
        && *lifetime == old.lifetime
        && *conditions == old.conditions
        && *program == old.program
        && *reason == old.reason;
    let has_fewer_pins = pins.len() < old.pins.len()
        && pins.iter().all(|(pin, approved)| {
            old.pins.get(pin).is_some_and(|before| approved.iter().all(|version| before.contains(version)))
        });
    let covers = |rule: &Grant, item: &SubjectFacts<'_>| coverage(rule, item, None) == Coverage::Covers;
    *effect == RuleEffect::Allow
        && is_same
        && has_fewer_pins
        && items.iter().all(|item| !covers(new, item) || covers(old, item))
}
