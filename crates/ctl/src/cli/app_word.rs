//! The argument that names an AI application.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatehouse_model::App;

/// Takes the word of an application, and lists all of them in the help.
pub(super) fn app_word() -> impl TypedValueParser<Value = App> {
    PossibleValuesParser::new(App::ALL.iter().map(|app| app.as_str())).try_map(|word| word.parse::<App>())
}
