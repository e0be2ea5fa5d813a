// A server without packages, to be put into bundles. Its tool tells what it was started with; the value of TOKEN itself is
// never told, only its length.

import { createInterface } from "node:readline";

/** A red square. */
const icon = {
  src: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  mimeType: "image/png",
};

const tool = {
  name: "started_with",
  description: "Tells what this server was started with.",
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
};

function result(method, params) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "bundled", version: "1.0.0", icons: [icon] },
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: [tool] };
    case "tools/call": {
      const { GREETING = null, TOKEN = "" } = process.env;
      const told = { args: process.argv.slice(2), folder: process.cwd(), greeting: GREETING, token: TOKEN.length };
      return { content: [{ type: "text", text: JSON.stringify(told) }] };
    }
    default:
      return null;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const found = result(method, params);
  const answer = found === null ? { error: { code: -32601, message: `There is no ${method}.` } } : { result: found };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
