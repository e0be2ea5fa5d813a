//! Localised texts of the core, the command line and the desktop shell: their catalogs in `locales/`, and how a
//! message becomes a text. The UI renders the same templates in the same way
//! (`ui/src/messages/render.ts`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use crate::language::Language;
use crate::message::{Message, MessageParam};
use crate::message_format::{Value, format};
use crate::time::Timestamp;

#[cfg(test)]
mod usage;

/// Templates by key, in ICU MessageFormat.
pub type Catalog = BTreeMap<String, String>;

/// Key of the separator between the messages of a list.
pub const AND: &str = "list.and";

/// Key of the template for a sentence after another one: what stands between its places stands between sentences.
pub const NEXT_SENTENCE: &str = "list.sentences";

/// How many messages may be nested; what is nested deeper is not rendered.
const MAX_DEPTH: u32 = 16;

/// Stands for a message that is nested too deeply.
const LEFT_OUT: &str = "…";

/// The catalogs of one language that hold messages of the core.
macro_rules! catalog {
    ($folder:literal) => {
        read(&[
            include_str!(concat!("../../../locales/", $folder, "/errors.json")),
            include_str!(concat!("../../../locales/", $folder, "/appErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/ask.json")),
            include_str!(concat!("../../../locales/", $folder, "/audit.json")),
            include_str!(concat!("../../../locales/", $folder, "/authErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/bundlesErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/connectErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/ctl.json")),
            include_str!(concat!("../../../locales/", $folder, "/desktopErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/gatewayErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/modelsErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/problems.json")),
            include_str!(concat!("../../../locales/", $folder, "/proposals.json")),
            include_str!(concat!("../../../locales/", $folder, "/registryErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/rules.json")),
            include_str!(concat!("../../../locales/", $folder, "/serversErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/shell.json")),
            include_str!(concat!("../../../locales/", $folder, "/storeErrors.json")),
            include_str!(concat!("../../../locales/", $folder, "/toolsErrors.json")),
        ])
    };
}

static ENGLISH: LazyLock<Catalog> = LazyLock::new(|| catalog!("en"));
static SIMPLIFIED_CHINESE: LazyLock<Catalog> = LazyLock::new(|| catalog!("zh-CN"));

impl Language {
    #[must_use]
    pub fn catalog(self) -> &'static Catalog {
        match self {
            Self::English => &ENGLISH,
            Self::SimplifiedChinese => &SIMPLIFIED_CHINESE,
        }
    }
}

/// Parses catalogs that are compiled into the program. If one is invalid, its messages show their keys.
fn read(files: &[&str]) -> Catalog {
    files.iter().flat_map(|text| serde_json::from_str::<Catalog>(text).unwrap_or_default()).collect()
}

/// Renders a message. A key that is not in the catalog is shown as it is.
#[must_use]
pub fn render(message: &Message, language: Language, time: &dyn Fn(Timestamp) -> String) -> String {
    MessageRenderer { language, time }.text(message, 0)
}

struct MessageRenderer<'a> {
    language: Language,
    time: &'a dyn Fn(Timestamp) -> String,
}

impl MessageRenderer<'_> {
    /// The text of a message that is nested in `depth` others.
    fn text(&self, message: &Message, depth: u32) -> String {
        if depth == MAX_DEPTH {
            return LEFT_OUT.to_owned();
        }
        let Some(template) = self.language.catalog().get(&message.key) else { return message.key.clone() };
        let values = message
            .params
            .iter()
            .map(|(name, param)| (name.as_str(), self.value(param, depth + 1)))
            .collect();
        format(template, self.language, &values)
    }

    fn value(&self, param: &MessageParam, depth: u32) -> Value {
        let texts = |messages: &[Message]| -> Vec<String> {
            messages.iter().map(|message| self.text(message, depth)).collect()
        };
        match param {
            MessageParam::Number(number) => Value::Number(*number),
            MessageParam::Text(text) => Value::Text(text.clone()),
            MessageParam::Time(at) => Value::Text((self.time)(*at)),
            MessageParam::Message(message) => Value::Text(self.text(message, depth)),
            MessageParam::List(messages) => Value::Text(texts(messages).join(self.template(AND))),
            MessageParam::Sentences(sentences) => {
                Value::Text(texts(sentences).join(self.between_sentences().as_str()))
            }
        }
    }

    fn template(&self, key: &'static str) -> &'static str {
        self.language.catalog().get(key).map_or(key, String::as_str)
    }

    /// What stands between two sentences: a space, or nothing in Chinese.
    fn between_sentences(&self) -> String {
        let nothing = || Value::Text(String::new());
        let places = BTreeMap::from([("first", nothing()), ("second", nothing())]);
        format(self.template(NEXT_SENTENCE), self.language, &places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_format::is_valid;

    fn text(text: &str) -> MessageParam {
        MessageParam::Text(text.to_owned())
    }

    #[test]
    fn every_template_is_valid() {
        for language in Language::ALL {
            assert!(language.catalog().len() > 40, "{language:?}");
            for (key, template) in language.catalog() {
                assert!(is_valid(template), "{key}");
            }
        }
    }

    #[test]
    fn a_message_is_said_in_each_language() {
        let reads = Message::new("rule.reads").with("server", text("files"));
        let when = vec![
            Message::new("condition.equals").with("place", text("a")).with("value", text("1")),
            Message::new("condition.glob").with("place", text("b")).with("value", text("*")),
        ];
        let what = Message::new("rule.when").with("what", reads).with("when", when);
        let message = Message::new("rule.deny.until")
            .with("what", what)
            .with("who", Message::new("rule.everyClient"))
            .with("at", Timestamp(5));
        let said = |language| render(&message, language, &|at| format!("[{}]", at.0));
        assert_eq!(
            said(Language::English),
            "Deny all reads of files when a is 1 and b matches * until [5], for every client"
        );
        assert_eq!(
            said(Language::SimplifiedChinese),
            "在 [5] 之前拒绝 所有客户端 使用 files 的全部读取（仅当 a 等于 1 且 b 匹配 *）"
        );
        assert_eq!(render(&Message::new("no.such"), Language::English, &|_| String::new()), "no.such");
    }

    #[test]
    fn sentences_follow_each_other_as_the_language_writes_them() {
        let sentences = ["rule.everyClient", "no.such", "rule.everyClient"].map(Message::new).to_vec();
        let message = Message::new("problem.all").with("problems", MessageParam::Sentences(sentences));
        for (language, text) in [
            (Language::English, "every client no.such every client"),
            (Language::SimplifiedChinese, "所有客户端no.such所有客户端"),
        ] {
            assert_eq!(render(&message, language, &|_| String::new()), text);
        }
    }

    #[test]
    fn messages_that_are_nested_too_deeply_are_left_out() {
        let nested = |depth: u32| {
            let innermost = Message::new("rule.everyClient");
            (0..depth).fold(innermost, |what, _| {
                Message::new("rule.onServer").with("server", "s").with("what", what)
            })
        };
        let said = |depth| render(&nested(depth), Language::English, &|_| String::new());
        assert_eq!(said(MAX_DEPTH - 1), format!("{}every client", "s: ".repeat(15)));
        assert_eq!(said(MAX_DEPTH), format!("{}…", "s: ".repeat(16)));
        assert_eq!(said(MAX_DEPTH + 50), said(MAX_DEPTH));
    }

    #[test]
    fn the_environment_says_the_language() {
        for (set, expected) in [
            (vec![("LANG", "zh_CN.UTF-8")], Language::SimplifiedChinese),
            (vec![("LANG", "zh_CN.UTF-8"), ("LC_ALL", "de_DE.UTF-8")], Language::English),
            (vec![("LANG", "en_GB.UTF-8"), ("LC_MESSAGES", "zh_TW")], Language::SimplifiedChinese),
            (
                vec![("LANG", "en_GB.UTF-8"), ("LC_ALL", ""), ("LANGUAGE", "zh_CN:en")],
                Language::SimplifiedChinese,
            ),
            (vec![("LANG", "C")], Language::English),
            (vec![], Language::English),
        ] {
            let variable =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Language::of_environment(variable), expected, "{set:?}");
        }
    }
}
