//! `approvals …`: verbs and options.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// The approval requests that wait.
    List,
    /// Show approval requests as they come, and take the answers.
    Watch,
    /// Let your model write the answer to a server's sampling request. It is shown, and nothing is sent to the server.
    Generate {
        /// Id of the approval request.
        id: String,
    },
    /// Make a request to practise with: a call of the built-in clock. Waits for the answer.
    Practice,
    /// Answer one approval request, or all that wait.
    #[command(override_usage = "gatehousectl approvals answer <ID> <ANSWER> [REASON]...\n       \
                          gatehousectl approvals answer <ID> --content <JSON>\n       \
                          gatehousectl approvals answer --all <allow|deny> [--reason <TEXT>]")]
    Answer(AnswerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Id of the approval request.
    #[arg(required_unless_present = "all")]
    pub(crate) id: Option<String>,
    /// `allow`, `deny`, `always-reads`, `always-tool`, `always-server`, `tool-until-quit` or `tool-15m`.
    #[arg(required_unless_present_any = ["all", "content"])]
    pub(crate) answer: Option<String>,
    /// What the model gets to read, for a deny.
    #[arg(value_name = "REASON")]
    pub(crate) words: Vec<String>,
    /// Accept a server's request with this content: the fields of a form as a JSON object, or the reply to
    /// a prompt for a model as a JSON string, or as the message that `approvals generate --json` has as its content.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["answer", "all"])]
    pub(crate) content: Option<String>,
    /// Answer every approval request that waits now. `allow` allows calls, each this once; what needs more
    /// than that keeps waiting.
    #[arg(long, value_name = "ANSWER", conflicts_with = "id")]
    pub(crate) all: Option<AnswerAllArg>,
    /// What the model gets to read, for a deny.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["words", "content"])]
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerAllArg {
    /// Allow each call once.
    Allow,
    /// Deny each call once, and decline what else waits.
    Deny,
}
