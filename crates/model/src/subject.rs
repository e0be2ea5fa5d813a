//! What a call is about, and its name in rules.
//!
//! Rules are stored with the rule name, a text in which all kinds share one name space. Only this module makes and
//! parses it; everything else compares [`Subject`] and [`SubjectRef`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a call is about (PERM-18).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Subject {
    /// `tools/call`
    Tool {
        /// Name on the server.
        name: String,
    },
    /// `resources/read` and `resources/subscribe`
    Resource { uri: String },
    /// `prompts/get`
    Prompt {
        /// Name on the server.
        name: String,
    },
    /// `completion/complete`
    Completion {
        /// The prompt's name or the resource template's URI.
        reference: String,
    },
    /// A request that the protocol doesn't have.
    Request {
        /// Its JSON-RPC method.
        method: String,
    },
}

/// A [`Subject`] whose name is borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubjectRef<'a> {
    /// Name on the server.
    Tool(&'a str),
    /// The URI.
    Resource(&'a str),
    /// Name on the server.
    Prompt(&'a str),
    /// The prompt's name or the resource template's URI.
    Completion(&'a str),
    /// The JSON-RPC method.
    Request(&'a str),
}

impl Subject {
    pub fn borrowed(&self) -> SubjectRef<'_> {
        match self {
            Self::Tool { name } => SubjectRef::Tool(name),
            Self::Resource { uri } => SubjectRef::Resource(uri),
            Self::Prompt { name } => SubjectRef::Prompt(name),
            Self::Completion { reference } => SubjectRef::Completion(reference),
            Self::Request { method } => SubjectRef::Request(method),
        }
    }

    /// See [`SubjectRef::rule_name`].
    pub fn rule_name(&self) -> Cow<'_, str> {
        self.borrowed().rule_name()
    }

    /// See [`SubjectRef::from_rule_name`].
    #[must_use]
    pub fn from_rule_name(name: &str) -> Self {
        SubjectRef::from_rule_name(name).to_subject()
    }
}

impl<'a> SubjectRef<'a> {
    #[must_use]
    pub fn to_subject(self) -> Subject {
        match self {
            Self::Tool(name) => Subject::Tool { name: name.to_owned() },
            Self::Resource(uri) => Subject::Resource { uri: uri.to_owned() },
            Self::Prompt(name) => Subject::Prompt { name: name.to_owned() },
            Self::Completion(reference) => Subject::Completion { reference: reference.to_owned() },
            Self::Request(method) => Subject::Request { method: method.to_owned() },
        }
    }

    /// The name that rules use: a tool's own name, else kind, colon and name or URI. A tool that is called like
    /// another kind (`resource:x`) shares that kind's rule name. So rules are compared by rule name: a deny of
    /// either covers both, and an allow covers only the one whose definition it has pinned.
    pub fn rule_name(self) -> Cow<'a, str> {
        match self {
            Self::Tool(name) => name.into(),
            Self::Resource(uri) => format!("resource:{uri}").into(),
            Self::Prompt(name) => format!("prompt:{name}").into(),
            Self::Completion(reference) => format!("completion:{reference}").into(),
            Self::Request(method) => format!("request:{method}").into(),
        }
    }

    /// The name that calls are counted and filtered by: the rule name of a tool or prompt. Of the others, whose names
    /// clients make up, only the kind and a colon.
    pub fn group_name(self) -> Cow<'a, str> {
        match self {
            Self::Tool(_) | Self::Prompt(_) => self.rule_name(),
            Self::Resource(_) => "resource:".into(),
            Self::Completion(_) => "completion:".into(),
            Self::Request(_) => "request:".into(),
        }
    }

    /// The subject with this rule name; never a tool that is called like another kind.
    #[must_use]
    pub fn from_rule_name(name: &'a str) -> Self {
        match name.split_once(':') {
            Some(("resource", uri)) => Self::Resource(uri),
            Some(("prompt", name)) => Self::Prompt(name),
            Some(("completion", reference)) => Self::Completion(reference),
            Some(("request", method)) => Self::Request(method),
            _ => Self::Tool(name),
        }
    }
}

/// Serializes a [`Subject`] as its rule name, for `#[serde(with)]`.
pub mod as_rule_name {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Subject;

    /// Writes the rule name.
    pub fn serialize<S: Serializer>(subject: &Subject, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&subject.rule_name())
    }

    /// Reads a rule name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Subject, D::Error> {
        String::deserialize(deserializer).map(|name| Subject::from_rule_name(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Scope;

    /// Subjects and the names that rules of all versions are stored with.
    const RULE_NAMES: [(SubjectRef<'static>, &str); 9] = [
        (SubjectRef::Tool("read_file"), "read_file"),
        (SubjectRef::Tool("a:b"), "a:b"),
        (SubjectRef::Tool("tool:a"), "tool:a"),
        (SubjectRef::Tool(""), ""),
        (SubjectRef::Resource("file:///a"), "resource:file:///a"),
        (SubjectRef::Prompt("review"), "prompt:review"),
        (SubjectRef::Completion("notes://{id}"), "completion:notes://{id}"),
        (SubjectRef::Resource("tool:a"), "resource:tool:a"),
        (SubjectRef::Request("vendor/move"), "request:vendor/move"),
    ];

    #[test]
    fn stored_rules_keep_their_form() {
        for (subject, name) in RULE_NAMES {
            let scope = Scope::Tool { tool: subject.to_subject() };
            let stored = serde_json::json!({ "width": "tool", "tool": name });
            assert_eq!(serde_json::to_value(&scope).unwrap(), stored);
            assert_eq!(serde_json::from_value::<Scope>(stored).unwrap(), scope);
        }
    }

    #[test]
    fn groups_what_clients_name_by_kind() {
        for (subject, name) in RULE_NAMES {
            let group = match subject {
                SubjectRef::Tool(_) | SubjectRef::Prompt(_) => name,
                SubjectRef::Resource(_) => "resource:",
                SubjectRef::Completion(_) => "completion:",
                SubjectRef::Request(_) => "request:",
            };
            assert_eq!(subject.group_name(), group);
        }
    }

    #[test]
    fn tool_called_like_another_kind_shares_its_rule_name() {
        for name in ["resource:a", "prompt:a", "completion:a"] {
            assert_eq!(SubjectRef::Tool(name).rule_name(), name);
            assert_ne!(SubjectRef::from_rule_name(name), SubjectRef::Tool(name));
            assert_eq!(SubjectRef::from_rule_name(name).rule_name(), name);
        }
    }
}
