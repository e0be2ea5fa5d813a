//! The types of JSON Schema.

use gatehouse_mcp_wire::json::Json;

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    pub(super) const STRING: Self = Self(1);
    pub(super) const NUMBER: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const BOOLEAN: Self = Self(8);
    pub(super) const OBJECT: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const NULL: Self = Self(64);
    pub(super) const NUMERIC: Self = Self(2 | 4);
    pub(super) const NONE: Self = Self(0);

    const NAMED: [(Self, &'static str); 7] = [
        (Self::STRING, "string"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::BOOLEAN, "boolean"),
        (Self::OBJECT, "object"),
        (Self::ARRAY, "array"),
        (Self::NULL, "null"),
    ];

    /// The value of `type`; `None` if it has something else than types.
    pub(super) fn of_keyword(value: &Json) -> Option<Self> {
        match value {
            Json::String(name) => Self::named(name),
            Json::Array(names) if !names.is_empty() => {
                names.iter().try_fold(Self::NONE, |all, name| Some(all.union(Self::named(name.as_str()?)?)))
            }
            _ => None,
        }
    }

    /// The type of a value.
    pub(super) fn of_value(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(text) if text.contains(['.', 'e', 'E']) => Self::NUMBER,
            Json::Number(_) => Self::INTEGER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(one, _)| *one)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The types that are in both; a number can be an integer.
    pub(super) fn intersection(self, other: Self) -> Self {
        let widened = |set: Self| if set.has(Self::NUMBER) { set.union(Self::INTEGER) } else { set };
        let both = widened(self).0 & widened(other).0;
        let both = Self(both);
        // Where both had all numbers, the integers aren't needed.
        if both.has(Self::NUMBER) && !self.has(Self::INTEGER) && !other.has(Self::INTEGER) {
            both.without(Self::INTEGER)
        } else {
            both
        }
    }

    /// Whether any of these types is in the set.
    pub(super) fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Each type of the set.
    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        Self::NAMED.into_iter().map(|(one, _)| one).filter(move |one| self.has(*one))
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMED.into_iter().filter(move |(one, _)| self.has(*one)).map(|(_, name)| name)
    }
}
