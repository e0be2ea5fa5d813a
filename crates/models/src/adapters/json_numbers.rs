//! Numbers that other programs can't read.

use gatehouse_mcp_wire::json::Json;

/// Whether a number fits a double: programs refuse a whole text for one that doesn't.
pub(super) fn is_finite(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether all numbers in a value do.
pub(super) fn all_finite(value: &Json) -> bool {
    match value {
        Json::Number(number) => is_finite(number),
        Json::Array(items) => items.iter().all(all_finite),
        Json::Object(members) => members.iter().all(|(_, member)| all_finite(member)),
        Json::Null | Json::Bool(_) | Json::String(_) => true,
    }
}
