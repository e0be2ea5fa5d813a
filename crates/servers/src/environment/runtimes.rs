//! Instructions for installing the programs that servers are usually run with, as messages for the
//! user (SRV-10).

use gatehouse_model::{Message, message};

/// What to do when a command was not found.
pub(super) fn advice(command: &str) -> Message {
    let base = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let base = base.strip_suffix(".exe").or_else(|| base.strip_suffix(".cmd")).unwrap_or(base);
    match base {
        "node" | "npx" | "npm" => message!("error.servers.install.node"),
        "uv" | "uvx" => message!("error.servers.install.uv"),
        "python" | "python3" | "pip" | "pipx" => message!("error.servers.install.python"),
        "docker" => message!("error.servers.install.docker"),
        "deno" => message!("error.servers.install.deno"),
        "bun" | "bunx" => message!("error.servers.install.bun"),
        _ if command.contains(['/', '\\']) => message!("error.servers.install.otherPath"),
        _ => message!("error.servers.install.unknown"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::UserText;

    use super::*;

    #[test]
    fn advises_on_known_runtimes() {
        let table = [
            ("node", "Node.js"),
            ("npx.cmd", "Node.js"),
            ("/usr/bin/uvx", "uv"),
            ("uv", "uv"),
            ("python", "Python"),
            ("docker", "Docker"),
            ("deno", "Deno"),
            ("bun", "Bun"),
            ("my-server", "full path"),
            ("/opt/my-server", "no program at this place"),
        ];
        for (command, word) in table {
            let advice = UserText::from(advice(command)).to_string();
            assert!(advice.contains(word), "{command}: {advice}");
        }
    }
}
