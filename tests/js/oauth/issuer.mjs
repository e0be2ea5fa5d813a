// One authorization server: oidc-provider on a port of this machine, with switches for what real ones
// do on their bad days. PKCE with S256, iss in every answer, dynamic registration, resource indicators,
// refresh tokens that are used once.
import { createServer } from "node:http";
import { randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { errors } from "oidc-provider";

import { password, Store } from "./adapter.mjs";
import { Ledger } from "./ledger.mjs";
import { consent, login } from "./pages.mjs";

const NATIVE_REDIRECTS = ["http://127.0.0.1/callback", "http://localhost/callback"];

/** Switches of all issuers. */
export function switches(options) {
  return {
    /** Lifetime of access tokens, in seconds. */
    lifetime: options.lifetime ?? 3600,
    /** Whether access tokens are signed statements in the place of references. */
    jwt: options.jwt ?? false,
    /** What `iss` of an answer in the browser is: `right`, `wrong` or `absent`. */
    iss: "right",
    /** How long the token endpoint thinks, in milliseconds. */
    delay: 0,
    /** Errors that the token endpoint answers next: for which grant, which error, how often. */
    answers: [],
  };
}

export class Issuer {
  ledger = new Ledger();
  store = new Store();
  #switches;
  #resource;
  #clients;
  #pages;

  /** @param resource address of the protected server, @param clients those that are registered from the start */
  constructor(resource, clients, set) {
    this.#resource = resource;
    this.#clients = clients;
    this.#switches = set;
  }

  async start(port = 0) {
    this.server = createServer((request, response) => void this.#serve(request, response));
    await new Promise((ready) => this.server.listen(port, "127.0.0.1", ready));
    this.issuer = `http://127.0.0.1:${String(this.server.address().port)}`;
    this.provider = new Provider(this.issuer, await this.#configuration());
    this.provider.use((ctx, next) => this.#watch(ctx, next));
    this.#pages = this.provider.callback();
    return this;
  }

  /** The secret of a client that is registered from the start. */
  secretOf(client) {
    return password(this.issuer, client, this.#clients.seed);
  }

  async #configuration() {
    const keys = await Promise.all(["RS256", "ES256"].map((alg) => generateKeyPair(alg, { extractable: true })));
    const jwks = { keys: await Promise.all(keys.map(({ privateKey }) => exportJWK(privateKey))) };
    const secret = (id) => {
      const value = this.secretOf(id);
      this.ledger.issue("client_secret", value);
      return value;
    };
    const native = { application_type: "native", redirect_uris: NATIVE_REDIRECTS, response_types: ["code"] };
    const machine = { redirect_uris: [], response_types: [], grant_types: ["client_credentials"], scope: "notes.read notes.write" };
    // Cookies know no ports: two issuers of one machine must not share theirs.
    const own = (name) => `${name}_${new URL(this.issuer).port}`;
    return {
      adapter: (kind) => this.store.shelf(kind),
      jwks,
      clients: [
        {
          client_id: "confidential",
          client_name: "Confidential",
          client_secret: secret("confidential"),
          token_endpoint_auth_method: "client_secret_basic",
          grant_types: ["authorization_code", "refresh_token"],
          ...native,
        },
        {
          client_id: "machine",
          client_secret: secret("machine"),
          token_endpoint_auth_method: "client_secret_basic",
          ...machine,
        },
        {
          client_id: "key",
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          jwks: { keys: [this.#clients.publicKey] },
          ...machine,
        },
        {
          client_id: "notes-server",
          client_secret: secret("notes-server"),
          token_endpoint_auth_method: "client_secret_basic",
          redirect_uris: [],
          response_types: [],
          grant_types: [],
        },
      ],
      scopes: ["openid", "offline_access", "notes.read", "notes.write"],
      claims: { openid: ["sub", "email", "preferred_username"] },
      // The account is told in the id token itself.
      conformIdTokenClaims: false,
      findAccount: (_ctx, sub) => ({
        accountId: sub,
        claims: () => ({ sub, email: `${sub}@notes.example`, preferred_username: sub }),
      }),
      cookies: {
        keys: [randomBytes(24).toString("base64url")],
        names: { session: own("session"), interaction: own("interaction"), resume: own("resume") },
      },
      clockTolerance: 0,
      pkce: { required: () => true },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
      rotateRefreshToken: true,
      expiresWithSession: () => false,
      ttl: {
        AccessToken: () => this.#switches.lifetime,
        ClientCredentials: () => this.#switches.lifetime,
        AuthorizationCode: 60,
        IdToken: 3600,
        RefreshToken: 14 * 24 * 3600,
        Grant: 14 * 24 * 3600,
        Interaction: 3600,
        Session: 3600,
      },
      features: {
        devInteractions: { enabled: false },
        userinfo: { enabled: true },
        registration: { enabled: true },
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientId === "notes-server" },
        revocation: { enabled: true },
        rpInitiatedLogout: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => undefined,
          useGrantedResource: () => false,
          getResourceServerInfo: (_ctx, resource) => {
            if (resource !== this.#resource) throw new errors.InvalidTarget();
            return {
              scope: "notes.read notes.write",
              audience: resource,
              accessTokenFormat: this.#switches.jwt ? "jwt" : "opaque",
              ...(this.#switches.jwt ? { jwt: { sign: { alg: "ES256" } } } : {}),
            };
          },
        },
      },
      renderError: (ctx, out) => {
        ctx.type = "text";
        ctx.body = `${out.error}: ${out.error_description ?? ""}\n`;
      },
    };
  }

  /** Notes what goes in and out of the endpoints. */
  async #watch(ctx, next) {
    if (ctx.path === "/token" && this.#switches.delay > 0) {
      await new Promise((done) => setTimeout(done, this.#switches.delay));
    }
    await next();
    this.#noteRedirect(ctx);
    if (ctx.method !== "POST") return;
    const sent = ctx.oidc?.body ?? {};
    const reply = ctx.body ?? {};
    const good = ctx.status < 300;
    if (ctx.path === "/token") {
      this.ledger.count(sent.grant_type ?? "none", good);
      this.ledger.issue("verifier", sent.code_verifier);
      for (const kind of ["access_token", "refresh_token", "id_token"]) this.ledger.issue(kind, reply[kind]);
    } else if (ctx.path === "/token/revocation") {
      this.ledger.count("revocation", good);
    } else if (ctx.path === "/reg") {
      this.ledger.count("registration", good);
      for (const kind of ["client_secret", "registration_access_token"]) this.ledger.issue(kind, reply[kind]);
    } else {
      return;
    }
    for (const kind of ["code", "code_verifier", "refresh_token", "token", "client_secret", "client_assertion"]) {
      this.ledger.hear(kind, sent[kind]);
    }
    this.ledger.issue("assertion", sent.client_assertion);
    const [scheme, credentials] = ctx.get("authorization").split(" ");
    if (scheme === "Bearer") this.ledger.hear("bearer", credentials);
    if (scheme === "Basic") {
      this.ledger.issue("basic", credentials);
      this.ledger.hear("basic", decodeURIComponent(atob(credentials).split(":")[1] ?? ""));
    }
  }

  /** An answer on its way through the browser. */
  #noteRedirect(ctx) {
    const location = ctx.response.get("location");
    if (!location || !URL.canParse(location)) return;
    const to = new URL(location);
    if (to.origin === this.issuer || !to.searchParams.has("state")) return;
    this.ledger.count("authorize", to.searchParams.has("code"));
    this.ledger.issue("code", to.searchParams.get("code"));
    if (this.#switches.iss === "wrong") to.searchParams.set("iss", `${this.issuer}/`);
    if (this.#switches.iss === "absent") to.searchParams.delete("iss");
    ctx.set("location", to.href);
  }

  async #serve(request, response) {
    try {
      const { pathname } = new URL(request.url, this.issuer);
      if (pathname.startsWith("/interaction/")) return await this.#interaction(request, response, pathname);
      if (pathname === "/token" && this.#switches.answers.length > 0) {
        request.body = Object.fromEntries(new URLSearchParams(await text(request)));
        const at = this.#switches.answers.findIndex(({ grant }) => grant === request.body.grant_type);
        if (at >= 0) return this.#refuse(response, at, request.body);
      }
      return void this.#pages(request, response);
    } catch (error) {
      response.writeHead(error.statusCode ?? 500, { "content-type": "text/plain" });
      return response.end(`${String(error)}\n`);
    }
  }

  #refuse(response, at, body) {
    const answer = this.#switches.answers[at];
    answer.times -= 1;
    if (answer.times <= 0) this.#switches.answers.splice(at, 1);
    this.ledger.count(body.grant_type, false);
    this.ledger.hear("refresh_token", body.refresh_token);
    response.writeHead(answer.error === "invalid_client" ? 401 : 400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: answer.error, error_description: "as the test wants it" }));
  }

  async #interaction(request, response, pathname) {
    const { uid, prompt, params, session, grantId } = await this.provider.interactionDetails(request, response);
    if (request.method === "GET") {
      const scopes = String(params.scope ?? "").split(" ").filter(Boolean);
      const client = await this.provider.Client.find(params.client_id);
      const html =
        prompt.name === "login" ? login(uid) : consent(uid, client?.clientName ?? params.client_id, session.accountId, scopes);
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      return response.end(html);
    }
    const form = new URLSearchParams(await text(request));
    const finish = (result, mergeWithLastSubmission = false) =>
      this.provider.interactionFinished(request, response, result, { mergeWithLastSubmission });
    if (pathname.endsWith("/login")) {
      const user = form.get("user")?.trim() || "nobody";
      return finish({ login: { accountId: user } });
    }
    if (form.get("answer") !== "allow") {
      return finish({ error: "access_denied", error_description: "the user said no" });
    }
    const grant =
      (grantId && (await this.provider.Grant.find(grantId))) ||
      new this.provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
    if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(" "));
    }
    return finish({ consent: { grantId: await grant.save() } }, true);
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The whole body of a request. */
export async function text(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
