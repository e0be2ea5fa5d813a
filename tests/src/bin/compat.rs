//! Runs the matrix of real clients, or the clients that are named, and prints it as a table; then the applications that are
//! connected and imported from, or only these after the word `applications`; then a small language model, or only that at the
//! word `small-model`. `cargo xtask compat` installs what it needs and runs it.

use std::process::ExitCode;

use anyhow::Result;
use gatehouse_tests::compat::{
    CLIENTS, Cell, CompatClient, MatrixRow, QUESTIONS, SMALL_MODEL, SmallModelTrial,
};

/// The word before the names of applications.
const APPLICATIONS: &str = "applications";

fn main() -> Result<ExitCode> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let all_passed = match names.split_first() {
        None => {
            // All are tried, whatever becomes of the first.
            let (clients, applications, model) = (matrix(&[])?, applications(&[])?, small_model()?);
            clients && applications && model
        }
        Some((first, [])) if first == SMALL_MODEL => small_model()?,
        Some((first, rest)) if first == APPLICATIONS => applications(rest)?,
        Some(_) => matrix(&names)?,
    };
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether every cell passed.
fn matrix(names: &[String]) -> Result<bool> {
    let clients: Vec<&CompatClient> = if names.is_empty() {
        CLIENTS.iter().collect()
    } else {
        names.iter().map(|name| CompatClient::find(name)).collect::<Result<_>>()?
    };
    print_line("client", "over", Cell::ALL.map(|cell| format!("{cell:?}").to_lowercase()));
    let (mut rows, mut notes, mut failures) = (0, Vec::new(), Vec::new());
    for client in clients {
        notes.extend(client.not_tried.iter().map(|(cell, why)| format!("{} {cell:?}: {why}", client.name)));
        for kind in client.connections {
            let row = MatrixRow::run(client, *kind);
            print_line(
                row.client,
                &format!("{kind:?}").to_lowercase(),
                Cell::ALL.map(|cell| outcome(&row, cell)),
            );
            failures.extend(row.failures());
            rows += 1;
        }
    }
    for line in notes.iter().chain(&failures) {
        println!("\n{line}");
    }
    println!("\n{rows} rows, {} cells failed", failures.len());
    Ok(failures.is_empty())
}

/// Whether the model chose the tool that answers each question.
fn small_model() -> Result<bool> {
    let trial = SmallModelTrial::start()?;
    print_line(SMALL_MODEL, "", ["tool".to_owned(), "outcome".to_owned(), "question".to_owned()]);
    let mut failures = Vec::new();
    for question in &QUESTIONS {
        let outcome = trial.ask(question);
        let text = if outcome.is_ok() { "ok" } else { "FAILED" };
        print_line("", "", [question.tool.to_owned(), text.to_owned(), question.prompt.to_owned()]);
        failures.extend(outcome.err().map(|error| format!("{}: {error:#}", question.prompt)));
    }
    for line in &failures {
        println!("\n{line}");
    }
    println!("\n{} questions, {} failed", QUESTIONS.len(), failures.len());
    Ok(failures.is_empty())
}

fn outcome(row: &MatrixRow, cell: Cell) -> String {
    match row.outcomes.iter().find(|(of, _)| *of == cell) {
        Some((_, Ok(()))) => "ok",
        Some((_, Err(_))) => "FAILED",
        None => "-",
    }
    .to_owned()
}

fn print_line<const CELLS: usize>(name: &str, second: &str, cells: [String; CELLS]) {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<12}")).collect();
    println!("{name:<24}{second:<12}{}", cells.concat());
}

/// Whether every step passed that can be tried.
#[cfg(target_os = "linux")]
fn applications(names: &[String]) -> Result<bool> {
    use gatehouse_tests::compat::{Application, ApplicationRow, ApplicationStep};
    use gatehouse_tests::window::Desktop;

    let applications: Vec<&'static Application> = if names.is_empty() {
        gatehouse_tests::compat::APPLICATIONS.iter().collect()
    } else {
        names.iter().map(|name| Application::find(name)).collect::<Result<_>>()?
    };
    let desktop = Desktop::start()?;
    print_line("application", "version", ApplicationStep::ALL.map(|step| format!("{step:?}").to_lowercase()));
    let (mut notes, mut failures) = (Vec::new(), Vec::new());
    for application in &applications {
        let why_not = |step: ApplicationStep| application.cannot_be_tried.iter().find(|(of, _)| *of == step);
        let row = ApplicationRow::run(application, &desktop);
        let cells = ApplicationStep::ALL.map(|step| {
            let found = row.outcomes.iter().find(|(of, _)| *of == step);
            let text = match (found, why_not(step)) {
                (Some((_, Ok(()))), _) => "ok",
                (Some((_, Err(_))), _) => "FAILED",
                (None, Some(_)) => "NOT TRIED",
                (None, None) => "not reached",
            };
            text.to_owned()
        });
        print_line(row.application, row.version.as_deref().unwrap_or("-"), cells);
        let cannot = application.cannot_be_tried.iter();
        notes.extend(
            cannot.map(|(step, why)| format!("{} {step:?} cannot be tried: {why}", application.name)),
        );
        failures.extend(row.failures());
    }
    for line in notes.iter().chain(&failures) {
        println!("\n{line}");
    }
    println!("\n{} applications, {} failed", applications.len(), failures.len());
    Ok(failures.is_empty())
}

/// Says that there is no way to try them here.
#[cfg(not(target_os = "linux"))]
fn applications(_names: &[String]) -> Result<bool> {
    println!("\n{APPLICATIONS} cannot be tried: only on Linux is there a desktop with a keychain for them");
    Ok(false)
}
