//! What a person enters for an option of an entry, and the texts that are made of it.

use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_model::registry::{RegistryInput, RegistryInputFormat};
use gatehouse_model::{Message, message};

use super::fields::Fields;

/// Most inputs of an option.
const MAX_INPUTS: usize = 64;
/// Most values that an input lets choose from.
const MAX_CHOICES: usize = 100;
/// Longest value that the registry sets, in bytes.
const MAX_VALUE_BYTES: usize = 4096;
const MAX_DESCRIPTION_CHARS: usize = 500;
const MAX_ID_CHARS: usize = 100;

/// A text with places for what is entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template(pub(super) Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart {
    Text(String),
    /// The input at this index.
    Input(usize),
}

impl Template {
    /// The inputs in it.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Input(index) => Some(*index),
            TemplatePart::Text(_) => None,
        })
    }

    /// The text, if nothing has to be entered for it.
    pub(super) fn fixed(&self) -> Option<String> {
        let texts = self.0.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(text.as_str()),
            TemplatePart::Input(_) => None,
        });
        texts.collect()
    }
}

/// Where the value of an input goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InputPlace {
    /// Into an environment variable or a header, where a secret can be stored.
    Stored,
    /// Into the command or the address, which are kept in plain text.
    Plain,
}

/// What is said of a value as a whole, and so holds for the variables in it.
#[derive(Clone, Copy)]
pub(super) struct WholeValue {
    pub(super) required: bool,
    pub(super) secret: bool,
}

impl WholeValue {
    pub(super) fn of(fields: Fields<'_>) -> Self {
        Self { required: fields.flag("isRequired"), secret: fields.flag("isSecret") }
    }
}

/// The inputs of one option.
#[derive(Default)]
pub(super) struct InputList {
    inputs: Vec<RegistryInput>,
}

impl InputList {
    pub(super) fn into_inputs(self) -> Vec<RegistryInput> {
        self.inputs
    }

    /// The template of a value: its text with its variables, or else an input of the given name.
    pub(super) fn template(
        &mut self,
        name: &str,
        fields: Fields<'_>,
        place: InputPlace,
    ) -> Result<Template, Message> {
        match fields.value("value") {
            Some(text) => {
                let whole = WholeValue::of(fields);
                self.filled(&text, |list, variable| {
                    let definition = fields.object("variables").object(variable);
                    if !fields.object("variables").has(variable) {
                        return Ok(None);
                    }
                    list.variable(variable, definition, place, whole).map(Some)
                })
            }
            None => Ok(Template(vec![TemplatePart::Input(self.add(name, fields, place)?)])),
        }
    }

    /// A text whose `{name}` are replaced by what `variable` returns for them; what it doesn't know stays as it is.
    pub(super) fn filled(
        &mut self,
        text: &str,
        mut variable: impl FnMut(&mut Self, &str) -> Result<Option<TemplatePart>, Message>,
    ) -> Result<Template, Message> {
        check_value(text)?;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            let found = match after.split_once('}') {
                Some((name, tail)) => variable(self, name)?.map(|part| (part, tail)),
                None => None,
            };
            match found {
                Some((part, tail)) => {
                    if !plain.is_empty() {
                        parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(part);
                    rest = tail;
                }
                None => {
                    plain.push('{');
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Template(parts))
    }

    /// A variable of a text: fixed, or an input. What holds it can be required or secret as a whole.
    pub(super) fn variable(
        &mut self,
        name: &str,
        fields: Fields<'_>,
        place: InputPlace,
        whole: WholeValue,
    ) -> Result<TemplatePart, Message> {
        if let Some(value) = fields.value("value") {
            check_value(&value)?;
            return Ok(TemplatePart::Text(value));
        }
        let index = self.add(name, fields, place)?;
        if let Some(input) = self.inputs.get_mut(index) {
            input.required |= whole.required;
            let is_secret = input.secret || input.plain_secret || whole.secret;
            input.secret = is_secret && place == InputPlace::Stored;
            input.plain_secret = is_secret && place == InputPlace::Plain;
        }
        Ok(TemplatePart::Input(index))
    }

    /// Adds an input. The same input at two places is asked for once.
    pub(super) fn add(
        &mut self,
        name: &str,
        fields: Fields<'_>,
        place: InputPlace,
    ) -> Result<usize, Message> {
        check_value(name)?;
        let choices: Vec<String> =
            fields.list("choices").iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect();
        let default = fields.value("default").filter(|value| !value.is_empty());
        for value in choices.iter().chain(&default) {
            check_value(value)?;
        }
        let is_secret = fields.flag("isSecret");
        let wanted = RegistryInput {
            id: name.chars().take(MAX_ID_CHARS).collect(),
            description: fields.shown("description", MAX_DESCRIPTION_CHARS),
            required: fields.flag("isRequired"),
            secret: is_secret && place == InputPlace::Stored,
            plain_secret: is_secret && place == InputPlace::Plain,
            format: match fields.raw("format") {
                Some("number") => RegistryInputFormat::Number,
                Some("boolean") => RegistryInputFormat::Boolean,
                Some("filepath") => RegistryInputFormat::Filepath,
                _ => RegistryInputFormat::String,
            },
            // A default that is public is no secret, and would go to the keychain without being shown.
            default: default.filter(|_| !is_secret),
            placeholder: fields.shown("placeholder", MAX_DESCRIPTION_CHARS),
            choices,
            repeated: fields.flag("isRepeated"),
        };
        if wanted.choices.len() > MAX_CHOICES {
            return Err(message!("error.registry.unusable.tooLarge"));
        }
        if let Some(same) = self.inputs.iter().position(|input| *input == wanted) {
            return Ok(same);
        }
        if self.inputs.len() >= MAX_INPUTS {
            return Err(message!("error.registry.unusable.tooLarge"));
        }
        let id = self.free_id(&wanted.id);
        self.inputs.push(RegistryInput { id, ..wanted });
        Ok(self.inputs.len() - 1)
    }

    fn free_id(&self, wanted: &str) -> String {
        let is_taken = |id: &str| self.inputs.iter().any(|input| input.id == id);
        if !is_taken(wanted) {
            return wanted.to_owned();
        }
        (2..).map(|number| format!("{wanted}-{number}")).find(|id| !is_taken(id)).unwrap_or_default()
    }
}

/// Refuses a text that becomes part of settings and could look like another one.
pub(super) fn check_value(text: &str) -> Result<(), Message> {
    if text.len() > MAX_VALUE_BYTES {
        return Err(message!("error.registry.unusable.tooLarge"));
    }
    if text.chars().any(is_invisible) {
        return Err(message!("error.registry.unusable.hidden"));
    }
    if refers(text) {
        return Err(message!("error.registry.unusable.reference"));
    }
    Ok(())
}

/// Whether a value would be replaced by a stored secret or by a variable of the user when the server starts. Only a person
/// may write that: an entry could have either sent to an address of its choice.
pub(crate) fn refers(text: &str) -> bool {
    text.contains("${secret:") || text.contains("${env:")
}
