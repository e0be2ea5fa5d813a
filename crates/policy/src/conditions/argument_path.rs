//! Resolving a condition's JSON Pointer in the arguments of a call (PERM-5).

use super::name_folding::{folded, may_be_mistaken_for};
use crate::json::{Json, array_index, unescape_segment};

/// Maximum number of object members that are compared with an argument's name. Each comparison folds a name, and
/// the client chooses their number; the result for a larger object is [`ArgumentLookup::Ambiguous`].
const MOST_MEMBERS: usize = 4096;

/// A parsed JSON Pointer (RFC 6901); `None` if it is invalid.
#[derive(Debug)]
pub(super) struct ArgumentPath(Option<Vec<Segment>>);

#[derive(Debug)]
struct Segment {
    name: Box<str>,
    folded: Box<str>,
}

/// Result of a look-up.
pub(super) enum ArgumentLookup<'a> {
    Value(&'a Json),
    Nothing,
    /// Parsers may find different values there, or a value where none is.
    Ambiguous,
}

impl ArgumentPath {
    pub(super) fn new(pointer: &str) -> Self {
        if pointer.is_empty() {
            return Self(Some(Vec::new()));
        }
        let segment = |segment: &str| {
            let name: Box<str> = unescape_segment(segment)?.into();
            Some(Segment { folded: folded(&name), name })
        };
        Self(pointer.strip_prefix('/').and_then(|rest| rest.split('/').map(segment).collect()))
    }

    /// Whether the pointer is valid and names an argument, whether or not a call has it.
    pub(super) fn names_an_argument(&self) -> bool {
        self.0.as_ref().is_some_and(|segments| !segments.is_empty())
    }

    /// Looks up the argument, considering what other parsers may find. An invalid pointer gives
    /// [`ArgumentLookup::Ambiguous`].
    pub(super) fn find<'a>(&self, arguments: &'a Json) -> ArgumentLookup<'a> {
        let Some(segments) = &self.0 else { return ArgumentLookup::Ambiguous };
        let mut here = arguments;
        for Segment { name, folded } in segments {
            let next = match here {
                Json::Object(members) => {
                    if members.len() > MOST_MEMBERS
                        || members.iter().any(|(other, _)| may_be_mistaken_for(other, name, folded))
                    {
                        return ArgumentLookup::Ambiguous;
                    }
                    members.iter().find(|(other, _)| other == name).map(|(_, value)| value)
                }
                Json::Array(items) => array_index(name).and_then(|index| items.get(index)),
                // Some servers parse a string as the JSON text in it.
                Json::String(_) => return ArgumentLookup::Ambiguous,
                Json::Null | Json::Bool(_) | Json::Number(_) => None,
            };
            match next {
                Some(next) => here = next,
                None => return ArgumentLookup::Nothing,
            }
        }
        ArgumentLookup::Value(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_json_pointers() {
        let arguments = crate::json::read(r#"{"a":[10,{"b/c":1,"d~e":2,"":3}],"0":"x"}"#).unwrap();
        for (pointer, found) in [
            ("/a/0", "10"),
            ("/a/1/b~1c", "1"),
            ("/a/1/d~0e", "2"),
            ("/a/1/", "3"),
            ("/0", "\"x\""),
            ("/a/00", "nothing"),
            ("/a/-", "nothing"),
            ("/a/2", "nothing"),
            ("/a/+1", "nothing"),
            ("/a/1/b~2c", "doubtful"),
            ("a", "doubtful"),
            ("/missing", "nothing"),
            ("/a/0/x", "nothing"),
            ("/0/x", "doubtful"),
        ] {
            let text = match ArgumentPath::new(pointer).find(&arguments) {
                ArgumentLookup::Value(value) => value.canonical(),
                ArgumentLookup::Nothing => "nothing".to_owned(),
                ArgumentLookup::Ambiguous => "doubtful".to_owned(),
            };
            assert_eq!(text, found, "{pointer}");
        }
        for (members, is_found) in [(MOST_MEMBERS, true), (MOST_MEMBERS + 1, false)] {
            let others: String = (1..members).map(|number| format!(r#""x{number}":0,"#)).collect();
            let arguments = crate::json::read(&format!(r#"{{{others}"a":1}}"#)).unwrap();
            let found = ArgumentPath::new("/a").find(&arguments);
            assert_eq!(matches!(found, ArgumentLookup::Value(_)), is_found, "{members} members");
            assert_eq!(matches!(found, ArgumentLookup::Ambiguous), !is_found, "{members} members");
        }
        let whole = ArgumentPath::new("");
        assert!(matches!(whole.find(&arguments), ArgumentLookup::Value(value) if *value == arguments));
    }
}
