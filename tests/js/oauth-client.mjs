// A client of the TypeScript SDK that has no token and asks for access by OAuth, with a person at a browser that only
// follows what the pages say. Speaks the line protocol of lines.mjs.
//
//   {"op":"connect","url":…}   asks for access if it has no tokens; {"tools":[names],"asked":whether it asked}
//   {"op":"expire"}            spoils its access token, so that the next request has to refresh it
//   {"op":"tokens"}            the tokens that it has, and its client id
//   {"op":"leave"}             ends the connection and keeps the tokens, so that nothing is asked until the next connect
//   {"op":"close"}
import { createServer } from "node:http";

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { run } from "./lines.mjs";

const saved = {};
let answered;
const listener = createServer((request, response) => {
  answered?.(new URL(request.url, redirectUrl));
  response.end("done");
});
await new Promise((listening) => listener.listen(0, "127.0.0.1", listening));
const redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;

/** Opens a page as a browser does: follows redirects, and loads a page again that says so. */
async function browse(address) {
  for (;;) {
    const response = await fetch(address, { redirect: "manual" });
    const next = response.headers.get("location");
    if (next !== null) address = new URL(next, address);
    else if (!(await response.text()).includes('http-equiv="refresh"')) return;
  }
}

const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: "SDK",
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  state: () => "a state",
  clientInformation: () => saved.client,
  saveClientInformation: (client) => void (saved.client = client),
  tokens: () => saved.tokens,
  saveTokens: (tokens) => void (saved.tokens = tokens),
  saveCodeVerifier: (verifier) => void (saved.verifier = verifier),
  codeVerifier: () => saved.verifier,
  invalidateCredentials: (scope) => {
    if (scope === "all" || scope === "tokens") delete saved.tokens;
    if (scope === "all" || scope === "client") delete saved.client;
  },
  redirectToAuthorization: (address) => {
    saved.callback = new Promise((resolve) => (answered = resolve));
    saved.page = browse(address);
  },
};

let client;

async function leave() {
  await client?.close();
  return {};
}

async function connect({ url }) {
  await leave();
  saved.callback = undefined;
  const open = async () => {
    client = new Client({ name: "sdk-oauth", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    try {
      await client.connect(transport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || !saved.callback) throw error;
      const { searchParams } = await saved.callback;
      await saved.page;
      if (searchParams.get("error")) throw new Error(searchParams.get("error"));
      await transport.finishAuth(searchParams);
      return false;
    }
    return true;
  };
  const asked = !(await open());
  if (asked) await open();
  const { tools } = await client.listTools();
  return { tools: tools.map(({ name }) => name), asked };
}

await run({
  connect,
  expire: async () => {
    saved.tokens = { ...saved.tokens, access_token: `${saved.tokens.access_token}x` };
    return {};
  },
  tokens: async () => ({ tokens: saved.tokens, client: saved.client?.client_id }),
  leave,
  close: leave,
});
