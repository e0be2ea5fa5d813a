// A real MCP client (the TypeScript SDK before version 2, in sessions) on strings, in the words of client.mjs:
// connect, list, call, cancel and close.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run } from "./lines.mjs";

let client;
const inFlight = new Map();

function transportTo({ url, token, command }) {
  if (command) {
    const { program, arguments: args, environment: env } = command;
    return new StdioClientTransport({ command: program, args, env, stderr: "inherit" });
  }
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

const ops = {
  connect: async (command) => {
    client = new Client({ name: "sdk-js1", version: "1.0.0" }, { capabilities: {} });
    client.onerror = () => {};
    const transport = transportTo(command);
    await client.connect(transport);
    return { protocol: transport.protocolVersion, server: client.getServerVersion()?.name };
  },
  list: async () => ({ tools: (await client.listTools()).tools }),
  call: async ({ id, name, arguments: args, timeoutMs }) => {
    const abort = new AbortController();
    inFlight.set(id, abort);
    try {
      return await client.callTool({ name, arguments: args }, undefined, {
        signal: abort.signal,
        timeout: timeoutMs ?? 60_000,
      });
    } finally {
      inFlight.delete(id);
    }
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
