// A real MCP client (the TypeScript SDK) on strings: reads one JSON command a line on stdin and
// answers each with one JSON line on stdout. See tests/src/client.rs for the other end.
//
//   {"op":"connect","url":…,"token":…,"revision":"2026-07-28"|"2025-11-25"}
//   {"op":"list"}  {"op":"call","id":…,"name":…,"arguments":…,"timeoutMs":…,"progress":true}
//   {"op":"cancel","id":…}  {"op":"close"}
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

let client;
const inFlight = new Map();
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const failure = (error) => ({ error: { code: error?.code ?? null, message: String(error?.message ?? error) } });

async function connect({ url, token, revision }) {
  const modern = revision === "2026-07-28";
  client = new Client(
    { name: "sdk-js", version: "1.0.0" },
    { versionNegotiation: { mode: modern ? { pin: revision } : "legacy" } },
  );
  client.onerror = () => {};
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return { protocol: client.getNegotiatedProtocolVersion(), server: client.getServerVersion()?.name };
}

async function call({ id, name, arguments: args, timeoutMs, progress }) {
  const abort = new AbortController();
  inFlight.set(id, abort);
  try {
    return await client.callTool(
      { name, arguments: args },
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
