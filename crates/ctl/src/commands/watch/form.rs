//! The form of an elicitation as a terminal shows it: its fields, and what is typed into each. The core checks every
//! answer against the schema; what is checked here only saves a round.

use gatehouse_model::{Message, message};
use serde_json::{Map, Value};

use crate::terminal_text;

/// The fields of a form in the schema's order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ElicitationForm {
    pub(super) fields: Vec<FormField>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    kind: FieldKind,
    default: Option<Value>,
    is_required: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum FieldKind {
    Text {
        format: Option<String>,
        least: Option<u64>,
        most: Option<u64>,
    },
    Number {
        is_integer: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    Flag,
    /// One of these.
    Choice(Vec<FormOption>),
    /// Any of these.
    Choices {
        options: Vec<FormOption>,
        least: Option<u64>,
        most: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct FormOption {
    value: String,
    title: Option<String>,
}

impl ElicitationForm {
    /// Reads the flat schemas that MCP allows for elicitation. `None` if it requires what no field can give.
    pub(super) fn read(schema: &str) -> Option<Self> {
        let schema: Map<String, Value> = serde_json::from_str(schema).ok()?;
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => Vec::new(),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            fields.extend(property.as_object().and_then(|of| FormField::read(name, of, is_required)));
        }
        let has_field = |name: &&str| fields.iter().any(|field: &FormField| field.name == **name);
        required.iter().all(has_field).then_some(Self { fields })
    }

    /// What the form asks for, a line for each field.
    pub(super) fn lines(&self) -> Vec<String> {
        self.fields.iter().flat_map(FormField::lines).collect()
    }
}

impl FormField {
    fn read(name: &str, of: &Map<String, Value>, is_required: bool) -> Option<Self> {
        let text = |member: &str| of.get(member).and_then(Value::as_str).map(str::to_owned);
        let whole = |member: &str| of.get(member).and_then(Value::as_u64);
        let number = |member: &str| of.get(member).and_then(Value::as_f64);
        let kind = match of.get("type").and_then(Value::as_str) {
            Some("string") | None if has_options(of) => FieldKind::Choice(options(of)?),
            Some("string") => FieldKind::Text {
                format: text("format"),
                least: whole("minLength"),
                most: whole("maxLength"),
            },
            Some(kind @ ("number" | "integer")) => FieldKind::Number {
                is_integer: kind == "integer",
                least: number("minimum"),
                most: number("maximum"),
            },
            Some("boolean") => FieldKind::Flag,
            Some("array") => FieldKind::Choices {
                options: options(of.get("items")?.as_object()?)?,
                least: whole("minItems"),
                most: whole("maxItems"),
            },
            Some(_) | None => return None,
        };
        let default = of.get("default").cloned();
        Some(Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            kind,
            default,
            is_required,
        })
    }

    /// The field with everything that is said of it, for the list of all fields and before it is filled in.
    pub(super) fn lines(&self) -> Vec<String> {
        let name = terminal_text::line(&self.name);
        let name = match &self.title {
            Some(title) if *title != self.name => format!("{} ({name})", terminal_text::line(title)),
            Some(_) | None => name,
        };
        let mut facts = vec![self.kind.words()];
        facts.push(terminal_text::message(&if self.is_required {
            message!("ctl.form.required")
        } else {
            message!("ctl.form.optional")
        }));
        if let Some(default) = &self.default {
            let default = terminal_text::line(&shown(default));
            facts.push(terminal_text::message(&message!("ctl.form.default", value = default)));
        }
        let mut lines = vec![format!("  {name}: {}", facts.join(", "))];
        if let Some(description) = &self.description {
            let description = terminal_text::lines(description).replace('\n', "\n      ");
            lines.push(format!("      {description}"));
        }
        if let FieldKind::Choice(options) | FieldKind::Choices { options, .. } = &self.kind {
            for (at, option) in options.iter().enumerate() {
                let value = terminal_text::line(&option.value);
                let title = option.title.as_ref().filter(|title| **title != option.value);
                let title =
                    title.map(|title| format!("  {}", terminal_text::line(title))).unwrap_or_default();
                lines.push(format!("      {}) {value}{title}", at + 1));
            }
        }
        lines
    }

    /// Reads what was typed for the field. `None` leaves the field out; an empty line takes the default.
    pub(super) fn value(&self, typed: &str) -> Result<Option<Value>, Message> {
        if typed.is_empty() {
            return match (&self.default, &self.kind) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, _) if !self.is_required => Ok(None),
                (None, FieldKind::Choices { least: None | Some(0), .. }) => {
                    Ok(Some(Value::Array(Vec::new())))
                }
                (None, _) => Err(message!("ctl.form.needed")),
            };
        }
        self.kind.value(typed).map(Some)
    }
}

impl FieldKind {
    fn words(&self) -> String {
        terminal_text::message(&match self {
            Self::Text { format: Some(format), .. } => match format.as_str() {
                "email" => message!("ctl.form.email"),
                "uri" => message!("ctl.form.uri"),
                "date" => message!("ctl.form.date"),
                "date-time" => message!("ctl.form.dateTime"),
                _ => message!("ctl.form.text"),
            },
            Self::Text { format: None, .. } => message!("ctl.form.text"),
            Self::Number { is_integer: true, .. } => message!("ctl.form.integer"),
            Self::Number { is_integer: false, .. } => message!("ctl.form.number"),
            Self::Flag => message!("ctl.form.flag"),
            Self::Choice(_) => message!("ctl.form.choice"),
            Self::Choices { .. } => message!("ctl.form.choices"),
        })
    }

    fn value(&self, typed: &str) -> Result<Value, Message> {
        match self {
            Self::Text { least, most, .. } => {
                // In quotes it is JSON, for texts that a line cannot hold otherwise, such as the empty one.
                let text = match serde_json::from_str::<String>(typed) {
                    Ok(text) if typed.starts_with('"') => text,
                    Ok(_) | Err(_) => typed.to_owned(),
                };
                let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
                if least.is_some_and(|least| length < least) {
                    return Err(message!("ctl.form.tooShort", least = display(*least)));
                }
                if most.is_some_and(|most| length > most) {
                    return Err(message!("ctl.form.tooLong", most = display(*most)));
                }
                Ok(Value::from(text))
            }
            Self::Number { is_integer, least, most } => number(typed, *is_integer, *least, *most),
            Self::Flag => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(Value::Bool(true)),
                "n" | "no" | "false" => Ok(Value::Bool(false)),
                _ => Err(message!("ctl.form.noFlag")),
            },
            Self::Choice(options) => choose(options, typed).map(Value::from),
            Self::Choices { options, least, most } => {
                let mut chosen: Vec<Value> = Vec::new();
                for part in typed.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                    let value = Value::from(choose(options, part)?);
                    if !chosen.contains(&value) {
                        chosen.push(value);
                    }
                }
                let count = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
                if least.is_some_and(|least| count < least) {
                    return Err(message!("ctl.form.tooFew", least = display(*least)));
                }
                if most.is_some_and(|most| count > most) {
                    return Err(message!("ctl.form.tooMany", most = display(*most)));
                }
                Ok(Value::Array(chosen))
            }
        }
    }
}

fn display(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn number(typed: &str, is_integer: bool, least: Option<f64>, most: Option<f64>) -> Result<Value, Message> {
    let value = serde_json::from_str::<Value>(typed).ok().filter(Value::is_number);
    let value = value.filter(|value| !is_integer || value.is_i64() || value.is_u64());
    let value = value.ok_or_else(|| {
        if is_integer { message!("ctl.form.noInteger") } else { message!("ctl.form.noNumber") }
    })?;
    let amount = value.as_f64().unwrap_or(f64::NAN);
    if least.is_some_and(|least| amount < least) || most.is_some_and(|most| amount > most) {
        let bound = |bound: Option<f64>| bound.map_or_else(|| "…".to_owned(), |bound| bound.to_string());
        return Err(message!("ctl.form.outside", least = bound(least), most = bound(most)));
    }
    Ok(value)
}

/// The option that was typed: by its value, or else by its number in the list.
fn choose(options: &[FormOption], typed: &str) -> Result<String, Message> {
    let by_value = options.iter().find(|option| option.value == typed);
    let by_number = || typed.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let option = by_value.or_else(by_number);
    option.map(|option| option.value.clone()).ok_or_else(|| message!("ctl.form.noChoice"))
}

fn has_options(of: &Map<String, Value>) -> bool {
    ["enum", "oneOf", "anyOf"].iter().any(|name| of.get(*name).is_some_and(Value::is_array))
}

/// The texts to choose from; `None` if there are none.
fn options(of: &Map<String, Value>) -> Option<Vec<FormOption>> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let named = ["oneOf", "anyOf"].iter().find_map(|name| of.get(*name)?.as_array());
    let all: Vec<FormOption> = match named {
        Some(named) => named
            .iter()
            .filter_map(|one| {
                Some(FormOption { value: text(one.get("const"))?, title: text(one.get("title")) })
            })
            .collect(),
        None => {
            let titles = of.get("enumNames").and_then(Value::as_array);
            let title = |at: usize| text(titles.and_then(|titles| titles.get(at)));
            let values = of.get("enum")?.as_array()?.iter().enumerate();
            values
                .filter_map(|(at, value)| Some(FormOption { value: text(Some(value))?, title: title(at) }))
                .collect()
        }
    };
    (!all.is_empty()).then_some(all)
}

/// A value as people read it: texts without quotes.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: Value) -> Option<ElicitationForm> {
        ElicitationForm::read(&schema.to_string())
    }

    fn field(schema: Value, is_required: bool) -> FormField {
        let required = if is_required { vec!["x"] } else { Vec::new() };
        let form = form(json!({ "type": "object", "properties": { "x": schema }, "required": required }));
        form.unwrap().fields.remove(0)
    }

    #[test]
    fn reads_typed_values_by_kind_of_field() {
        let choice =
            json!({ "type": "string", "oneOf": [{ "const": "a", "title": "First" }, { "const": "b" }] });
        let choices = json!({ "type": "array", "items": { "enum": ["r", "g", "b"] }, "maxItems": 2 });
        let quantity = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
        for (schema, typed, wanted) in [
            (json!({ "type": "string" }), "Zoe", Some(json!("Zoe"))),
            (json!({ "type": "string" }), "\"\"", Some(json!(""))),
            (json!({ "type": "string" }), "\"open", Some(json!("\"open"))),
            (json!({ "type": "string" }), "7", Some(json!("7"))),
            (json!({ "type": "string", "maxLength": 2 }), "Zoe", None),
            (json!({ "type": "string", "minLength": 4 }), "Zoe", None),
            (quantity.clone(), "9", Some(json!(9))),
            (quantity.clone(), "10", None),
            (quantity.clone(), "1.5", None),
            (quantity, "many", None),
            (json!({ "type": "number" }), "-1.5", Some(json!(-1.5))),
            (json!({ "type": "boolean" }), "Y", Some(json!(true))),
            (json!({ "type": "boolean" }), "false", Some(json!(false))),
            (json!({ "type": "boolean" }), "1", None),
            (choice.clone(), "b", Some(json!("b"))),
            (choice.clone(), "1", Some(json!("a"))),
            (choice.clone(), "0", None),
            (choice, "c", None),
            (choices.clone(), "3, r", Some(json!(["b", "r"]))),
            (choices.clone(), "r,r", Some(json!(["r"]))),
            (choices, "1,2,3", None),
            // A value of the list is meant before its number is.
            (json!({ "enum": ["2", "1"] }), "1", Some(json!("1"))),
        ] {
            let found = field(schema.clone(), true).value(typed);
            assert_eq!(found.ok().flatten(), wanted, "{schema} {typed}");
        }
    }

    #[test]
    fn an_empty_line_takes_the_default_or_leaves_the_field_out() {
        let text = json!({ "type": "string" });
        assert_eq!(field(text.clone(), false).value(""), Ok(None));
        assert!(field(text, true).value("").is_err());
        let with_default = json!({ "type": "integer", "default": 30 });
        assert_eq!(field(with_default, true).value(""), Ok(Some(json!(30))));
        let choices = json!({ "type": "array", "items": { "enum": ["a"] } });
        assert_eq!(field(choices, true).value(""), Ok(Some(json!([]))));
    }

    #[test]
    fn a_form_that_requires_more_than_its_fields_cannot_be_filled_in() {
        assert_eq!(
            form(json!({ "properties": { "x": { "type": "object" } } })),
            Some(ElicitationForm { fields: vec![] })
        );
        assert_eq!(form(json!({ "properties": { "x": { "type": "object" } }, "required": ["x"] })), None);
        assert_eq!(form(json!({ "required": ["y"] })), None);
        assert_eq!(form(json!({})), Some(ElicitationForm { fields: vec![] }));
        assert_eq!(ElicitationForm::read("[]"), None);
    }

    #[test]
    fn fields_say_what_they_take_without_hidden_characters() {
        let lines = field(
            json!({ "type": "string", "title": "Co\u{202e}lour", "enum": ["r"], "enumNames": ["Red"], "default": "r" }),
            true,
        )
        .lines();
        assert!(lines[0].contains("⟦U+202E⟧") && lines[0].contains("(x)"), "{lines:?}");
        assert!(lines[1].contains("1) r  Red"), "{lines:?}");
    }
}
