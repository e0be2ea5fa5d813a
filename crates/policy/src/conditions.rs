//! Conditions on arguments (PERM-5).
//!
//! A server may read an argument in another way than we do: another URL parser, a path that is resolved
//! later, a number that is rounded. So there are three answers, and whoever asks takes the third one
//! against the call: an allow needs [`Held::Yes`], a deny applies unless it is [`Held::No`].

use gatehouse_model::grant::{Condition, ConditionTest};
use url::Host;

use crate::json::{self, Json};

mod host;
mod path;
mod text;

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

/// Turns a path into the absolute one that it leads to.
pub type ResolvePath<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Conditions made ready to be tried often.
#[derive(Debug)]
pub struct Conditions(Vec<Ready>);

#[derive(Debug)]
struct Ready {
    pointer: Box<str>,
    test: Test,
}

#[derive(Debug)]
enum Test {
    OneOf(Vec<Json>),
    StartsWith(Box<str>),
    Inside(Box<str>),
    HostIs(Host<String>),
    Glob(Box<text::Pattern>),
    /// The condition itself cannot be read.
    Broken,
}

impl Conditions {
    /// Makes conditions ready. One that cannot be read is kept and never known to hold.
    #[must_use]
    pub fn new(conditions: &[Condition]) -> Self {
        let ready = |condition: &Condition| Ready {
            pointer: condition.pointer.as_str().into(),
            test: Test::new(&condition.test),
        };
        Self(conditions.iter().map(ready).collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        match arguments.pointer(&self.pointer) {
            Some(value) => self.test.holds(value, resolve),
            None => Held::No,
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
            ConditionTest::HostIs { host } => host::read(host).map_or(Self::Broken, Self::HostIs),
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
            return is_one_of(value, wanted);
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

fn is_one_of(value: &Json, wanted: &[Json]) -> Held {
    let canonical = value.canonical();
    if wanted.iter().any(|wanted| wanted.canonical() == canonical) {
        Held::Yes
    } else if wanted.iter().any(|wanted| may_be_equal(value, wanted)) {
        Held::Unknown
    } else {
        Held::No
    }
}

/// Equal for a reader who keeps numbers in floating point.
fn may_be_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => true,
        },
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| may_be_equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.iter().any(|(other, b)| name == other && may_be_equal(a, b)))
        }
        (a, b) => a == b,
    }
}
