//! Instructions for installing the programs that servers are usually run with, as messages for the
//! user (SRV-10).

/// What to do when a command was not found.
pub(super) fn advice(command: &str) -> String {
    let base = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let base = base.strip_suffix(".exe").or_else(|| base.strip_suffix(".cmd")).unwrap_or(base);
    match base {
        "node" | "npx" | "npm" => {
            "It is part of Node.js: install Node.js from nodejs.org or with your package manager, then connect again."
        }
        "uv" | "uvx" => "It is part of uv: install uv from docs.astral.sh/uv, then connect again.",
        "python" | "python3" | "pip" | "pipx" => {
            "Install Python from python.org or with your package manager, then connect again. \
             Some systems have it under the name python3."
        }
        "docker" => "Install Docker from docker.com and start it, then connect again.",
        "deno" => "Install Deno from deno.com, then connect again.",
        "bun" | "bunx" => "Install Bun from bun.sh, then connect again.",
        _ if command.contains(['/', '\\']) => "There is no program at this place, or it may not be run.",
        _ => "It is in no folder of your PATH. Install it, or enter its full path.",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
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
            assert!(advice(command).contains(word), "{command}");
        }
    }
}
