//! Reads the fields of a server's entry one after the other and collects everything that is wrong with them.
//! A field that is wrong has its default value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_mcp_wire::json::push_segment;
use gatehouse_mcp_wire::raw::WrittenMembers;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::problem::{ConfigProblem, MAX_PROBLEMS, ProblemKind, Wanted};
use super::spelling::suggest;

/// The problems that were found so far.
#[derive(Default)]
pub(super) struct EntryReader {
    problems: Vec<ConfigProblem>,
}

/// An object within an entry.
pub(super) struct EntryObject<'a> {
    /// JSON pointer to it within the entry.
    pointer: String,
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> EntryObject<'a> {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| &**name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    pub(super) fn pointer_to(&self, name: &str) -> String {
        let mut pointer = self.pointer.clone();
        push_segment(&mut pointer, name);
        pointer
    }
}

impl EntryReader {
    /// What was found.
    pub(super) fn into_problems(self) -> Vec<ConfigProblem> {
        self.problems
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Collects a problem, unless there are [`MAX_PROBLEMS`] already.
    pub(super) fn add(&mut self, problem: ConfigProblem) {
        if !self.is_full() {
            self.problems.push(problem);
        }
    }

    /// Whether no more problems are collected.
    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// The value of a result; its problem is collected.
    pub(super) fn noted<T>(&mut self, read: Result<T, ConfigProblem>) -> Option<T> {
        read.map_err(|problem| self.add(problem)).ok()
    }

    /// Says that a field is not what it has to be.
    pub(super) fn wrong(&mut self, object: &EntryObject<'_>, name: &str, wanted: Wanted) {
        self.add(ConfigProblem::at(object.pointer_to(name), ProblemKind::Wanted(wanted)));
    }

    /// Says that a field is missing.
    pub(super) fn missing(&mut self, object: &EntryObject<'_>, name: &'static str) {
        self.add(ConfigProblem::at(object.pointer_to(name), ProblemKind::Missing { name }));
    }

    pub(super) fn object<'a>(
        &mut self,
        raw: &'a RawValue,
        pointer: String,
        wanted: Wanted,
    ) -> Option<EntryObject<'a>> {
        match serde_json::from_str(raw.get()) {
            Ok(WrittenMembers(members)) => Some(EntryObject { pointer, members }),
            Err(_) => {
                self.add(ConfigProblem::at(pointer, ProblemKind::Wanted(wanted)));
                None
            }
        }
    }

    /// An object that may be absent or null.
    pub(super) fn part<'a>(
        &mut self,
        object: &EntryObject<'a>,
        name: &str,
        wanted: Wanted,
    ) -> Option<EntryObject<'a>> {
        let raw = object.get(name).filter(|raw| raw.get() != "null")?;
        self.object(raw, object.pointer_to(name), wanted)
    }

    /// Collects every member of an object within an entry that is not known.
    pub(super) fn only(&mut self, object: &EntryObject<'_>, known: &[&'static str]) {
        self.unknown(object, known, |name| ProblemKind::UnknownField {
            name: name.to_owned(),
            meant: suggest(name, known.iter().copied()),
        });
    }

    /// Collects every member of an object that is not known, with the problem that `kind` makes of its name.
    pub(super) fn unknown(
        &mut self,
        object: &EntryObject<'_>,
        known: &[&'static str],
        kind: impl Fn(&str) -> ProblemKind,
    ) {
        for name in object.names().filter(|name| !known.contains(name)) {
            if self.is_full() {
                return;
            }
            self.add(ConfigProblem::at_key(object.pointer_to(name), kind(name)));
        }
    }

    /// A value that may be absent.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        object: &EntryObject<'_>,
        name: &str,
        wanted: Wanted,
    ) -> Option<T> {
        let read = serde_json::from_str(object.get(name)?.get()).ok();
        if read.is_none() {
            self.wrong(object, name, wanted);
        }
        read
    }

    /// A text that may be absent or null.
    pub(super) fn text(&mut self, object: &EntryObject<'_>, name: &str) -> Option<String> {
        self.value::<Option<String>>(object, name, Wanted::Text).flatten()
    }

    /// A text that has to be there.
    pub(super) fn required_text(&mut self, object: &EntryObject<'_>, name: &'static str) -> String {
        if object.get(name).is_none() {
            self.missing(object, name);
        }
        self.value(object, name, Wanted::Text).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, object: &EntryObject<'_>, name: &str, usual: bool) -> bool {
        self.value(object, name, Wanted::Flag).unwrap_or(usual)
    }

    pub(super) fn list(&mut self, object: &EntryObject<'_>, name: &str, wanted: Wanted) -> Vec<String> {
        self.value(object, name, wanted).unwrap_or_default()
    }

    /// One of a few words; may be absent or null.
    pub(super) fn one_of<T: DeserializeOwned>(
        &mut self,
        object: &EntryObject<'_>,
        name: &str,
        words: &'static [&'static str],
    ) -> Option<T> {
        self.value::<Option<T>>(object, name, Wanted::OneOf(words)).flatten()
    }

    /// An object whose values are texts.
    pub(super) fn texts(&mut self, object: &EntryObject<'_>, name: &str) -> BTreeMap<String, String> {
        let Some(raw) = object.get(name) else { return BTreeMap::new() };
        let Some(part) = self.object(raw, object.pointer_to(name), Wanted::Texts) else {
            return BTreeMap::new();
        };
        let mut texts = BTreeMap::new();
        for (name, raw) in &part.members {
            match serde_json::from_str::<String>(raw.get()) {
                Ok(text) => {
                    texts.insert(name.clone().into_owned(), text);
                }
                Err(_) => self.wrong(&part, name, Wanted::Text),
            }
        }
        texts
    }
}
