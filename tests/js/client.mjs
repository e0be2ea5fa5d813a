// A real MCP client (the TypeScript SDK) on strings; see lines.mjs, and tests/src/client.rs for the other end.
//
//   {"op":"connect","url":…,"token":…,"revision":"2026-07-28"|"2025-11-25","answers":{…}}
//       over Streamable HTTP, or over HTTP+SSE if the URL ends with /sse, or over standard streams with
//       "command":{"program":…,"arguments":…,"environment":…} in place of url and token
//   {"op":"list"}  {"op":"call","id":…,"name":…,"arguments":…,"timeoutMs":…,"progress":true}
//   {"op":"read","uri":…}  {"op":"watch","uri":…}  {"op":"unwatch","uri":…}
//   {"op":"level","uri":level}  {"op":"cancel","id":…}  {"op":"close"}
//
// What it can be asked is what "answers" holds: "form" and "url" (an elicitation result), "sampling"
// (a text), "roots" (a list). Each question that it got is said as {"asked":method,"params":…}, each
// update of a resource as {"updated":uri}, and what servers log as {"logged":text,"level":level}.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run, say } from "./lines.mjs";

let client;
let level;
const inFlight = new Map();

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

function transportTo({ url, token, command }) {
  if (command) {
    const { program, arguments: args, environment: env } = command;
    return new StdioClientTransport({ command: program, args, env, stderr: "inherit" });
  }
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const Transport = url.endsWith("/sse") ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(url), { requestInit: { headers } });
}

async function connect({ url, token, command, revision, answers = {} }) {
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
  await client.connect(transportTo({ url, token, command }));
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

await run(ops);
