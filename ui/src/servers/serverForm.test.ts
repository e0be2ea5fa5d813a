import { describe, expect, it } from "vitest";

import type { Builtin, ServerLimits, Transport } from "../generated/types";
import {
  emptyServerForm,
  faultsOf,
  filledForm,
  formErrorOf,
  formSyntax,
  fromConfig,
  toDraft,
  toValidation,
  updatedForm,
  defaultLimits,
  protocolVersions,
  withoutSecrets,
  type ServerForm,
} from "./serverForm";
import { defaultSignIn, noSecret } from "./signInForm";
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

  it("without its secrets has none that was typed, and all else", () => {
    const typed = { value: "s3cr3t", kept: "${secret:key}" };
    const signIn = { ...form.signIn, id: "app", secret: typed, key: typed, companySecret: typed };
    const left = withoutSecrets({ ...form, signIn });
    expect(JSON.stringify(left)).not.toMatch(/s3/);
    expect(left.lines).toEqual([
      { name: "TOKEN", value: "", secret: true, kept: false },
      { name: "A", value: "1", secret: false, kept: false },
    ]);
    const empty = { ...noSecret, kept: "${secret:key}" };
    expect(left).toEqual({
      ...form,
      lines: left.lines,
      signIn: { ...signIn, secret: empty, key: empty, companySecret: empty },
    });
  });

  it("keeps only the secrets that the server has when a newer version is filled in", () => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const registry = { name: "io.example/files", version: "2.0.0" };
    const transport: Transport = {
      type: "stdio",
      command: "node",
      args: ["x.js"],
      env: { TOKEN: "${secret:TOKEN}", NEW_KEY: "${secret:NEW_KEY}", REGION: "" },
      cwd: null,
      streams: "sockets",
    };
    const updated = updatedForm({ ...config, transport, registry }, config);
    expect(updated.lines).toEqual([
      { name: "TOKEN", value: "", secret: true, kept: true },
      { name: "NEW_KEY", value: "", secret: true, kept: false },
      { name: "REGION", value: "", secret: false, kept: false },
    ]);
    expect(toDraft(updated, config).draft.registry).toEqual(registry);
    expect(formSyntax(updated)).toEqual({ lines: { key: "problem.secret", params: {} } });
  });

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

  it.each<[Partial<ServerForm>, Record<string, string>]>([
    [{}, {}],
    [{ name: " ", command: "" }, {}],
    [{ command: 'a "b' }, { command: "servers.form.openQuote" }],
    [{ kind: "http", command: 'a "b', headersFrom: 'a "b' }, { headersFrom: "servers.form.openQuote" }],
    [{ limits: { ...emptyServerForm.limits, callSecs: "none", callCapSecs: 60, healthEverySecs: 0 } }, {}],
    [{ limits: { ...emptyServerForm.limits, callSecs: "" } }, { callSecs: "problem.amount1" }],
    [{ limits: { ...emptyServerForm.limits, healthEverySecs: "" } }, { healthEverySecs: "problem.amount" }],
    [{ limits: { ...emptyServerForm.limits, connectSecs: 1.5 } }, { connectSecs: "problem.amount1" }],
    [{ limits: { ...emptyServerForm.limits, connectSecs: 2 ** 32 } }, { connectSecs: "problem.amount1" }],
    [{ limits: { ...emptyServerForm.limits, roots: "/home/ana/work\n\nC:\\work\n" } }, {}],
    [{ lines: [form.lines[0], form.lines[0]].filter((line) => line !== undefined) }, { lines: "servers.form.twice" }],
    [{ lines: [{ name: "A", value: "", secret: false, kept: false }] }, {}],
    [{ lines: [{ name: "A", value: "", secret: true, kept: false }] }, { lines: "problem.secret" }],
    [{ lines: [{ name: "A", value: "", secret: true, kept: true }] }, {}],
    [{ lines: [{ name: "", value: "", secret: true, kept: false }] }, {}],
    [{ kind: "builtin", lines: [{ name: "A", value: "", secret: true, kept: false }] }, {}],
  ])("cannot make %j into settings: %j", (change, said) => {
    const found = Object.entries(formSyntax({ ...form, ...change })).map(([field, { key }]) => [field, key]);
    expect(Object.fromEntries(found)).toEqual(said);
  });

  it("asks the core about numbers that it can hold", () => {
    const limits = { ...emptyServerForm.limits, callSecs: "", callCapSecs: "none", connectSecs: 1.5 };
    const { settings } = toValidation({ ...form, limits });
    expect("draft" in settings && settings.draft.limits).toEqual({
      ...defaultLimits,
      callSecs: 0,
      callCapSecs: null,
      connectSecs: 0,
    });
  });

  it("tells the core which secrets are given, and never what they are", () => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const secrets = (lines: ServerForm["lines"], before?: typeof config) =>
      toValidation({ ...form, lines }, before).secrets;
    const line = { name: "TOKEN", value: "s3", secret: true, kept: false };
    expect(JSON.stringify(toValidation(form))).not.toContain("s3");
    expect(toValidation(form, config).server).toBe("srv-1");
    expect(secrets([line])).toEqual(["env/TOKEN"]);
    expect(secrets([{ ...line, value: "" }])).toEqual([]);
    expect(secrets([{ ...line, value: "", kept: true }], config)).toEqual([]);
    expect(secrets([{ ...line, value: "new", kept: true }], config)).toEqual(["env/TOKEN"]);
  });

  it.each([
    { value: "", kept: false },
    { value: "", kept: true },
    { value: "new", kept: false },
    { value: "new", kept: true },
  ])("sends the secrets that it named to the core: %j", (entered) => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const edited = { ...form, lines: [{ name: "TOKEN", secret: true, ...entered }] };
    const { secrets } = toDraft(edited, config);
    expect(secrets).toEqual(entered.value === "" ? [] : [{ field: "env/TOKEN", value: "new" }]);
    expect(toValidation(edited, config).secrets).toEqual(secrets.map(({ field }) => field));
  });

  it("asks for secrets again when the destination changes", () => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const moved = { ...fromConfig(config), command: "node other.js" };
    expect(formSyntax(moved)).toEqual({});
    expect(toValidation(moved, config)).toMatchObject({
      server: "srv-1",
      settings: { draft: { transport: { args: ["other.js"], env: { TOKEN: "${secret:TOKEN}" } } } },
      secrets: [],
    });
    const message = { key: "problem.secretMoved", params: {} };
    expect(faultsOf([{ pointer: "/env/TOKEN", message, span: null }])).toEqual({ lines: message });
    const lines = moved.lines.map((line) => (line.kept ? { ...line, value: "new" } : line));
    expect(toValidation({ ...moved, lines }, config).secrets).toEqual(["env/TOKEN"]);
  });

  it("leaves to the core which roots are full paths on its system", () => {
    const roots = "/home/ana/work\n\n C:\\work\n\\\\nas\\work";
    const { draft } = toDraft({ ...form, limits: { ...form.limits, roots } });
    expect(draft.limits.roots).toEqual(["/home/ana/work", "C:\\work", "\\\\nas\\work"]);
  });

  it.each<[string, string | null]>([
    ["/name", "name"],
    ["/command", "command"],
    ["/url", "url"],
    ["/headersFrom/command", "headersFrom"],
    ["/builtin/folder", "folder"],
    ["/env/TOKEN", "lines"],
    ["/env/", "lines"],
    ["/headers/X~1Y", "lines"],
    ["/limits/roots/1", "roots"],
    ["/limits/connectSecs", "connectSecs"],
    ["/limits/callCapSecs", "callCapSecs"],
    ["/signIn/client/id", "clientId"],
    ["/signIn/client/secret", "clientSecret"],
    ["/signIn/redirect", "redirect"],
    ["/signIn/endpoints/authorize", "authorize"],
    ["/signIn/endpoints/token", "token"],
    ["/signIn/endpoints/revoke", "revoke"],
    ["/signIn/with/issuer", "issuer"],
    ["/signIn/with/client", "company"],
    ["/signIn/with/secret", "companySecret"],
    ["/signIn/with/key", "key"],
    ["/elsewhere", null],
  ])("shows what the core says of %s at %s", (pointer, field) => {
    const said = (key: string) => ({ pointer, message: { key, params: {} }, span: null });
    const problems = [said("first"), said("second")];
    expect(faultsOf(problems)).toEqual(field === null ? {} : { [field]: { key: "first", params: {} } });
    expect(formErrorOf(problems) === null).toBe(field !== null);
  });

  it("shows for the whole form what the core says of a place without a field", () => {
    const problem = { key: "problem.text", params: {} };
    const said = (pointer: string) => formErrorOf([{ pointer, message: problem, span: null }]);
    const error = { code: "bad_request", cause: null, hint: null };
    expect(said("")).toEqual({ ...error, message: problem });
    const message = {
      key: "problem.inField",
      params: { field: { text: "look.icon" }, problem: { message: problem } },
    };
    expect(said("/look/icon")).toEqual({ ...error, message });
    expect(said("/name")).toBeNull();
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

  it.each(protocolVersions)("keeps the protocol version %s", (protocolVersion) => {
    const config = { ...toDraft(form).draft, protocolVersion, id: "srv-1", generation: 1, origin: "user" } as const;
    expect(toDraft(fromConfig(config), config).draft.protocolVersion).toBe(protocolVersion);
  });

  it("pins no version of a built-in server", () => {
    const pinned: ServerForm = { ...emptyServerForm, kind: "builtin", builtin: "time", protocolVersion: "2025-11-25" };
    expect(toDraft(pinned).draft.protocolVersion).toBe("auto");
  });

  it("shows a refused version at its field", () => {
    const message = { key: "problem.statelessSse", params: {} };
    expect(faultsOf([{ pointer: "/protocolVersion", message, span: null }])).toEqual({ protocolVersion: message });
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

  it("takes settings over with their secrets", () => {
    const { draft } = toDraft({
      ...form,
      kind: "stdio",
      command: "node x",
      lines: [
        { name: "KEY", value: "old", secret: true, kept: false },
        { name: "PLAIN", value: "1", secret: false, kept: false },
      ],
    });
    const secrets = [{ field: "env/KEY", value: "s3cret" }];
    const filled = filledForm({ draft, secrets });
    expect(toDraft(filled)).toEqual({ draft, secrets });
    expect(toDraft(filledForm({ draft, secrets: [] })).secrets).toEqual([]);
  });
});
