//! Conditions on arguments (PERM-5).
//!
//! A server may read an argument in another way than we do: another URL parser, a path that is resolved
//! later, a number that is rounded. So there are three answers, and whoever asks takes the third one
//! against the call: an allow needs [`Held::Yes`], a deny applies unless it is [`Held::No`].

use gatehouse_model::grant::{Condition, ConditionTest};

use crate::json::{self, Json};

pub(crate) mod host;
pub(crate) mod path;
pub(crate) mod spelling;

mod equal;
mod place;
mod text;

pub use path::readings as path_readings;
use place::{Found, Place};

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It does, however one reads it.
    Yes,
    /// It does not.
    No,
    /// It cannot be told, or readers may disagree.
    Unknown,
}

/// Most conditions of one rule.
pub const MOST_CONDITIONS: usize = 16;

/// Longest condition, in bytes of its pointer and its values: rules are compiled anew whenever one changes, and
/// tried for each call.
const LONGEST_CONDITION: usize = 4096;

/// Longest pattern, in bytes: what it is compiled to is many times as long.
const LONGEST_PATTERN: usize = 512;

/// Why a condition can never be known to hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionDefect {
    /// The pointer is none, or it leads to the arguments as a whole.
    #[error("{0:?} names no argument: write its name behind a slash, as in /path")]
    NoPlace(String),
    /// The value is no JSON.
    #[error("{0:?} is no JSON value")]
    NoValue(String),
    /// Nothing is said that has to hold.
    #[error("nothing is said that the argument has to be")]
    Nothing,
    /// The folder is no absolute path without `..`.
    #[error("{0:?} is no absolute path of a folder")]
    NoFolder(String),
    /// The host is none.
    #[error("{0:?} is no host name and no address")]
    NoHost(String),
    /// The pattern is none.
    #[error("{0:?} is no pattern")]
    NoPattern(String),
    /// It is too long.
    #[error("a condition has {LONGEST_CONDITION} bytes at most, and a pattern {LONGEST_PATTERN}")]
    TooLong,
}

/// Whether a condition can hold at all.
///
/// # Errors
/// Why not.
pub fn check(condition: &Condition) -> Result<(), ConditionDefect> {
    if is_too_long(condition) {
        return Err(ConditionDefect::TooLong);
    }
    if !Place::new(&condition.pointer).is_an_argument() {
        return Err(ConditionDefect::NoPlace(condition.pointer.clone()));
    }
    let (values, text) = match &condition.test {
        ConditionTest::Equals { value } => (std::slice::from_ref(value), value),
        ConditionTest::OneOf { values } => (&**values, values.first().ok_or(ConditionDefect::Nothing)?),
        ConditionTest::StartsWith { text }
        | ConditionTest::Inside { folder: text }
        | ConditionTest::HostIs { host: text, .. }
        | ConditionTest::Glob { pattern: text } => (&[][..], text),
    };
    if text.is_empty() {
        return Err(ConditionDefect::Nothing);
    }
    if let Some(value) = values.iter().find(|value| json::read(value).is_err()) {
        return Err(ConditionDefect::NoValue(value.clone()));
    }
    match (Test::new(&condition.test), &condition.test) {
        (Test::Broken, ConditionTest::Inside { .. }) => Err(ConditionDefect::NoFolder(text.clone())),
        (Test::Broken, ConditionTest::HostIs { .. }) => Err(ConditionDefect::NoHost(text.clone())),
        (Test::Broken, _) => Err(ConditionDefect::NoPattern(text.clone())),
        _ => Ok(()),
    }
}

fn is_too_long(condition: &Condition) -> bool {
    let length = match &condition.test {
        ConditionTest::Equals { value: text }
        | ConditionTest::StartsWith { text }
        | ConditionTest::Inside { folder: text }
        | ConditionTest::HostIs { host: text, .. } => text.len(),
        ConditionTest::OneOf { values } => values.iter().map(|value| value.len() + 1).sum(),
        ConditionTest::Glob { pattern } if pattern.len() > LONGEST_PATTERN => return true,
        ConditionTest::Glob { pattern } => pattern.len(),
    };
    condition.pointer.len().saturating_add(length) > LONGEST_CONDITION
}

/// Turns a path into the absolute one that it leads to. Looking that up takes time and may hang, so callers look
/// up what [`Conditions::paths`] and [`Conditions::folders`] name beforehand.
pub type ResolvePath<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Conditions made ready to be tried often.
#[derive(Debug)]
pub struct Conditions(Vec<Ready>);

#[derive(Debug)]
struct Ready {
    place: Place,
    test: Test,
}

#[derive(Debug)]
enum Test {
    OneOf(Vec<Json>),
    StartsWith(Box<str>),
    Inside(Box<str>),
    HostIs(host::Wanted),
    Glob(Box<text::Pattern>),
    /// The condition itself cannot be read.
    Broken,
}

impl Conditions {
    /// Makes conditions ready. One that cannot be read is kept and never known to hold.
    #[must_use]
    pub fn new(conditions: &[Condition]) -> Self {
        let ready = |condition: &Condition| Ready {
            place: Place::new(&condition.pointer),
            test: Test::new(&condition.test),
        };
        Self(conditions.iter().map(ready).collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any of them is about where a path leads.
    #[must_use]
    pub fn need_paths(&self) -> bool {
        self.folders().next().is_some()
    }

    /// The paths in these arguments that have to be resolved before [`Self::hold`] can say yes.
    #[must_use]
    pub fn paths(&self, arguments: &Json) -> Vec<String> {
        self.0.iter().flat_map(|condition| condition.paths(arguments)).collect()
    }

    /// The folders that have to be resolved too before it can say no: without them it says unknown instead.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|condition| match &condition.test {
            Test::Inside(folder) => Some(&**folder),
            Test::OneOf(_) | Test::StartsWith(_) | Test::HostIs(_) | Test::Glob(_) | Test::Broken => None,
        })
    }

    /// Whether all of them hold for these arguments.
    #[must_use]
    pub fn hold(&self, arguments: &Json, resolve: ResolvePath<'_>) -> Held {
        let mut all = Held::Yes;
        for condition in &self.0 {
            match condition.holds(arguments, resolve) {
                Held::Yes => {}
                Held::No => return Held::No,
                Held::Unknown => all = Held::Unknown,
            }
        }
        all
    }
}

impl Ready {
    fn holds(&self, arguments: &Json, resolve: ResolvePath<'_>) -> Held {
        if matches!(self.test, Test::Broken) {
            return Held::Unknown;
        }
        match self.place.find(arguments) {
            Found::Value(value) => self.test.holds(value, resolve),
            Found::Nothing => Held::No,
            Found::Doubtful => Held::Unknown,
        }
    }

    fn paths(&self, arguments: &Json) -> Vec<String> {
        if !matches!(self.test, Test::Inside(_)) {
            return Vec::new();
        }
        match self.place.find(arguments) {
            Found::Value(value) => value.as_str().map(path::readings).unwrap_or_default(),
            Found::Nothing | Found::Doubtful => Vec::new(),
        }
    }
}

impl Test {
    fn new(test: &ConditionTest) -> Self {
        match test {
            ConditionTest::Equals { value } => Self::one_of(std::slice::from_ref(value)),
            ConditionTest::OneOf { values } => Self::one_of(values),
            ConditionTest::StartsWith { text } => Self::StartsWith(text.as_str().into()),
            ConditionTest::Inside { folder } => {
                if path::is_folder(folder) {
                    Self::Inside(folder.as_str().into())
                } else {
                    Self::Broken
                }
            }
            ConditionTest::HostIs { host, port } => {
                host::Wanted::new(host, *port).map_or(Self::Broken, Self::HostIs)
            }
            ConditionTest::Glob { pattern } => {
                text::Pattern::read(pattern).map_or(Self::Broken, |pattern| Self::Glob(Box::new(pattern)))
            }
        }
    }

    fn one_of(values: &[String]) -> Self {
        values
            .iter()
            .map(|value| json::read(value))
            .collect::<Result<_, _>>()
            .map_or(Self::Broken, Self::OneOf)
    }

    fn holds(&self, value: &Json, resolve: ResolvePath<'_>) -> Held {
        if let Self::OneOf(wanted) = self {
            return equal::is_one_of(value, wanted);
        }
        // A list or a number where text was expected: what the server makes of it is its own affair.
        let Some(text) = value.as_str() else { return Held::Unknown };
        match self {
            Self::StartsWith(start) => text::starts_with(text, start),
            Self::Inside(folder) => path::inside(text, folder, resolve),
            Self::HostIs(host) => host::host_is(text, host),
            Self::Glob(pattern) => pattern.holds(text),
            Self::OneOf(_) | Self::Broken => Held::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_hold_is_said() {
        let text = |text: &str| text.to_owned();
        let is = |value: &str| ConditionTest::Equals { value: text(value) };
        let host = |host: &str| ConditionTest::HostIs { host: text(host), port: None };
        for (pointer, test, defect) in [
            ("/a", is("1"), None),
            ("/a/0/b~1c", host("good.example"), None),
            ("/a", host("[::1]"), None),
            ("/a", ConditionTest::Inside { folder: text("/home/me") }, None),
            ("/a", ConditionTest::Glob { pattern: text("*.txt") }, None),
            ("/a", ConditionTest::OneOf { values: vec![text("1"), text("\"b\"")] }, None),
            ("a", is("1"), Some(ConditionDefect::NoPlace(text("a")))),
            ("", is("1"), Some(ConditionDefect::NoPlace(text("")))),
            ("/a~2", is("1"), Some(ConditionDefect::NoPlace(text("/a~2")))),
            ("/a", is("main"), Some(ConditionDefect::NoValue(text("main")))),
            ("/a", ConditionTest::OneOf { values: vec![] }, Some(ConditionDefect::Nothing)),
            ("/a", is(&"1".repeat(4094)), None),
            ("/a", is(&"1".repeat(4095)), Some(ConditionDefect::TooLong)),
            ("/a", ConditionTest::OneOf { values: vec![text("1"); 2048] }, Some(ConditionDefect::TooLong)),
            ("/a", ConditionTest::Glob { pattern: "x".repeat(512) }, None),
            ("/a", ConditionTest::Glob { pattern: "x".repeat(513) }, Some(ConditionDefect::TooLong)),
            (
                "/a",
                ConditionTest::OneOf { values: vec![text("1"), text("x")] },
                Some(ConditionDefect::NoValue(text("x"))),
            ),
            ("/a", ConditionTest::StartsWith { text: text("") }, Some(ConditionDefect::Nothing)),
            (
                "/a",
                ConditionTest::Inside { folder: text("notes") },
                Some(ConditionDefect::NoFolder(text("notes"))),
            ),
            (
                "/a",
                ConditionTest::Inside { folder: text("/a/../b") },
                Some(ConditionDefect::NoFolder(text("/a/../b"))),
            ),
            (
                "/a",
                host("https://good.example/"),
                Some(ConditionDefect::NoHost(text("https://good.example/"))),
            ),
            ("/a", ConditionTest::Glob { pattern: text("[a") }, Some(ConditionDefect::NoPattern(text("[a")))),
        ] {
            let condition = Condition { pointer: text(pointer), test };
            assert_eq!(check(&condition).err(), defect, "{condition:?}");
        }
    }
}
