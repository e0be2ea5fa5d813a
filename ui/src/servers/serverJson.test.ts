import { describe, expect, it } from "vitest";

import type { ServerConfig, SignInSettings, Transport } from "../generated/types";
import { defaultLimits } from "./serverForm";
import { entryText, readEntry } from "./serverJson";
import { defaultSignIn } from "./signInForm";

const config = (transport: Transport, differs: Partial<ServerConfig> = {}): ServerConfig => ({
  id: "srv-1",
  generation: 1,
  origin: "user",
  name: "files",
  transport,
  enabled: true,
  autostart: true,
  look: { description: null, icon: null, group: null },
  limits: defaultLimits,
  ...differs,
});
const program = config({
  type: "stdio",
  command: "node",
  args: ["x.js"],
  env: { TOKEN: "${secret:TOKEN}", A: "1" },
  cwd: null,
  streams: "sockets",
});
const remote = config({
  type: "http",
  url: "https://x.example/mcp",
  headers: { Authorization: "Bearer ${secret:KEY}" },
  headersFrom: { command: "t", args: ["-x"] },
  signIn: defaultSignIn,
});
const signedInWith = (signIn: Partial<SignInSettings>) =>
  config({
    type: "http",
    url: "https://x.example/mcp",
    headers: {},
    headersFrom: null,
    signIn: { ...defaultSignIn, ...signIn },
  });
const keyed = signedInWith({
  client: { id: "c", secret: null, method: null },
  with: { with: "client_key", key: "${secret:key}", algorithm: "ES256" },
});

describe("a servers.json entry", () => {
  it.each([
    program,
    remote,
    config(
      { type: "auto", url: "https://x.example/mcp", headers: {}, headersFrom: null, signIn: defaultSignIn },
      { name: "a/~b".replace("/", "-"), autostart: false },
    ),
    keyed,
    signedInWith({ off: true }),
    signedInWith({
      client: { id: "c", secret: "${secret:mine}", method: "client_secret_post" },
      scopes: ["a", "b"],
      redirect: "http://127.0.0.1:8976/callback",
      endpoints: { authorize: "https://as.example/authorize", token: "https://as.example/token", revoke: null },
      with: { with: "enterprise", issuer: "https://idp.example", client: "d", secret: "${secret:companySecret}" },
    }),
    config({ type: "builtin", builtin: { kind: "fetch", allowPrivate: true } }, { enabled: false }),
    config(
      { type: "builtin", builtin: { kind: "files", folder: "/home" } },
      { look: { description: "d", icon: "i", group: "g" } },
    ),
    config(
      { type: "stdio", command: "x", args: [], env: {}, cwd: "/tmp", streams: "pipes" },
      { limits: { ...defaultLimits, callSecs: null, strict: true, roots: ["/a"] } },
    ),
  ])("round-trips %j", (one) => {
    const { id, generation, origin, ...draft } = one;
    expect([id, generation, origin]).toEqual(["srv-1", 1, "user"]);
    expect(readEntry(entryText(one), [], one)).toEqual({ draft });
  });

  it("contains only what differs from the defaults", () => {
    expect(entryText(program)).toBe(
      JSON.stringify(
        { files: { command: "node", args: ["x.js"], env: { TOKEN: "${secret:TOKEN}", A: "1" } } },
        null,
        2,
      ),
    );
    const signIn = { client: { id: "c" }, with: { with: "client_key", key: "${secret:key}", algorithm: "ES256" } };
    expect(JSON.parse(entryText(keyed))).toEqual({ files: { type: "http", url: "https://x.example/mcp", signIn } });
  });

  it.each<[string, string, string]>([
    ['{"a": {"command": "x"},}', "json.broken", "}"],
    ["[]", "json.oneServer", "[]"],
    ['{"a": {"command": "x"}, "b": {}}', "json.oneServer", '{"a": {"command": "x"}, "b": {}}'],
    ['{"a": {}}', "json.neither", '"a"'],
    ['{"a": {"type": "htp", "url": "https://x"}}', "json.type", '"htp"'],
    ['{"a": {"command": "x", "url": "https://x"}}', "json.unknown", '"url"'],
    ['{"a": {"command": "x", "name": "b"}}', "json.name", '"name"'],
    ['{"a": {"command": "x", "command": "y"}}', "json.twice", '"command"'],
    ['{"a": {"command": 3}}', "json.text", "3"],
    ['{"a": {"type": "stdio"}}', "json.missing", '"a"'],
    ['{"a": {"command": ""}}', "servers.form.needCommand", '""'],
    ['{"a": {"command": "x", "args": "y"}}', "json.list", '"y"'],
    ['{"a": {"command": "x", "env": {"N": 1}}}', "json.text", "1"],
    ['{"a": {"command": "x", "env": []}}', "json.texts", "[]"],
    ['{"a": {"command": "x", "env": {"NEW": "${secret:NEW}"}}}', "json.newSecret", '"${secret:NEW}"'],
    ['{"a": {"command": "x", "env": {"TOKEN": "${secret:TOKEN}"}}}', "json.secretMoved", '"${secret:TOKEN}"'],
    ['{"a": {"command": "x", "streams": "files"}}', "json.oneOf", '"files"'],
    ['{"a": {"url": "ftp://x"}}', "servers.form.badUrl", '"ftp://x"'],
    ['{"a": {"url": "https://x", "headersFrom": "t"}}', "json.program", '"t"'],
    ['{"a": {"builtin": {"kind": "clock"}}}', "json.builtin", '{"kind": "clock"}'],
    ['{"a": {"builtin": {"kind": "time", "folder": "/"}}}', "json.unknown", '"folder"'],
    ['{"a": {"command": "x", "enabled": "yes"}}', "json.flag", '"yes"'],
    ['{"a": {"command": "x", "limits": {"connectSecs": "5"}}}', "json.number", '"5"'],
    ['{"a": {"command": "x", "limits": {"connectSecs": 0}}}', "servers.form.needAmount1", "0"],
    ['{"a": {"command": "x", "limits": {"connectSec": 5}}}', "json.unknown", '"connectSec"'],
    ['{"a": {"command": "x", "limits": {"roots": ["a"]}}}', "servers.form.needRoots", '["a"]'],
    ['{"taken": {"command": "x"}}', "servers.form.nameTaken", '"taken"'],
  ])("rejects %s: %s at %s", (text, key, at) => {
    const read = readEntry(text, ["taken"], program);
    expect("faults" in read && read.faults.map((fault) => [fault.key, text.slice(fault.from, fault.to)])).toEqual([
      [key, at],
    ]);
  });

  it.each<[string, string, string]>([
    ['{"off": 1}', "json.flag", "1"],
    ["[]", "json.object", "[]"],
    ['{"scope": []}', "json.unknown", '"scope"'],
    ['{"client": {"secret": "${secret:a}"}}', "json.missing", '"client"'],
    ['{"client": {"id": "c", "secret": "plain"}}', "json.newSecret", '"plain"'],
    ['{"client": {"id": "c", "method": "basic"}}', "json.oneOf", '"basic"'],
    ['{"client": {"id": ""}}', "servers.signIn.needId", '""'],
    ['{"redirect": "https://x.example/"}', "servers.signIn.badRedirect", '"https://x.example/"'],
    ['{"endpoints": {"authorize": "https://a", "token": "https://b"}}', "servers.signIn.needIdToo", '"signIn"'],
    [
      '{"client": {"id": "c"}, "endpoints": {"authorize": "ftp://a", "token": "https://b"}}',
      "servers.signIn.badAddress",
      '"ftp://a"',
    ],
    [
      '{"client": {"id": "c"}, "endpoints": {"authorize": "", "token": 1}}',
      "servers.signIn.badAddress json.text",
      '"" 1',
    ],
    ['{"with": {"with": "me"}}', "json.oneOf", '"me"'],
    ['{"with": {"with": "browser", "key": "x"}}', "json.unknown", '"key"'],
    ['{"with": {"with": "client_secret"}, "client": {"id": "c"}}', "servers.signIn.needOwnSecret", '"client"'],
    [
      '{"client": {"id": "c"}, "with": {"with": "client_key", "key": "${secret:other}", "algorithm": "ES256"}}',
      "json.newSecret",
      '"${secret:other}"',
    ],
  ])("rejects sign-in with %s: %s at %s", (signIn, key, at) => {
    const text = `{"files": {"type": "http", "url": "https://x.example/mcp", "signIn": ${signIn}}}`;
    const read = readEntry(text, [], keyed);
    const found = "faults" in read ? read.faults : [];
    expect(found.map((fault) => fault.key).join(" ")).toBe(key);
    expect(found.map(({ from, to }) => text.slice(from, to)).join(" ")).toBe(at);
  });

  it("rejects moving a key to another address", () => {
    const text = entryText(keyed).replace("x.example", "y.example");
    const read = readEntry(text, [], keyed);
    expect("faults" in read && read.faults.map(({ key }) => key)).toEqual(["json.secretMoved"]);
  });

  it("ignores Gatehouse's own marker", () => {
    const text = '{"files": {"command": "y", "gatehouse": {"id": "srv-9", "generation": 7}}}';
    expect(readEntry(text, [], program)).toMatchObject({ draft: { name: "files", transport: { command: "y" } } });
  });
});
