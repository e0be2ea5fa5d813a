//! Conditions on arguments (PERM-5).
//!
//! A server may interpret an argument differently than Gatehouse does: another URL parser, a path that is
//! resolved later, a number that is rounded. So the result has three values, and callers must treat the third
//! as unfavourable to the call: an allow needs [`ConditionOutcome::Yes`], a deny applies unless the result is
//! [`ConditionOutcome::No`].

use gatehouse_model::grant::{Condition, ConditionTest};

use crate::json::{self, Json};

pub(crate) mod host;
pub(crate) mod name_folding;
pub(crate) mod path;

mod argument_path;
mod equality;
mod text;

use argument_path::{ArgumentLookup, ArgumentPath};
pub use path::readings as path_readings;

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionOutcome {
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

/// Checks that a condition is well-formed, so that it can hold at all. The value of a kind of condition that has no
/// defect of its own below is called an invalid pattern.
///
/// # Errors
/// The defect, if it isn't.
pub fn validate(condition: &Condition) -> Result<(), ConditionDefect> {
    if is_too_long(condition) {
        return Err(ConditionDefect::TooLong);
    }
    if !ArgumentPath::new(&condition.pointer).names_an_argument() {
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
    match (PreparedTest::new(&condition.test), &condition.test) {
        (PreparedTest::Broken, ConditionTest::Inside { .. }) => Err(ConditionDefect::NoFolder(text.clone())),
        (PreparedTest::Broken, ConditionTest::HostIs { .. }) => Err(ConditionDefect::NoHost(text.clone())),
        (PreparedTest::Broken, _) => Err(ConditionDefect::NoPattern(text.clone())),
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
pub struct Conditions(Vec<PreparedCondition>);

#[derive(Debug)]
struct PreparedCondition {
    place: ArgumentPath,
    test: PreparedTest,
}

#[derive(Debug)]
enum PreparedTest {
    OneOf(Vec<Json>),
    StartsWith(Box<str>),
    Inside(Box<str>),
    HostIs(host::HostCondition),
    Glob(Box<text::GlobPattern>),
    /// The condition is invalid.
    Broken,
}

impl Conditions {
    /// Parses conditions. An invalid one is kept and evaluates to [`ConditionOutcome::Unknown`].
    #[must_use]
    pub fn new(conditions: &[Condition]) -> Self {
        let prepare = |condition: &Condition| PreparedCondition {
            place: ArgumentPath::new(&condition.pointer),
            test: PreparedTest::new(&condition.test),
        };
        Self(conditions.iter().map(prepare).collect())
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

    /// The paths in these arguments that must be resolved before [`Self::evaluate`] can return [`ConditionOutcome::Yes`].
    #[must_use]
    pub fn paths(&self, arguments: &Json) -> Vec<String> {
        self.0.iter().flat_map(|condition| condition.paths(arguments)).collect()
    }

    /// The folders that must be resolved before [`Self::evaluate`] can return [`ConditionOutcome::No`]; otherwise it returns
    /// `Unknown`.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|condition| match &condition.test {
            PreparedTest::Inside(folder) => Some(&**folder),
            PreparedTest::OneOf(_)
            | PreparedTest::StartsWith(_)
            | PreparedTest::HostIs(_)
            | PreparedTest::Glob(_)
            | PreparedTest::Broken => None,
        })
    }

    /// Whether all conditions hold for these arguments.
    #[must_use]
    pub fn evaluate(&self, arguments: &Json, resolve: ResolvePath<'_>) -> ConditionOutcome {
        let mut all = ConditionOutcome::Yes;
        for condition in &self.0 {
            match condition.evaluate(arguments, resolve) {
                ConditionOutcome::Yes => {}
                ConditionOutcome::No => return ConditionOutcome::No,
                ConditionOutcome::Unknown => all = ConditionOutcome::Unknown,
            }
        }
        all
    }
}

impl PreparedCondition {
    fn evaluate(&self, arguments: &Json, resolve: ResolvePath<'_>) -> ConditionOutcome {
        if matches!(self.test, PreparedTest::Broken) {
            return ConditionOutcome::Unknown;
        }
        match self.place.find(arguments) {
            ArgumentLookup::Value(value) => self.test.evaluate(value, resolve),
            ArgumentLookup::Nothing => ConditionOutcome::No,
            ArgumentLookup::Ambiguous => ConditionOutcome::Unknown,
        }
    }

    fn paths(&self, arguments: &Json) -> Vec<String> {
        if !matches!(self.test, PreparedTest::Inside(_)) {
            return Vec::new();
        }
        match self.place.find(arguments) {
            ArgumentLookup::Value(value) => value.as_str().map(path::readings).unwrap_or_default(),
            ArgumentLookup::Nothing | ArgumentLookup::Ambiguous => Vec::new(),
        }
    }
}

impl PreparedTest {
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
                host::HostCondition::new(host, *port).map_or(Self::Broken, Self::HostIs)
            }
            ConditionTest::Glob { pattern } => {
                text::GlobPattern::read(pattern).map_or(Self::Broken, |pattern| Self::Glob(Box::new(pattern)))
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

    fn evaluate(&self, value: &Json, resolve: ResolvePath<'_>) -> ConditionOutcome {
        if let Self::OneOf(wanted) = self {
            return equality::match_one_of(value, wanted);
        }
        // A list or a number instead of text: how the server interprets it is unknown.
        let Some(text) = value.as_str() else { return ConditionOutcome::Unknown };
        match self {
            Self::StartsWith(start) => text::starts_with(text, start),
            Self::Inside(folder) => path::match_inside(text, folder, resolve),
            Self::HostIs(host) => host::match_host(text, host),
            Self::Glob(pattern) => pattern.evaluate(text),
            Self::OneOf(_) | Self::Broken => ConditionOutcome::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_conditions_that_can_never_hold() {
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
            assert_eq!(validate(&condition).err(), defect, "{condition:?}");
        }
    }
}
