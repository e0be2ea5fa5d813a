import { describe, expect, it } from "vitest";

import { emptyServerForm } from "./serverForm";
import { fillForm, needsChecklist, recognise, type RecognisedFields } from "./pastedText";

const line = (name: string, value: string, secret = false) => ({ name, value, secret, kept: false });

describe("recognise", () => {
  it.each<[string, Partial<RecognisedFields>]>([
    [
      "npx -y @modelcontextprotocol/server-filesystem /home/ana",
      {
        kind: "stdio",
        name: "filesystem",
        command: "npx -y @modelcontextprotocol/server-filesystem /home/ana",
        lines: [],
      },
    ],
    ["$ uvx mcp-server-time", { kind: "stdio", name: "time", command: "uvx mcp-server-time" }],
    ["npx -y some-mcp@latest", { name: "some" }],
    ["npx -y some-mcp@1.2.3", { name: "some" }],
    ["node /opt/tools/dist/index.js", { name: "tools" }],
    ["python3 -m weather_server", { name: "weather_server" }],
    [
      "API_KEY=abc MODE=fast npx thing",
      { command: "npx thing", lines: [line("API_KEY", "abc", true), line("MODE", "fast")] },
    ],
    ["[1]", { kind: "stdio", command: "[1]" }],
    [
      "https://mcp.example.org/mcp",
      { kind: "http", remote: "auto", name: "example", url: "https://mcp.example.org/mcp" },
    ],
    ["http://127.0.0.1:9/mcp", { kind: "http", remote: "auto", name: "127.0.0.1" }],
    ["wss://example.org/mcp", { kind: "http", remote: "ws", name: "example" }],
    [
      '{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"],"env":{"API_KEY":"x","MODE":"y"}}}}',
      {
        kind: "stdio",
        name: "git",
        command: "uvx mcp-server-git",
        lines: [line("API_KEY", "x", true), line("MODE", "y")],
      },
    ],
    [
      '{"servers":{"a":{"type":"http","url":"https://a.example/mcp","headers":{"Authorization":"Bearer t"}}}}',
      {
        kind: "http",
        remote: "http",
        name: "a",
        url: "https://a.example/mcp",
        lines: [line("Authorization", "Bearer t", true)],
      },
    ],
    [
      '{"mcpServers":{"old":{"type":"sse","url":"https://a.example/sse"}}}',
      { kind: "http", remote: "sse", name: "old" },
    ],
    [
      '{"mcpServers":{"w":{"serverUrl":"https://w.example/mcp"}}}',
      { kind: "http", remote: "auto", name: "w", url: "https://w.example/mcp" },
    ],
    ['{"mcpServers":{"g":{"httpUrl":"https://g.example/mcp"}}}', { kind: "http", remote: "http", name: "g" }],
    [
      '{"mcpServers":{"s":{"type":"streamable-http","url":"https://s.example/mcp"}}}',
      { kind: "http", remote: "http", name: "s" },
    ],
    [
      '{"mcpServers":{"h":{"url":"https://h.example/mcp","headersHelper":"/opt/token.sh"}}}',
      { remote: "auto", headersFrom: "/opt/token.sh" },
    ],
    [
      '{"mcpServers":{"h":{"url":"https://h.example/mcp","headersFrom":{"command":"my token","args":["-x"]}}}}',
      { headersFrom: '"my token" -x' },
    ],
    [
      '{"mcp":{"servers":{"b":{"command":["bun","x"],"environment":{"A":1}}}}}',
      { kind: "stdio", name: "b", command: "bun x", lines: [line("A", "1")] },
    ],
    [
      '{"mcp":{"o":{"type":"local","command":["npx","-y","p"],"environment":{"B":true}}}}',
      { name: "o", command: "npx -y p", lines: [line("B", "true")] },
    ],
    [
      '{"context_servers":{"z":{"command":{"path":"uvx","args":["t"],"env":{"C":"1"}}}}}',
      { name: "z", command: "uvx t", lines: [line("C", "1")] },
    ],
    ['"c": {"baseUrl":"http://127.0.0.1:9/mcp"},', { kind: "http", name: "c", url: "http://127.0.0.1:9/mcp" }],
    [
      '{"command":"my server","args":["a b"],"cwd":"/tmp"}',
      { kind: "stdio", command: '"my server" "a b"', cwd: "/tmp" },
    ],
    [
      '{\n // mine\n "mcpServers": { /* one */ "k": { "command": "x", "args": ["https://a//b", "c,]",], }, }\n}',
      { name: "k", command: "x https://a//b c,]" },
    ],
  ])("reads %j", (text, expected) => {
    const recognised = recognise(text);
    expect(recognised?.others).toBe(0);
    expect(recognised?.found).toMatchObject(expected);
  });

  it.each(["", "  ", "{broken", '{"a":1}', "{}", 'npx "open', "A=1", '{"mcpServers":{}}'])("rejects %j", (text) => {
    expect(recognise(text)).toBeNull();
  });

  it("counts further servers", () => {
    const several = recognise(
      '{"mcpServers":{"a":{"command":"a"},"no":3,"b":{"command":"b"},"c":{"url":"https://c.example"}}}',
    );
    expect([several?.found.name, several?.others]).toEqual(["a", 2]);
  });

  it.each([
    ['{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}', true],
    ['{"mcpServers":{"a":{"command":"a","autoApprove":["x"]}}}', true],
    ['{"servers":{"a":{"url":"https://a.example","headers":{"K":"${input:k}"}}}}', true],
    ['[mcp_servers.a]\ncommand = "a"', true],
    ["mcpServers:\n  - name: a\n    command: a", true],
    ['{"mcpServers":{"a":{"command":"a","env":{"API_KEY":"${env:API_KEY}"}}}}', true],
    ['{"command":"a","args":["${workspaceFolder}"]}', true],
    ['{"mcp":{"a":{"command":["a"],"environment":{"API_KEY":"{env:API_KEY}"}}}}', true],
    ['[{"name":"a","command":"b"}]', true],
    ['{"mcpServers":[{"name":"a","command":"b"}]}', true],
    ['{"projects":{"/p":{"mcpServers":{"a":{"command":"b"}}}}}', true],
    ['{"mcp_servers":{"a":{"command":"b"}}}', true],
    ["[1]", false],
    ['{"mcpServers":{"a":{"command":"a","args":["b"],"env":{"C":"d"},"cwd":"/tmp"}}}', false],
    ["npx -y a", false],
    ["{broken", false],
  ])("%j needs the checklist: %j", (text, expected) => {
    expect(needsChecklist(text)).toBe(expected);
  });
});

describe("fillForm", () => {
  const found = recognise("npx new-mcp")?.found;
  if (!found) throw new Error("not recognised");
  const form = {
    ...emptyServerForm,
    cwd: "/old",
    url: "https://old.example",
    lines: [line("OLD", "1")],
    group: "mine",
  };

  it("replaces earlier pasted fields and keeps typed ones", () => {
    expect(fillForm(form, found, "")).toEqual({
      ...emptyServerForm,
      name: "new",
      command: "npx new-mcp",
      group: "mine",
    });
  });

  it("takes the new name unless the user typed one", () => {
    expect(fillForm({ ...form, name: "old" }, found, "old").name).toBe("new");
    expect(fillForm({ ...form, name: "own" }, found, "old").name).toBe("own");
  });
});
