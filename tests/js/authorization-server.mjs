// A real authorization server (oidc-provider) with a protected MCP server in front of it, for tests of
// signing in. Prints one JSON line when both are there and ends with its standard input.
//
//   node authorization-server.mjs [--lifetime SECONDS] [--jwt] [--older]
//   {"issuer":"http://127.0.0.1:1","mcp":"http://127.0.0.1:2/mcp","test":"http://127.0.0.1:2/test"}
//
// --jwt: access tokens are signed statements, which live until they expire whatever is taken back;
// --older: the MCP server speaks 2025-11-25 alone.
// Any user name signs in. Clients that are registered: `confidential` (secret by Basic, redirect
// http://127.0.0.1:<any port>/callback), `machine` (client credentials, secret by Basic) and `key`
// (client credentials, private_key_jwt with ES256); GET /test/clients has what they prove themselves with.
//
// Below /test, all answers JSON; what takes something takes a JSON body by POST:
//   GET  clients          {confidential:{id,secret},machine:{id,secret},key:{id,pem,algorithm}}
//   GET  counts           {asked:{refresh_token:1,…},granted:{…},accessTokens:1}, of the present issuer
//   GET  seen             [{hash,issuer,method,tool,status}], every token that the MCP server got
//   GET  strays           what an issuer was sent that another one had issued: {<issuer>:[{kind,hash}]}
//   GET  secrets          every token, code, verifier and secret so far, in clear: [{kind,value}]
//   POST switches         {lifetime?,iss?:"right"|"wrong"|"absent",delay?}
//   POST answer           {grant,error,times?}: the token endpoint's next answers to that grant
//   POST revoke           {user}: everything that the user allowed
//   POST expire           {}: all access tokens end, what renews them stays
//   POST swap             {}: another issuer; the MCP server trusts only that one from now on
import "./oauth/quiet.mjs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";

import { Issuer, switches, text } from "./oauth/issuer.mjs";
import { json, Notes } from "./oauth/notes.mjs";

const { values } = parseArgs({
  options: {
    lifetime: { type: "string" },
    jwt: { type: "boolean", default: false },
    older: { type: "boolean", default: false },
  },
});
const set = switches({ jwt: values.jwt, ...(values.lifetime ? { lifetime: Number(values.lifetime) } : {}) });
const pair = await generateKeyPair("ES256", { extractable: true });
const pem = await exportPKCS8(pair.privateKey);
const clients = { publicKey: await exportJWK(pair.publicKey), seed: pem };

const server = createServer((request, response) => {
  const served = request.url.startsWith("/test/") ? control(request, response) : notes.serve(request, response);
  served.catch((error) => json(response, 500, { error: String(error) }));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const origin = `http://127.0.0.1:${String(server.address().port)}`;
const issuers = [await new Issuer(`${origin}/mcp`, clients, set).start()];
const notes = new Notes(origin, issuers, values.older);
notes.trust(issuers[0]);

const present = () => issuers.at(-1);
const controls = {
  "GET clients": () => {
    const of = (id) => ({ id, secret: present().secretOf(id) });
    return { confidential: of("confidential"), machine: of("machine"), key: { id: "key", pem, algorithm: "ES256" } };
  },
  "GET counts": () => {
    const { asked, granted } = present().ledger;
    return { asked, granted, accessTokens: present().store.accessTokens() };
  },
  "GET seen": () => notes.seen,
  "GET strays": () =>
    Object.fromEntries(
      issuers.map((it) => [it.issuer, it.ledger.strays(issuers.filter((other) => other !== it).map(({ ledger }) => ledger))]),
    ),
  "GET secrets": () => [
    ...issuers.flatMap(({ ledger }) => [...ledger.issued].map(([value, kind]) => ({ kind, value }))),
    { kind: "private key", value: pem.split("\n")[1] },
  ],
  "POST switches": (wanted) => Object.assign(set, wanted),
  "POST answer": ({ grant, error, times = 1 }) => void set.answers.push({ grant, error, times }),
  "POST revoke": ({ user }) => present().store.revoke(user),
  "POST expire": () => present().store.expire(),
  "POST swap": async () => {
    issuers.push(await new Issuer(`${origin}/mcp`, clients, set).start());
    notes.trust(present());
    return { issuer: present().issuer };
  },
};

async function control(request, response) {
  const run = controls[`${request.method} ${request.url.slice("/test/".length)}`];
  if (!run) return json(response, 404, { error: "There is no such control." });
  const wanted = request.method === "POST" ? JSON.parse((await text(request)) || "{}") : undefined;
  return json(response, 200, (await run(wanted)) ?? {});
}

process.stdin.resume().once("end", () => process.exit(0));
process.stdout.write(`${JSON.stringify({ issuer: present().issuer, mcp: `${origin}/mcp`, test: `${origin}/test` })}\n`);
