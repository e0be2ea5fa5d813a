//! Conditions on arguments (PERM-5).
//!
//! A server may interpret an argument differently than Gatehouse does: another URL parser, a path that is
//! resolved later, a number that is rounded. So the result has three values, and callers must treat the third
//! as unfavourable to the call: an allow needs [`Held::Yes`], a deny applies unless the result is
//! [`Held::No`].

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

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It holds under every interpretation.
    Yes,
    /// It doesn't hold under any interpretation.
    No,
    /// It can't be determined, or interpretations differ.
    Unknown,
}

/// Maximum number of conditions of one rule.
pub const MOST_CONDITIONS: usize = 16;

/// Maximum length of a condition, in bytes of its pointer and values: all rules are compiled again when one changes,
/// and evaluated for each call.
const LONGEST_CONDITION: usize = 4096;

/// Maximum length of a glob pattern, in bytes: its compiled form is many times as large.
const LONGEST_PATTERN: usize = 512;

/// Why a condition is invalid and can never hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionDefect {
    /// Not a valid JSON Pointer, or it points to the arguments as a whole.
    #[error("{0:?} names no argument: write its name behind a slash, as in /path")]
    NoPlace(String),
    /// The value isn't valid JSON.
    #[error("{0:?} is no JSON value")]
    NoValue(String),
    /// The value, text or list of values is empty.
    #[error("nothing is said that the argument has to be")]
    Nothing,
    /// The folder isn't an absolute path without `..`.
    #[error("{0:?} is no absolute path of a folder")]
    NoFolder(String),
    /// Not a valid host.
    #[error("{0:?} is no host name and no address")]
    NoHost(String),
    /// Not a valid glob pattern.
    #[error("{0:?} is no pattern")]
    NoPattern(String),
    /// The pointer and values together, or a pattern, are too long.
    #[error("a condition has {LONGEST_CONDITION} bytes at most, and a pattern {LONGEST_PATTERN}")]
    TooLong,
}

/// Checks that a condition is well-formed, so that it can hold at all.
///
/// # Errors
/// The defect, if it isn't.
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

/// Resolves a path to the absolute path that it leads to. A file system look-up takes time and may hang, so
/// callers look up the paths in [`Conditions::paths`] and [`Conditions::folders`] beforehand.
pub type ResolvePath<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Conditions of one rule, parsed once and evaluated many times.
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
    /// The condition is invalid.
    Broken,
}

impl Conditions {
    /// Parses conditions. An invalid one is kept and evaluates to [`Held::Unknown`].
    #[must_use]
    pub fn new(conditions: &[Condition]) -> Self {
        let ready = |condition: &Condition| Ready {
            place: Place::new(&condition.pointer),
            test: Test::new(&condition.test),
        };
        Self(conditions.iter().map(ready).collect())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any condition depends on resolved paths.
    #[must_use]
    pub fn need_paths(&self) -> bool {
        self.folders().next().is_some()
    }

    /// The paths in these arguments that must be resolved before [`Self::hold`] can return [`Held::Yes`].
    #[must_use]
    pub fn paths(&self, arguments: &Json) -> Vec<String> {
        self.0.iter().flat_map(|condition| condition.paths(arguments)).collect()
    }

    /// The folders that must be resolved before [`Self::hold`] can return [`Held::No`]; otherwise it returns
    /// `Unknown`.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|condition| match &condition.test {
            Test::Inside(folder) => Some(&**folder),
            Test::OneOf(_) | Test::StartsWith(_) | Test::HostIs(_) | Test::Glob(_) | Test::Broken => None,
        })
    }

    /// Whether all conditions hold for these arguments.
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
        // A list or a number instead of text: how the server interprets it is unknown.
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
