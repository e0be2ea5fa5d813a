// A real MCP client (the TypeScript SDK) on strings: reads one JSON command a line on stdin and
// answers each with one JSON line on stdout. See tests/src/client.rs for the other end.
//
//   {"op":"connect","url":…,"token":…,"revision":"2026-07-28"|"2025-11-25","answers":{…}}
//   {"op":"list"}  {"op":"call","id":…,"name":…,"arguments":…,"timeoutMs":…,"progress":true}
//   {"op":"read","uri":…}  {"op":"watch","uri":…}  {"op":"unwatch","uri":…}
//   {"op":"level","uri":level}  {"op":"cancel","id":…}  {"op":"close"}
//
// What it can be asked is what "answers" holds: "form" and "url" (an elicitation result), "sampling"
// (a text), "roots" (a list). Each question that it got is said as {"asked":method,"params":…}, each
// update of a resource as {"updated":uri}, and what servers log as {"logged":text,"level":level}.
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

let client;
let level;
const inFlight = new Map();
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const failure = (error) => ({ error: { code: error?.code ?? null, message: String(error?.message ?? error) } });

function answering(answers) {
  const elicitation = { ...(answers.form ? { form: {} } : {}), ...(answers.url ? { url: {} } : {}) };
  return {
    ...(Object.keys(elicitation).length > 0 ? { elicitation } : {}),
    ...(answers.sampling ? { sampling: {} } : {}),
    ...(answers.roots ? { roots: {} } : {}),
  };
}

function answer(answers) {
  const take = (method, make) =>
    client.setRequestHandler(method, async ({ params }) => {
      say({ asked: method, params });
      return make(params);
    });
  if (answers.form || answers.url) {
    take("elicitation/create", (params) => (params.mode === "url" ? answers.url : answers.form));
  }
  if (answers.sampling) {
    const content = { type: "text", text: answers.sampling };
    take("sampling/createMessage", () => ({ role: "assistant", model: "sdk-js", content }));
  }
  if (answers.roots) take("roots/list", () => ({ roots: answers.roots }));
}

async function connect({ url, token, revision, answers = {} }) {
  const modern = revision === "2026-07-28";
  client = new Client(
    { name: "sdk-js", version: "1.0.0" },
    { versionNegotiation: { mode: modern ? { pin: revision } : "legacy" }, capabilities: answering(answers) },
  );
  client.onerror = () => {};
  answer(answers);
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => say({ updated: params.uri }));
  client.setNotificationHandler("notifications/tools/list_changed", () => say({ toolsChanged: true }));
  client.setNotificationHandler("notifications/message", ({ params }) =>
    say({ logged: params.data, level: params.level }),
  );
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return { protocol: client.getNegotiatedProtocolVersion(), server: client.getServerVersion()?.name };
}

async function call({ id, name, arguments: args, timeoutMs, progress }) {
  const abort = new AbortController();
  inFlight.set(id, abort);
  try {
    return await client.callTool(
      { name, arguments: args, ...(level ? { _meta: { "io.modelcontextprotocol/logLevel": level } } : {}) },
      {
        signal: abort.signal,
        timeout: timeoutMs ?? 60_000,
        ...(progress ? { onprogress: (p) => say({ progressOf: id, ...p }), resetTimeoutOnProgress: true } : {}),
      },
    );
  } finally {
    inFlight.delete(id);
  }
}

const ops = {
  connect,
  list: async () => ({ tools: (await client.listTools()).tools }),
  call,
  read: ({ uri }) => client.readResource({ uri }),
  watch: async ({ uri }) => (await client.subscribeResource({ uri })) ?? {},
  unwatch: async ({ uri }) => (await client.unsubscribeResource({ uri })) ?? {},
  // A session is told once; where there is none each call says it.
  level: async ({ uri }) => {
    if (client.getNegotiatedProtocolVersion() === "2026-07-28") level = uri;
    else await client.setLoggingLevel(uri);
    return {};
  },
  cancel: async ({ id }) => {
    inFlight.get(id)?.abort("the user stopped it");
    return {};
  },
  close: async () => {
    await client?.close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const name = command.op === "call" ? command.id : command.op;
  const answer = ops[command.op](command).then(
    (result) => say({ id: name, result }),
    (error) => say({ id: name, ...failure(error) }),
  );
  if (command.op !== "call") await answer;
  if (command.op === "close") process.exit(0);
}
