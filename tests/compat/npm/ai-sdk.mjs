// @ai-sdk/mcp, with its own choice of the revision; see tests/js/lines.mjs.
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { run } from "../../js/lines.mjs";

let client;

function transportTo({ url, token, command }) {
  if (command) {
    const { program, arguments: args, environment: env } = command;
    return new StdioMCPTransport({ command: program, args, env, stderr: "inherit" });
  }
  return { type: "http", url, headers: { Authorization: `Bearer ${token}` } };
}

await run({
  connect: async (command) => {
    client = await createMCPClient({ transport: transportTo(command), onUncaughtError: () => {} });
    return { server: client.serverInfo?.name };
  },
  list: async () => ({ tools: (await client.listTools()).tools }),
  call: ({ name, arguments: args, timeoutMs }) =>
    client.callTool({ name, arguments: args, options: { timeout: timeoutMs ?? 60_000 } }),
  close: async () => {
    await client?.close();
    return {};
  },
});
