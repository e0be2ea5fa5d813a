//! Conditions on arguments (PERM-5).
//!
//! A server may read an argument in another way than we do: another URL parser, a path that is resolved
//! later, a number that is rounded. So there are three answers, and whoever asks takes the third one
//! against the call: an allow needs [`Held::Yes`], a deny applies unless it is [`Held::No`].

use gatehouse_model::grant::{Condition, ConditionTest};
use globset::{GlobBuilder, GlobMatcher};
use url::{Host, Url};

use crate::json::{self, Json};

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
    Glob(Box<GlobMatcher>),
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
                steps(folder).map_or(Self::Broken, |_| Self::Inside(folder.as_str().into()))
            }
            ConditionTest::HostIs { host } => host_of(host).map_or(Self::Broken, Self::HostIs),
            ConditionTest::Glob { pattern } => {
                match GlobBuilder::new(pattern).literal_separator(true).build() {
                    Ok(glob) => Self::Glob(Box::new(glob.compile_matcher())),
                    Err(_) => Self::Broken,
                }
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
            Self::StartsWith(start) => starts_with(text, start),
            Self::Inside(folder) => inside(text, folder, resolve),
            Self::HostIs(host) => host_is(text, host),
            Self::Glob(glob) => with_plain_steps(text, glob.is_match(text)),
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

fn starts_with(text: &str, start: &str) -> Held {
    let Some(rest) = text.strip_prefix(start) else { return with_plain_steps(text, false) };
    // `https://good.example` is no start of `https://good.example.evil.example`.
    let ends_in_authority =
        start.split_once("://").is_some_and(|(_, authority)| !authority.contains(['/', '?', '#']));
    if ends_in_authority && !rest.is_empty() && !rest.starts_with(['/', '?', '#']) {
        return Held::Unknown;
    }
    with_plain_steps(text, true)
}

/// What a test on the text of a path or address says is worth nothing once a step leads back out.
fn with_plain_steps(text: &str, holds: bool) -> Held {
    let leads_back = text.split(['/', '\\', '?', '#']).any(|step| {
        let step = step.to_ascii_lowercase().replace("%2e", ".");
        step == ".."
    });
    match (leads_back, holds) {
        (true, _) => Held::Unknown,
        (false, true) => Held::Yes,
        (false, false) => Held::No,
    }
}

/// The steps of an absolute path; `None` when it is none, or one that still leads back.
fn steps(path: &str) -> Option<Vec<&str>> {
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    let path = if cfg!(windows) { path.strip_prefix(r"\\?\").unwrap_or(path) } else { path };
    let drive = cfg!(windows) && path.as_bytes().get(1) == Some(&b':');
    if !(drive || path.starts_with(separators)) || path.chars().any(char::is_control) {
        return None;
    }
    let steps: Vec<&str> = path.split(separators).filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") { None } else { Some(steps) }
}

/// Component by component, never as text: `/home/me` does not hold `/home/mean`.
///
/// For a yes the path has to be inside the folder as it is written in the condition, so that a folder
/// that becomes a link widens nothing; a folder that is itself reached by a link is merely not known.
fn inside(text: &str, folder: &str, resolve: ResolvePath<'_>) -> Held {
    if text.chars().any(char::is_control) {
        return Held::Unknown;
    }
    let Some(resolved) = resolve(text) else { return Held::Unknown };
    let (Some(path), Some(written)) = (steps(&resolved), steps(folder)) else { return Held::Unknown };
    if path.starts_with(&written) {
        return Held::Yes;
    }
    let linked = resolve(folder);
    match linked.as_deref().map(steps) {
        Some(Some(real)) if path.starts_with(&real) => Held::Unknown,
        Some(Some(_)) => Held::No,
        Some(None) | None => Held::Unknown,
    }
}

fn host_of(text: &str) -> Option<Host<String>> {
    let text = text.strip_suffix('.').unwrap_or(text);
    Host::parse(text).ok()
}

/// Parsers disagree about addresses, so a yes needs one that is written plainly: nothing before an
/// `@`, no backslash, no blanks, and the host to the letter as it stands in the condition.
fn host_is(text: &str, wanted: &Host<String>) -> Held {
    let odd = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    let Ok(url) = Url::parse(text) else { return Held::Unknown };
    if text.contains(odd) || !url.username().is_empty() || url.password().is_some() {
        return Held::Unknown;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Held::Unknown };
    let Some(host) = url.host_str().map(str::to_ascii_lowercase) else {
        return if scheme.eq_ignore_ascii_case("file") { Held::No } else { Held::Unknown };
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains(['@', '%']) {
        return Held::Unknown;
    }
    if host.strip_suffix('.').unwrap_or(&host) != wanted.to_string() {
        return Held::No;
    }
    let written =
        authority.strip_suffix(url.port().map_or_else(String::new, |port| format!(":{port}")).as_str());
    let written = written.unwrap_or(authority);
    let default_port = [":80", ":443", ":21"].iter().find_map(|port| written.strip_suffix(port));
    if default_port.unwrap_or(written).trim_end_matches(':').eq_ignore_ascii_case(&host) {
        Held::Yes
    } else {
        Held::Unknown
    }
}
