//! Reads the JSON text that a person edits: an object with one server. Every problem has its place in the
//! text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use gatehouse_mcp_wire::json::{self, JsonDefect, push_segment, unescape_segment};
use gatehouse_mcp_wire::raw::{self, WrittenMembers};
use gatehouse_model::server::ServerDraft;
use gatehouse_model::server_problem::{ServerProblem, TextSpan};
use serde_json::value::RawValue;

use super::entry::{self, defect_problem};
use super::problem::{ConfigProblem, ProblemKind, ProblemPlace, SettingsView};

/// A text that was read as the entry of one server.
pub struct EntryText<'a> {
    text: &'a str,
    /// JSON pointer to the entry within the text; empty if there is none.
    entry: String,
}

impl<'a> EntryText<'a> {
    /// Reads the text. What the name and the secrets have to meet is not checked.
    ///
    /// # Errors
    /// Everything that is wrong with it; at least one problem.
    pub fn read(text: &'a str) -> (Self, Result<ServerDraft, Vec<ConfigProblem>>) {
        let mut read = Self { text, entry: String::new() };
        let draft = read.read_draft();
        (read, draft)
    }

    fn read_draft(&mut self) -> Result<ServerDraft, Vec<ConfigProblem>> {
        let not_one = || vec![ConfigProblem::at("", ProblemKind::NotOneServer)];
        match json::read(self.text) {
            Ok(_) => {}
            Err(JsonDefect::Malformed { .. }) => {
                return Err(vec![ConfigProblem::at("", ProblemKind::Broken)]);
            }
            Err(defect) => return Err(vec![defect_problem(defect)]),
        }
        let WrittenMembers(members) = serde_json::from_str(self.text).map_err(|_| not_one())?;
        let [(name, raw)] = members.as_slice() else { return Err(not_one()) };
        if !raw.get().starts_with('{') {
            return Err(not_one());
        }
        push_segment(&mut self.entry, name);
        Ok(entry::read(raw)?.into_draft(name.clone()))
    }

    /// The problems as the window shows them, each with its place in the text.
    #[must_use]
    pub fn to_views(&self, problems: &[ConfigProblem]) -> Vec<ServerProblem> {
        let mut parsed = ParsedText::new(self.text);
        let ranges: Vec<Range<usize>> =
            problems.iter().map(|problem| self.range(problem, &mut parsed)).collect();
        let units = utf16_offsets(self.text, ranges.iter().flat_map(|range| [range.start, range.end]));
        let unit = |byte: &usize| units.get(byte).copied().unwrap_or_default();
        let views = problems.iter().zip(&ranges).map(|(problem, range)| {
            let span = TextSpan { from: unit(&range.start), to: unit(&range.end) };
            ServerProblem { span: Some(span), ..problem.to_view(SettingsView::Json) }
        });
        views.collect()
    }

    /// The bytes that a problem is about; all of them where its place is not in the text.
    fn range(&self, problem: &ConfigProblem, parsed: &mut ParsedText<'_>) -> Range<usize> {
        if problem.kind == ProblemKind::Broken {
            return self.broken_from()..self.text.len();
        }
        parsed.range(&self.entry, &problem.place).unwrap_or(0..self.text.len())
    }

    /// The byte at which the text ceases to be JSON.
    fn broken_from(&self) -> usize {
        match json::read(self.text) {
            Err(JsonDefect::Malformed { offset }) => offset.min(self.text.len().saturating_sub(1)),
            _ => 0,
        }
    }
}

/// Byte offsets of a text in UTF-16 code units. An offset within a character counts as its start.
fn utf16_offsets(text: &str, offsets: impl Iterator<Item = usize>) -> BTreeMap<usize, u32> {
    let wanted: BTreeSet<usize> = offsets.collect();
    let (mut from, mut units) = (0, 0_usize);
    let offset = |byte: usize| {
        let to = (from..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(from);
        units += text[from..to].encode_utf16().count();
        from = to;
        (byte, u32::try_from(units).unwrap_or(u32::MAX))
    };
    wanted.into_iter().map(offset).collect()
}

/// A text with its objects and arrays, each of which is read once, when something in it is looked for.
struct ParsedText<'a> {
    text: &'a str,
    /// The whole value, unless the text is not JSON.
    whole: Option<&'a RawValue>,
    /// Members and items of values, by the byte at which the value begins.
    children: HashMap<usize, Vec<TextMember<'a>>>,
}

impl<'a> ParsedText<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, whole: serde_json::from_str(text).ok(), children: HashMap::new() }
    }

    fn children(&mut self, value: &'a RawValue) -> &[TextMember<'a>] {
        let text = self.text;
        let start = raw::place(text, value.get()).start;
        self.children.entry(start).or_insert_with(|| children(text, value))
    }

    /// The bytes of a place, whose pointer begins at the value that `entry` points to. Where a field is
    /// absent, the name of what it is missing in.
    fn range(&mut self, entry: &str, place: &ProblemPlace) -> Option<Range<usize>> {
        let whole = self.whole?;
        let value = raw::place(self.text, whole.get());
        let mut at = TextMember { name: Cow::Borrowed(""), key: value, raw: whole };
        let is_repeated = matches!(place, ProblemPlace::Repeated(_));
        let within = match place {
            ProblemPlace::ServerName => "",
            other => other.pointer(),
        };
        let pointer = format!("{entry}{within}");
        let mut segments = pointer.split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            let name = unescape_segment(segment)?;
            let nth = usize::from(is_repeated && segments.peek().is_none());
            match self.children(at.raw).iter().filter(|child| child.name == name).nth(nth) {
                Some(child) => at = child.clone(),
                None => return Some(at.key),
            }
        }
        match place {
            ProblemPlace::Value(_) => Some(raw::place(self.text, at.raw.get())),
            ProblemPlace::ServerName | ProblemPlace::Key(_) | ProblemPlace::Repeated(_) => Some(at.key),
        }
    }
}

/// A member of an object or an item of an array within a text.
#[derive(Clone)]
struct TextMember<'a> {
    /// Name or index.
    name: Cow<'a, str>,
    /// Bytes of the name with its quotes; of the value for an item.
    key: Range<usize>,
    raw: &'a RawValue,
}

/// The members or items of a value that was borrowed from the text.
fn children<'a>(text: &str, value: &'a RawValue) -> Vec<TextMember<'a>> {
    if let Ok(WrittenMembers(members)) = serde_json::from_str(value.get()) {
        // Between one value and the next there are only white space, a comma, the name and a colon.
        let mut end = raw::place(text, value.get()).start;
        let members = members.into_iter().map(|(name, raw)| {
            let place = raw::place(text, raw.get());
            let between = text.get(end..place.start).unwrap_or_default();
            let (first, last) = (between.find('"').unwrap_or(0), between.rfind('"').map_or(0, |at| at + 1));
            let key = end + first..end + last;
            end = place.end;
            TextMember { name, key, raw }
        });
        return members.collect();
    }
    let items: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
    let item = |(index, raw): (usize, &'a RawValue)| TextMember {
        name: Cow::Owned(index.to_string()),
        key: raw::place(text, raw.get()),
        raw,
    };
    items.into_iter().enumerate().map(item).collect()
}
