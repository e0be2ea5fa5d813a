//! Settings files of each application, in the forms that people and applications give them.

use gatehouse_integrations::App;

pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) app: App,
    /// `None` where there is no file.
    pub(crate) content: Option<&'static str>,
    /// Whether it has an entry of Gatehouse's name.
    pub(crate) replaces: bool,
    /// Whether objects stand on one line, which is broken up.
    pub(crate) is_one_line: bool,
}

const fn fixture(name: &'static str, app: App, content: &'static str) -> Fixture {
    Fixture { name, app, content: Some(content), replaces: false, is_one_line: false }
}

const fn one_line(name: &'static str, app: App, content: &'static str) -> Fixture {
    Fixture { name, app, content: Some(content), replaces: false, is_one_line: true }
}

const fn replaced(name: &'static str, app: App, content: &'static str) -> Fixture {
    Fixture { name, app, content: Some(content), replaces: true, is_one_line: false }
}

const fn missing(app: App) -> Fixture {
    Fixture { name: "no file", app, content: None, replaces: false, is_one_line: false }
}

pub(crate) const FIXTURES: &[Fixture] = &[
    missing(App::ClaudeDesktop),
    missing(App::ClaudeCode),
    missing(App::Codex),
    missing(App::Zed),
    missing(App::OpenCode),
    fixture(
        "Claude Desktop, two spaces",
        App::ClaudeDesktop,
        "{\n  \"mcpServers\": {\n    \"fs\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"fs\"]\n    }\n  },\n  \"globalShortcut\": \"\"\n}\n",
    ),
    one_line("Claude Desktop, one line", App::ClaudeDesktop, "{\"mcpServers\":{}}"),
    one_line("Claude Desktop, nothing but an object", App::ClaudeDesktop, "{}\n"),
    fixture("Claude Desktop, an empty file", App::ClaudeDesktop, ""),
    fixture("Claude Desktop, a byte order mark", App::ClaudeDesktop, "\u{feff}{\r\n}\r\n"),
    fixture(
        "Claude Code, with its other state",
        App::ClaudeCode,
        "{\n  \"numStartups\": 12,\n  \"projects\": {\n    \"/home/ana/a\": {\n      \"mcpServers\": {},\n      \"history\": [\n        { \"display\": \"mcpServers\" }\n      ]\n    }\n  },\n  \"bigNumber\": 12345678901234567890,\n  \"price\": 1.50\n}",
    ),
    fixture(
        "Cursor, tabs and comments",
        App::Cursor,
        "// Mine\n{\n\t\"mcpServers\": {\n\t\t// The first\n\t\t\"a\": { \"url\": \"https://example.com\" }, // after it\n\t\t\"b\": { \"command\": \"b\" } // the last one\n\t}\n}\n// The end",
    ),
    fixture(
        "Cursor, CRLF",
        App::Cursor,
        "{\r\n    \"mcpServers\": {\r\n        \"a\": {\r\n            \"command\": \"a\"\r\n        }\r\n    }\r\n}\r\n",
    ),
    fixture(
        "VS Code, inputs and trailing commas",
        App::VsCode,
        "{\n    \"inputs\": [\n        { \"type\": \"promptString\", \"id\": \"key\", \"password\": true, },\n    ],\n    \"servers\": {\n        \"a\": {\n            \"type\": \"http\",\n            \"url\": \"https://example.com\",\n        },\n    },\n}\n",
    ),
    replaced(
        "VS Code, another entry of the name",
        App::VsCode,
        "{\n    \"servers\": {\n        \"gatehouse\": {\n            \"type\": \"http\",\n            \"url\": \"http://127.0.0.1:8000/mcp\",\n            \"headers\": { \"Authorization\": \"Bearer old\" }\n        },\n        \"a\": { \"command\": \"a\" }\n    }\n}\n",
    ),
    fixture(
        "Windsurf, three spaces and empty lines",
        App::Windsurf,
        "{\n\n   \"mcpServers\": {\n\n      \"a\": {\n         \"serverUrl\": \"https://example.com\"\n      }\n\n   }\n\n}\n",
    ),
    fixture(
        "Zed, settings of everything",
        App::Zed,
        "// Zed settings\n//\n{\n  \"theme\": {\n    \"mode\": \"system\"\n  },\n  /* servers */\n  \"context_servers\": {\n    \"a\": {\n      \"source\": \"custom\",\n      \"command\": \"a\",\n      \"args\": []\n    }\n  },\n  \"vim_mode\": true // yes\n}\n",
    ),
    fixture("Zed, no servers", App::Zed, "{\n  // \"context_servers\": {},\n  \"vim_mode\": true\n}\n"),
    fixture(
        "Cline",
        App::Cline,
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"autoApprove\": [\"x\"],\n      \"disabled\": false,\n      \"timeout\": 60,\n      \"command\": \"a\"\n    }\n  }\n}",
    ),
    fixture(
        "Codex, tables and comments",
        App::Codex,
        "# Mine\nmodel = \"gpt\"   # the model\n\n[projects.\"/home/ana/a\"]\ntrust_level = \"trusted\"\n\n[mcp_servers.a]\ncommand = \"a\"\nargs = [\n  \"x\", # first\n  \"y\",\n]\n\n[mcp_servers.a.env]\nKEY = 'v'\n# The end\n",
    ),
    fixture("Codex, CRLF and no end of the line", App::Codex, "model = \"gpt\"\r\n\r\n[tools]\r\nweb = true"),
    fixture("Codex, a comment at the end", App::Codex, "model = \"gpt\"\n\n# Servers will come here\n"),
    one_line("Codex, an inline table", App::Codex, "mcp_servers = { a = { command = \"a\" } }\n"),
    replaced(
        "Codex, another entry of the name",
        App::Codex,
        "[mcp_servers.gatehouse]\nurl = \"http://127.0.0.1:8000/mcp\"\n\n[mcp_servers.b]\ncommand = \"b\"\n",
    ),
    fixture("Codex, an empty file", App::Codex, ""),
    one_line(
        "Gemini",
        App::Gemini,
        "{\n  \"security\": { \"auth\": { \"selectedType\": \"oauth-personal\" } },\n  \"mcpServers\": {}\n}\n",
    ),
    fixture(
        "LM Studio",
        App::LmStudio,
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"https://example.com\"\n    }\n  }\n}",
    ),
    fixture(
        "OpenCode",
        App::OpenCode,
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"permission\": {\n    \"bash\": \"ask\"\n  },\n  // servers\n  \"mcp\": {\n    \"a\": { \"type\": \"local\", \"command\": [\"a\"], \"enabled\": true }\n  }\n}\n",
    ),
    fixture(
        "Continue, a list at the end",
        App::Continue,
        "name: Mine\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: a\n    apiKey: ${{ secrets.KEY }}\nmcpServers:\n  # The first\n  - name: a\n    command: npx\n    args:\n      - -y\n      - a\n",
    ),
    fixture(
        "Continue, a list in the middle without indentation",
        App::Continue,
        "mcpServers: # servers\n- name: a\n  command: a\n\n# Rules\nrules:\n- Be brief\nprompts: []\n",
    ),
    fixture("Continue, no list and no end of the line", App::Continue, "name: Mine\nversion: 1.0.0"),
    fixture(
        "Continue, CRLF",
        App::Continue,
        "name: Mine\r\nmcpServers:\r\n  - name: a\r\n    command: a\r\nrules: []\r\n",
    ),
    fixture("Continue, an empty value", App::Continue, "name: Mine\nmcpServers:\nrules: []\n"),
];
