// A person at a browser, without a browser: visits an address, fills in the forms of the authorization
// server of these tests, and follows every redirect to the end. Cookies are kept for each origin.
//
//   node browser.mjs ADDRESS [--user NAME] [--deny] [--stop]
//   {"address":…,"status":200,"text":…}        the page it ended at
//
// --deny says no on the page that asks; --stop does not follow the redirect that leaves the
// authorization server and tells its address instead: {"address":…,"status":0,"text":""}.
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    user: { type: "string", default: "ann" },
    deny: { type: "boolean", default: false },
    stop: { type: "boolean", default: false },
  },
});
const [start] = positionals;
if (!start) throw new Error("browser.mjs needs an address");
const home = new URL(start).origin;
const jars = new Map();

function keep(origin, response) {
  const jar = jars.get(origin) ?? new Map();
  for (const line of response.headers.getSetCookie()) {
    const [pair, ...attributes] = line.split(";");
    const name = pair.slice(0, pair.indexOf("="));
    const value = pair.slice(name.length + 1);
    const path = attributes.map((it) => it.trim()).find((it) => it.startsWith("path="))?.slice(5) ?? "/";
    if (value === "") jar.delete(name);
    else jar.set(name, { value, path });
  }
  jars.set(origin, jar);
}

function cookies({ origin, pathname }) {
  const fitting = [...(jars.get(origin) ?? [])].filter(([, { path }]) => pathname.startsWith(path));
  return fitting.map(([name, { value }]) => `${name}=${value}`).join("; ");
}

async function visit(address, form) {
  const url = new URL(address);
  const cookie = cookies(url);
  const response = await fetch(url, {
    method: form ? "POST" : "GET",
    redirect: "manual",
    headers: { "accept-language": "en", ...(cookie ? { cookie } : {}) },
    ...(form ? { body: new URLSearchParams(form) } : {}),
  });
  keep(url.origin, response);
  return response;
}

/** What a person would do with a page: fill in its form, or nothing. */
function answered(html) {
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1];
  if (!action) return undefined;
  return { action, form: action.endsWith("/login") ? { user: values.user } : { answer: values.deny ? "deny" : "allow" } };
}

let at = new URL(start);
let form;
let end;
for (let steps = 0; !end; steps += 1) {
  if (steps > 20) throw new Error(`the forms never ended, at ${at.origin}${at.pathname}`);
  const response = await visit(at, form);
  const text = await response.text();
  const location = response.headers.get("location");
  const next = answered(text);
  if (location) {
    const to = new URL(location, at);
    form = undefined;
    if (values.stop && to.origin !== home) end = { address: to.href, status: 0, text: "" };
    at = to;
  } else if (next && at.origin === home) {
    at = new URL(next.action, at);
    form = next.form;
  } else {
    end = { address: at.href, status: response.status, text };
  }
}
process.stdout.write(`${JSON.stringify(end)}\n`);
