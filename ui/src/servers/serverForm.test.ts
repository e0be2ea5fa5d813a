import { describe, expect, it } from "vitest";

import type { Builtin, ServerLimits, Transport } from "../generated/types";
import { emptyServerForm, validateForm, fromConfig, toDraft, defaultLimits, type ServerForm } from "./serverForm";
import { defaultSignIn } from "./signInForm";
import { joinCommand, splitCommand } from "./commandLine";

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
  ])("splits %j into %j", (line, words) => {
    expect(splitCommand(line)).toEqual(words);
    if (words) expect(splitCommand(joinCommand(words))).toEqual(words);
  });
});

describe("the server form", () => {
  const form: ServerForm = {
    ...emptyServerForm,
    name: "files",
    command: "node x.js",
    lines: [
      { name: "TOKEN", value: "s3", secret: true, kept: false },
      { name: "A", value: "1", secret: false, kept: false },
    ],
  };

  it("keeps secrets out of the draft", () => {
    const { draft, secrets } = toDraft(form);
    expect(draft.transport).toEqual({
      type: "stdio",
      command: "node",
      args: ["x.js"],
      env: { TOKEN: "${secret:TOKEN}", A: "1" },
      cwd: null,
      streams: "sockets",
    });
    expect(secrets).toEqual([{ field: "env/TOKEN", value: "s3" }]);
    expect(JSON.stringify(draft)).not.toContain("s3");
  });

  it("round-trips a saved server and keeps its secrets", () => {
    const { draft } = toDraft(form);
    const config = { ...draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const again = fromConfig(config);
    expect(again.lines).toEqual([
      { name: "TOKEN", value: "", secret: true, kept: true },
      { name: "A", value: "1", secret: false, kept: false },
    ]);
    expect(toDraft(again, config)).toEqual({ draft, secrets: [] });
  });

  it.each<[Partial<ServerForm>, string[]]>([
    [{}, []],
    [{ name: " " }, ["name"]],
    [{ name: "Taken" }, ["name"]],
    [{ name: "a/b" }, ["name"]],
    [{ command: "" }, ["command"]],
    [{ command: '"" x' }, ["command"]],
    [{ command: 'a "b' }, ["command"]],
    [{ kind: "http", url: "ftp://x" }, ["url"]],
    [{ kind: "http", url: "https://x.example/m cp" }, ["url"]],
    [{ kind: "http", url: "https://x.example/mcp" }, []],
    [{ kind: "http", url: "wss://x.example/mcp" }, ["url"]],
    [{ kind: "http", remote: "ws", url: "https://x.example/mcp" }, ["url"]],
    [{ kind: "http", remote: "ws", url: "wss://x.example/mcp" }, []],
    [{ kind: "builtin", builtin: "files" }, ["folder"]],
    [{ kind: "builtin", builtin: "time" }, []],
    [{ kind: "builtin", builtin: "fetch" }, []],
    [{ kind: "http", url: "https://x.example/mcp", headersFrom: 'a "b' }, ["headersFrom"]],
    [{ limits: { ...emptyServerForm.limits, callSecs: "none", callCapSecs: 60, healthEverySecs: 0 } }, []],
    [{ limits: { ...emptyServerForm.limits, callSecs: "" } }, ["callSecs"]],
    [{ limits: { ...emptyServerForm.limits, connectSecs: "" } }, ["connectSecs"]],
    [{ limits: { ...emptyServerForm.limits, callCapSecs: 0 } }, ["callCapSecs"]],
    [{ limits: { ...emptyServerForm.limits, roots: "/home/ana/work\n\nC:\\work\n" } }, []],
    [{ limits: { ...emptyServerForm.limits, roots: "/home/ana/work\nwork" } }, ["roots"]],
    [{ lines: [{ name: "", value: "x", secret: false, kept: false }] }, ["lines"]],
    [{ lines: [{ name: "A", value: "", secret: false, kept: false }] }, []],
    [{ lines: [{ name: "A", value: "", secret: true, kept: false }] }, ["lines"]],
    [{ lines: [{ name: "A", value: "", secret: true, kept: true }] }, []],
    [{ lines: [{ name: "", value: "", secret: false, kept: false }] }, []],
    [{ lines: [form.lines[0], form.lines[0]].filter((line) => line !== undefined) }, ["lines"]],
  ])("rejects %j in %j", (change, places) => {
    expect(Object.keys(validateForm({ ...form, ...change }, ["taken"]))).toEqual(places);
  });

  it("asks for secrets again when the destination changes", () => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const again = fromConfig(config);
    expect(validateForm(again, [], config)).toEqual({});
    expect(validateForm({ ...again, description: "x", group: "y" }, [], config)).toEqual({});
    const moved = { ...again, command: "node other.js" };
    expect(validateForm(moved, [], config)).toEqual({ lines: "servers.form.secretMoved" });
    const given = moved.lines.map((line) => (line.kept ? { ...line, value: "new" } : line));
    expect(validateForm({ ...moved, lines: given }, [], config)).toEqual({});
  });

  it.each(["auto", "http", "sse", "ws"] as const)("keeps the remote transport %s", (type) => {
    const url = type === "ws" ? "wss://x.example/m" : "https://x.example/m";
    const transport: Transport = {
      type,
      url,
      headers: { A: "1" },
      headersFrom: { command: "my token", args: ["-x"] },
      signIn: defaultSignIn,
    };
    const config = { ...toDraft(form).draft, transport, id: "srv-1", generation: 1, origin: "user" } as const;
    expect(toDraft(fromConfig(config), config).draft.transport).toEqual(transport);
  });

  it.each<Builtin>([
    { kind: "time" },
    { kind: "notes" },
    { kind: "files", folder: "/home/ana" },
    { kind: "fetch", allowPrivate: true },
    { kind: "fetch", allowPrivate: false },
  ])("keeps the built-in server %j", (builtin) => {
    const config = {
      ...toDraft(form).draft,
      transport: { type: "builtin", builtin },
      id: "srv-1",
      generation: 1,
      origin: "user",
    } as const;
    expect(toDraft(fromConfig(config), config).draft.transport).toEqual(config.transport);
  });

  it.each<ServerLimits>([
    defaultLimits,
    {
      connectSecs: 5,
      callSecs: null,
      callCapSecs: "default",
      healthEverySecs: 0,
      healthTimeoutSecs: 2,
      healthFailures: 9,
      strict: true,
      roots: ["/a", "/b c"],
    },
  ])("keeps the limits %j", (limits) => {
    const config = { ...toDraft(form).draft, limits, id: "srv-1", generation: 1, origin: "user" } as const;
    expect(toDraft(fromConfig(config), config).draft.limits).toEqual(limits);
  });
});
