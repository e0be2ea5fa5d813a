import { describe, expect, it } from "vitest";

import type { ServerConfig, SignInSettings, Transport } from "../generated/types";
import { defaultLimits } from "./serverForm";
import { entryText } from "./serverJson";
import { defaultSignIn } from "./signInForm";

const config = (transport: Transport, differs: Partial<ServerConfig> = {}): ServerConfig => ({
  id: "srv-1",
  generation: 1,
  origin: "user",
  name: "files",
  transport,
  enabled: true,
  autostart: true,
  look: { description: null, icon: null, group: null },
  limits: defaultLimits,
  ...differs,
});
const program = config({
  type: "stdio",
  command: "node",
  args: ["x.js"],
  env: { TOKEN: "${secret:TOKEN}", A: "1" },
  cwd: null,
  streams: "sockets",
});
const signedInWith = (signIn: Partial<SignInSettings>) =>
  config({
    type: "http",
    url: "https://x.example/mcp",
    headers: {},
    headersFrom: null,
    signIn: { ...defaultSignIn, ...signIn },
  });
const keyed = signedInWith({
  client: { id: "c", secret: null, method: null },
  with: { with: "client_key", key: "${secret:key}", algorithm: "ES256" },
});

describe("a servers.json entry", () => {
  it("contains only what differs from the defaults", () => {
    expect(entryText(program)).toBe(
      JSON.stringify(
        { files: { command: "node", args: ["x.js"], env: { TOKEN: "${secret:TOKEN}", A: "1" } } },
        null,
        2,
      ),
    );
    const signIn = { client: { id: "c" }, with: { with: "client_key", key: "${secret:key}", algorithm: "ES256" } };
    expect(JSON.parse(entryText(keyed))).toEqual({ files: { type: "http", url: "https://x.example/mcp", signIn } });
  });
});
