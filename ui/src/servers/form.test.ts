import { describe, expect, it } from "vitest";

import { emptyForm, faults, fromConfig, recognise, toDraft, type Form } from "./form";
import { joinCommand, splitCommand } from "./words";

describe("a command line", () => {
  it.each<[string, string[] | null]>([
    ["", []],
    ["npx -y pkg", ["npx", "-y", "pkg"]],
    ["  a   b\tc\n", ["a", "b", "c"]],
    [`node "my server.js" 'it is'`, ["node", "my server.js", "it is"]],
    [`a "" b`, ["a", "", "b"]],
    [`a "say \\"hi\\""`, ["a", 'say "hi"']],
    ["my\\ file", ["my file"]],
    ["C:\\tools\\x.exe", ["C:\\tools\\x.exe"]],
    [`a "b`, null],
  ])("%j is %j", (line, words) => {
    expect(splitCommand(line)).toEqual(words);
    if (words) expect(splitCommand(joinCommand(words))).toEqual(words);
  });
});

describe("what was pasted", () => {
  it.each<[string, Partial<Form> | null]>([
    ["", null],
    ["npx -y @modelcontextprotocol/server-filesystem /home/ana", { kind: "stdio", name: "filesystem", command: "npx -y @modelcontextprotocol/server-filesystem /home/ana" }],
    ["$ uvx mcp-server-time", { kind: "stdio", name: "time", command: "uvx mcp-server-time" }],
    ["https://mcp.example.org/mcp", { kind: "http", name: "example", url: "https://mcp.example.org/mcp" }],
    ['{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"],"env":{"API_KEY":"x","MODE":"y"}}}}', { kind: "stdio", name: "git", command: "uvx mcp-server-git", lines: [{ name: "API_KEY", value: "x", secret: true, kept: false }, { name: "MODE", value: "y", secret: false, kept: false }] }],
    ['{"servers":{"a":{"type":"http","url":"https://a.example/mcp","headers":{"Authorization":"Bearer t"}}}}', { kind: "http", name: "a", url: "https://a.example/mcp", lines: [{ name: "Authorization", value: "Bearer t", secret: true, kept: false }] }],
    ['{"mcp":{"servers":{"b":{"command":["bun","x"],"environment":{"A":"1"}}}}}', { kind: "stdio", name: "b", command: "bun x", lines: [{ name: "A", value: "1", secret: false, kept: false }] }],
    ['"c": {"baseUrl":"http://127.0.0.1:9/mcp"},', { kind: "http", name: "c", url: "http://127.0.0.1:9/mcp" }],
    ['{"command":"my server","args":["a b"]}', { kind: "stdio", command: '"my server" "a b"' }],
    ["{broken", null],
    ["[1]", { kind: "stdio", command: "[1]" }],
  ])("%j", (text, expected) => {
    const found = recognise(text);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  });
});

describe("the form", () => {
  const form: Form = { ...emptyForm, name: "files", command: "node x.js", lines: [{ name: "TOKEN", value: "s3", secret: true, kept: false }, { name: "A", value: "1", secret: false, kept: false }] };

  it("puts secrets beside the draft and never into it", () => {
    const { draft, secrets } = toDraft(form);
    expect(draft.transport).toEqual({ type: "stdio", command: "node", args: ["x.js"], env: { TOKEN: "${secret:TOKEN}", A: "1" }, cwd: null });
    expect(secrets).toEqual([{ field: "env/TOKEN", value: "s3" }]);
    expect(JSON.stringify(draft)).not.toContain("s3");
  });

  it("comes back from what is kept, and leaves the secrets that are there", () => {
    const { draft } = toDraft(form);
    const config = { ...draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const again = fromConfig(config);
    expect(again?.lines).toEqual([{ name: "TOKEN", value: "", secret: true, kept: true }, { name: "A", value: "1", secret: false, kept: false }]);
    expect(again && toDraft(again, config)).toEqual({ draft, secrets: [] });
  });

  it.each<[Partial<Form>, string[]]>([
    [{}, []],
    [{ name: " " }, ["name"]],
    [{ name: "taken" }, ["name"]],
    [{ command: "" }, ["command"]],
    [{ command: 'a "b' }, ["command"]],
    [{ kind: "http", url: "ftp://x" }, ["url"]],
    [{ kind: "http", url: "https://x.example/mcp" }, []],
    [{ kind: "builtin", builtin: "files" }, ["folder"]],
    [{ kind: "builtin", builtin: "time" }, []],
    [{ lines: [{ name: "", value: "x", secret: false, kept: false }] }, ["lines"]],
    [{ lines: [form.lines[0], form.lines[0]].filter((line) => line !== undefined) }, ["lines"]],
  ])("%j has faults in %j", (change, places) => {
    expect(Object.keys(faults({ ...form, ...change }, ["taken"]))).toEqual(places);
  });
});
