//! `models …`: verbs and options. A key is never one of them: it is asked for, or read from a descriptor.

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_model::provider::ProviderApi;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// The model providers, and what their models are used for.
    List,
    /// Add a provider.
    Add {
        /// Name for it; unique.
        name: String,
        /// The wire format that it speaks; `openai` is what most other programs speak too.
        #[arg(long, value_name = "API", default_value = "openai")]
        api: ProviderApiArg,
        /// Address before the path of the API, such as `http://127.0.0.1:11434/v1` for Ollama; that of the company where
        /// absent.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// The model that new conversations use.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        #[command(flatten)]
        key: ProviderKeyArgs,
    },
    /// Change a provider. What the options don't name stays as it is; the key is deleted if the address changes and no new
    /// key is given.
    Edit {
        /// Id or name.
        provider: String,
        /// Another name for it.
        #[arg(long)]
        name: Option<String>,
        /// The wire format that it speaks.
        #[arg(long, value_name = "API")]
        api: Option<ProviderApiArg>,
        /// Address before the path of the API.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// The model that new conversations use, or `none`.
        #[arg(long, value_name = "MODEL|none")]
        model: Option<String>,
        #[command(flatten)]
        key: ProviderKeyArgs,
        /// Delete its key.
        #[arg(long, conflicts_with_all = ["key", "key_fd"])]
        no_key: bool,
    },
    /// Remove a provider with its key.
    Remove {
        /// Id or name.
        provider: String,
    },
    /// The models that a provider lists.
    Models {
        /// Id or name.
        provider: String,
    },
    /// Choose which models answer servers' sampling requests, where you let them, and give opinions about the risk of calls.
    Assign(AssignArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderKeyArgs {
    /// Ask for the key at the terminal.
    #[arg(long, conflicts_with = "key_fd")]
    pub(crate) key: bool,
    /// File descriptor with the key; 0 is standard input.
    #[arg(long, value_name = "N")]
    pub(crate) key_fd: Option<i32>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct AssignArgs {
    /// Let this model write answers to sampling requests, when you say so.
    #[arg(long, num_args = 2, value_names = ["PROVIDER", "MODEL"], conflicts_with = "no_sampling")]
    pub(crate) sampling: Option<Vec<String>>,
    /// Let no model do that.
    #[arg(long)]
    pub(crate) no_sampling: bool,
    /// Let this model say of each call that waits what it would do. It gets the masked arguments and decides nothing.
    #[arg(long, num_args = 2, value_names = ["PROVIDER", "MODEL"], conflicts_with = "no_opinion")]
    pub(crate) opinion: Option<Vec<String>>,
    /// Let no model do that.
    #[arg(long)]
    pub(crate) no_opinion: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderApiArg {
    /// OpenAI's chat completions.
    Openai,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

impl ProviderApiArg {
    /// The word for a format.
    pub(crate) fn word(api: ProviderApi) -> &'static str {
        match api {
            ProviderApi::OpenAiChat => "openai",
            ProviderApi::OpenAiResponses => "openai-responses",
            ProviderApi::Anthropic => "anthropic",
            ProviderApi::Gemini => "gemini",
        }
    }

    /// Where the company that made the format is reached.
    pub(crate) fn default_url(self) -> &'static str {
        match self {
            Self::Openai | Self::OpenaiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

impl From<ProviderApiArg> for ProviderApi {
    fn from(word: ProviderApiArg) -> Self {
        match word {
            ProviderApiArg::Openai => Self::OpenAiChat,
            ProviderApiArg::OpenaiResponses => Self::OpenAiResponses,
            ProviderApiArg::Anthropic => Self::Anthropic,
            ProviderApiArg::Gemini => Self::Gemini,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn words_are_those_of_the_command_line() {
        for arg in ProviderApiArg::value_variants() {
            let word = arg.to_possible_value().map(|value| value.get_name().to_owned());
            assert_eq!(word.as_deref(), Some(ProviderApiArg::word((*arg).into())));
        }
    }

    #[test]
    fn takes_no_key_as_an_argument_and_needs_something_to_assign() {
        for (words, is_valid) in [
            (&["add", "Local", "--url", "http://127.0.0.1:1/v1"][..], true),
            (&["add", "OpenAI", "--key"], true),
            (&["add", "OpenAI", "--key", "sk-1"], false),
            (&["add", "OpenAI", "--key-fd", "0"], true),
            (&["add", "OpenAI", "--key", "--key-fd", "0"], false),
            (&["edit", "OpenAI", "--no-key", "--key"], false),
            (&["assign"], false),
            (&["assign", "--opinion", "OpenAI", "gpt"], true),
            (&["assign", "--opinion", "OpenAI"], false),
            (&["assign", "--no-opinion", "--sampling", "OpenAI", "gpt"], true),
            (&["assign", "--no-opinion", "--opinion", "OpenAI", "gpt"], false),
        ] {
            let all = [&["gatehousectl", "models"], words].concat();
            assert_eq!(Cli::try_parse_from(all).is_ok(), is_valid, "{words:?}");
        }
    }
}
