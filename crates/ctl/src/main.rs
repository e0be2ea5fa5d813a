//! `gatehousectl`: drives a running Gatehouse from the command line, serves without a window, and bridges clients
//! without HTTP to the gateway.
//!
//! It makes no decisions: every command line is run as commands of the core, which checks the caller's
//! authority. Secrets are never taken from arguments or the environment, and never written to standard
//! output, except the token of a new client, which is printed once because it was requested.

mod approval_list;
mod bridge;
mod cli;
mod commands;
mod condition;
mod error;
mod interrupt;
mod json;
mod labels;
mod output;
mod secret_input;
mod session;
mod shutdown_signal;
mod terminal_text;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Verb};
use commands::{
    approvals, audit, call_records, calls, clients, configuration, models, operator_key, policy, profiles,
    serve, servers, settings, status, tools, undo,
};
use error::CliError;
use output::Printer;
use session::ControlSession;

fn main() -> ExitCode {
    gatehouse_app::run_helper_if_requested();
    let cli = Cli::parse();
    let json = cli.json;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print(json);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    let output = Printer::new(cli.json);
    let verb = match cli.verb {
        Verb::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "gatehousectl", &mut std::io::stdout());
            return Ok(());
        }
        Verb::Serve(wanted) => return serve::run(cli.data_dir, cli.operator_key_fd, &wanted),
        Verb::Bridge(wanted) => return commands::bridge::run(cli.data_dir, &wanted),
        verb => verb,
    };
    let data_dir = cli.data_dir.map_or_else(session::default_data_dir, Ok)?;
    let mut session = ControlSession::new(data_dir, cli.operator_key_fd);
    // The thread is for Ctrl+C; commands run on the main thread, and may block it.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    if !interrupt::is_handled_by(&verb) {
        runtime.spawn(interrupt::exit_on_ctrl_c(cli.json));
    }
    let done = runtime.block_on(drive(verb, &mut session, &output));
    // A thread may still wait for a line from the terminal.
    runtime.shutdown_background();
    done
}

async fn drive(verb: Verb, session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    match verb {
        Verb::Status => status::status(session, output).await,
        Verb::Pause => status::pause(session, output).await,
        Verb::Resume => status::resume(session, output).await,
        Verb::Servers { verb } => servers::run(verb, session, output).await,
        Verb::Tools { verb } => tools::run(verb, session, output).await,
        Verb::Call(wanted) => calls::run(wanted, session, output).await,
        Verb::Calls(wanted) => call_records::run(wanted, session, output).await,
        Verb::Clients { verb } => clients::run(verb, session, output).await,
        Verb::Profiles { verb } => profiles::run(verb, session, output).await,
        Verb::Models { verb } => models::run(verb, session, output).await,
        Verb::Approvals { verb } => approvals::run(verb, session, output).await,
        Verb::Policy { verb } => policy::run(verb, session, output).await,
        Verb::Undo { removal } => undo::run(removal, session, output).await,
        Verb::Audit { verb } => audit::run(verb, session, output).await,
        Verb::Settings { verb } => settings::run(verb, session, output).await,
        Verb::Export(wanted) => configuration::export(wanted, session, output).await,
        Verb::Import(wanted) => configuration::import(wanted, session, output).await,
        Verb::OperatorKey { verb } => operator_key::run(verb, session, output).await,
        Verb::Serve(_) | Verb::Bridge(_) | Verb::Completions { .. } => Ok(()),
    }
}
