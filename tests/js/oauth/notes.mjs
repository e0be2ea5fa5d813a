// The protected MCP server: Streamable HTTP of revisions 2025-11-25 and 2026-07-28 at one address, behind
// tokens that are for it alone. Asks the authorization server about each token and each request.
import { createRemoteJWKSet, jwtVerify } from "jose";

import { hash } from "./ledger.mjs";
import { text } from "./issuer.mjs";

const OLD = "2025-11-25";
const NEW = "2026-07-28";
const META = "io.modelcontextprotocol/";
const SERVER = { name: "protected-notes", version: "1.0.0" };
const READ = "notes.read";
const WRITE = "notes.write";
/** What a newcomer is told to ask for: with `openid` the account is told too. */
const BEGIN = `openid ${READ}`;
const NEEDS = { write: WRITE };

const none = { type: "object", properties: {} };
const TOOLS = [
  {
    name: "whoami",
    description: "Says who calls, and with which scopes.",
    inputSchema: none,
    annotations: { readOnlyHint: true },
  },
  {
    name: "slow",
    description: "Answers after some time.",
    inputSchema: { type: "object", properties: { ms: { type: "integer" } }, required: ["ms"] },
    annotations: { readOnlyHint: true },
  },
  {
    name: "write",
    description: "Writes a note; needs the scope notes.write.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
];

export class Notes {
  /** Every token that came: its hash, who issued it, for what it was, and what was answered. */
  seen = [];
  #issuer;
  #keys;

  /** @param origin where it serves, @param issuers all of them, for telling whose a token is */
  constructor(origin, issuers, older) {
    this.origin = origin;
    this.resource = `${origin}/mcp`;
    this.issuers = issuers;
    this.older = older;
  }

  /** From now on this one's tokens count, and nobody else's. */
  trust(issuer) {
    this.#issuer = issuer;
    this.#keys = createRemoteJWKSet(new URL("/jwks", issuer.issuer));
  }

  async serve(request, response) {
    const { pathname } = new URL(request.url, this.origin);
    if (pathname === "/.well-known/oauth-protected-resource/mcp" && request.method === "GET") {
      return json(response, 200, {
        resource: this.resource,
        resource_name: "Protected notes",
        authorization_servers: [this.#issuer.issuer],
        scopes_supported: ["openid", READ, WRITE],
        bearer_methods_supported: ["header"],
      });
    }
    if (pathname !== "/mcp") return json(response, 404, { error: "not_found" });
    if (request.headers.origin && request.headers.origin !== this.origin) return json(response, 403, {});
    const body = request.method === "POST" ? await text(request) : "";
    const message = body ? parsed(body) : {};
    const note = { method: message?.method ?? request.method, tool: message?.params?.name ?? null };
    const token = await this.#token(request, response, note);
    if (!token) return undefined;
    if (request.method !== "POST") return answer(response, 405, { allow: "POST" });
    if (!message) return json(response, 400, failure(null, -32700, "no message"));
    return this.#message(response, request, message, token);
  }

  /** Whose token it is, or the refusal. */
  async #token(request, response, note) {
    const [scheme, value] = (request.headers.authorization ?? "").split(" ");
    const metadata = `resource_metadata="${this.origin}/.well-known/oauth-protected-resource/mcp"`;
    const refuse = (status, challenge) => {
      if (value) this.#note(note, value, status);
      answer(response, status, { "www-authenticate": `Bearer ${challenge}${metadata}` });
    };
    if (scheme?.toLowerCase() !== "bearer" || !value) return refuse(401, `scope="${BEGIN}", `);
    const token = await this.#ask(value);
    if (!token) return refuse(401, `error="invalid_token", scope="${BEGIN}", `);
    const scopes = (token.scope ?? "").split(" ");
    const needed = (note.method === "tools/call" && NEEDS[note.tool]) || READ;
    if (!scopes.includes(READ) || !scopes.includes(needed)) {
      return refuse(403, `error="insufficient_scope", scope="${scopes.includes(READ) ? needed : READ}", `);
    }
    this.#note(note, value, 200);
    return { account: token.sub ?? `client ${token.client_id}`, scopes };
  }

  #note(note, value, status) {
    const issuer = this.issuers.find((it) => it.ledger.issued.has(value))?.issuer ?? null;
    this.seen.push({ ...note, hash: hash(value), issuer, status });
  }

  /** What the authorization server says of a token, if it is valid and for this server. */
  async #ask(value) {
    if (value.split(".").length === 3) {
      const { issuer } = this.#issuer;
      const checks = { issuer, audience: this.resource, typ: "at+jwt" };
      return jwtVerify(value, this.#keys, checks).then(({ payload }) => payload, () => undefined);
    }
    const credentials = btoa(`notes-server:${encodeURIComponent(this.#issuer.secretOf("notes-server"))}`);
    const reply = await fetch(`${this.#issuer.issuer}/token/introspection`, {
      method: "POST",
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ token: value, token_type_hint: "access_token" }),
    });
    const told = await reply.json();
    const audience = [told.aud].flat();
    return told.active && told.token_type === "Bearer" && audience.includes(this.resource) ? told : undefined;
  }

  async #message(response, request, message, token) {
    const revision = message.params?._meta?.[`${META}protocolVersion`];
    const header = request.headers["mcp-protocol-version"];
    const modern = revision !== undefined || header === NEW;
    if (message.id === undefined) return answer(response, 202);
    if (modern && this.older) return json(response, 400, failure(message.id, -32601, "no such method"));
    if (modern && (revision !== NEW || header !== NEW)) {
      const data = { supported: [NEW], requested: revision ?? header };
      return json(response, 400, failure(message.id, -32022, "unsupported protocol version", data));
    }
    const result = await this.#result(message, token, modern, response);
    if (result === undefined) return json(response, 200, failure(message.id, -32601, "no such method"));
    return json(response, 200, { jsonrpc: "2.0", id: message.id, result });
  }

  async #result({ method, params }, token, modern, response) {
    const full = (members) => (modern ? { resultType: "complete", ...members } : members);
    const cached = (members) => full(modern ? { ...members, ttlMs: 0, cacheScope: "private" } : members);
    const capabilities = { tools: {} };
    switch (method) {
      case "initialize":
        return modern ? undefined : { protocolVersion: OLD, capabilities, serverInfo: SERVER };
      case "server/discover":
        if (!modern) return undefined;
        return cached({ supportedVersions: [NEW], capabilities, _meta: { [`${META}serverInfo`]: SERVER } });
      case "ping":
        return modern ? undefined : {};
      case "tools/list":
        return cached({ tools: TOOLS });
      case "tools/call":
        return full(await call(params, token, response));
      default:
        return undefined;
    }
  }
}

async function call({ name, arguments: given = {} }, token, response) {
  const said = (words, isError = false) => ({ content: [{ type: "text", text: words }], isError });
  switch (name) {
    case "whoami":
      return said(`${token.account} with ${token.scopes.toSorted().join(" ")}`);
    case "slow":
      await new Promise((done) => {
        const timer = setTimeout(done, Number(given.ms) || 0);
        response.once("close", () => {
          clearTimeout(timer);
          done();
        });
      });
      return said(`waited for ${token.account}`);
    case "write":
      return said(`${token.account} wrote ${String(given.text)}`);
    default:
      return said(`There is no tool ${String(name)}.`, true);
  }
}

const failure = (id, code, message, data) => ({ jsonrpc: "2.0", id, error: { code, message, ...(data ? { data } : {}) } });

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function answer(response, status, headers = {}, body = "") {
  response.writeHead(status, { "content-length": Buffer.byteLength(body), ...headers });
  response.end(body);
}

export const json = (response, status, value) =>
  answer(response, status, { "content-type": "application/json" }, JSON.stringify(value));
