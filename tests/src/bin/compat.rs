//! Runs the matrix of real clients, or the clients that are named, and prints it as a table. `cargo xtask compat` installs
//! what it needs and runs it.

use std::process::ExitCode;

use anyhow::Result;
use gatehouse_tests::compat::{CLIENTS, Cell, CompatClient, MatrixRow};

fn main() -> Result<ExitCode> {
    let names: Vec<String> = std::env::args().skip(1).collect();
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
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn outcome(row: &MatrixRow, cell: Cell) -> String {
    match row.outcomes.iter().find(|(of, _)| *of == cell) {
        Some((_, Ok(()))) => "ok",
        Some((_, Err(_))) => "FAILED",
        None => "-",
    }
    .to_owned()
}

fn print_line(client: &str, over: &str, cells: [String; Cell::ALL.len()]) {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<9}")).collect();
    println!("{client:<24}{over:<8}{}", cells.concat());
}
