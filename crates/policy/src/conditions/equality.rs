//! Whether an argument equals one of some values (PERM-5). Parsers round numbers, coerce text to numbers and
//! words to booleans, and fold member names; a value that might be equal after such a conversion gives
//! `Unknown`.

use unicode_normalization::UnicodeNormalization as _;

use super::ConditionOutcome;
use super::name_folding::folded;
use crate::json::{self, Json};

/// Limit on the work of one comparison, in steps of about 64 bytes; beyond it the result is `Unknown`. A client
/// controls the size of the arguments, and each call is judged several times.
const MAX_STEPS: usize = 200_000;

/// Remaining comparison steps.
struct Budget(usize);

impl Budget {
    /// Charges for one step of this many bytes. Returns whether the budget is now used up.
    fn is_spent_by(&mut self, bytes: usize) -> bool {
        self.0 = self.0.saturating_sub(1 + bytes / 64);
        self.0 == 0
    }
}

pub(super) fn match_one_of(value: &Json, wanted: &[Json]) -> ConditionOutcome {
    let canonical = value.canonical();
    let mut budget = Budget(MAX_STEPS);
    if wanted.iter().any(|wanted| wanted.canonical() == canonical) {
        ConditionOutcome::Yes
    } else if wanted.iter().any(|wanted| may_be_equal(value, wanted, &mut budget)) {
        ConditionOutcome::Unknown
    } else {
        ConditionOutcome::No
    }
}

/// Whether some parser may treat the two as equal. Also true if the budget runs out.
fn may_be_equal(a: &Json, b: &Json, budget: &mut Budget) -> bool {
    let text = |value: &Json| value.as_str().map_or(0, str::len);
    if budget.is_spent_by(text(a) + text(b)) {
        return true;
    }
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => true,
        },
        (Json::String(text), Json::Number(number)) | (Json::Number(number), Json::String(text)) => {
            may_read_as_number(text, number)
        }
        // `"yes"`, `"on"` and `1` may be coerced to booleans.
        (Json::Bool(_), Json::String(_) | Json::Number(_))
        | (Json::String(_) | Json::Number(_), Json::Bool(_)) => true,
        (Json::String(text), other @ (Json::Array(_) | Json::Object(_) | Json::Null))
        | (other @ (Json::Array(_) | Json::Object(_) | Json::Null), Json::String(text)) => {
            json::read(text).is_ok_and(|value| value == *other || may_be_equal(&value, other, budget))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| may_be_equal(a, b, budget))
        }
        (Json::Object(a), Json::Object(b)) => {
            have_matching_members(a, b, budget) && have_matching_members(b, a, budget)
        }
        (a, b) => a == b,
    }
}

/// Whether some parser may read a text as this number.
fn may_read_as_number(text: &str, number: &str) -> bool {
    let plain: String = text.nfkc().filter(|c| !matches!(c, '_' | ',') && !c.is_whitespace()).collect();
    match (plain.parse::<f64>(), number.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        // `0x10`, `1e`, digits of other scripts.
        _ => plain.chars().any(char::is_numeric),
    }
}

/// Whether each member of `ones` may equal a member of `others`.
fn have_matching_members(
    ones: &[(Box<str>, Json)],
    others: &[(Box<str>, Json)],
    budget: &mut Budget,
) -> bool {
    ones.iter().all(|(name, one)| {
        if budget.is_spent_by(name.len()) {
            return true;
        }
        let name = folded(name);
        others.iter().any(|(other, value)| {
            // If two members have the same folded name, which one a parser uses is unknown.
            let is_spent = budget.is_spent_by(other.len());
            let is_partner = |budget: &mut Budget| {
                folded(other) == name
                    && (may_be_equal(one, value, budget) || is_duplicated(&name, ones, budget))
            };
            is_spent || is_partner(budget)
        })
    })
}

fn is_duplicated(folded_name: &str, members: &[(Box<str>, Json)], budget: &mut Budget) -> bool {
    let mut found =
        members.iter().filter(|(name, _)| budget.is_spent_by(name.len()) || *folded(name) == *folded_name);
    found.nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_unknown_when_comparison_budget_is_spent() {
        let object = |last: &str| {
            let members: Vec<String> = (0..3000).map(|n| format!(r#""k{n}":1"#)).collect();
            json::read(&format!(r#"{{{},"{last}":1}}"#, members.join(","))).unwrap()
        };
        let began = std::time::Instant::now();
        assert_eq!(match_one_of(&object("a"), &[object("b")]), ConditionOutcome::Unknown);
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        assert_eq!(match_one_of(&object("a"), &[object("a")]), ConditionOutcome::Yes);
        let small = |text: &str| json::read(text).unwrap();
        assert_eq!(match_one_of(&small(r#"{"a":1}"#), &[small(r#"{"b":1}"#)]), ConditionOutcome::No);
    }
}
