import { describe, expect, it } from "vitest";

import type { ServerStatus, SignInState } from "../generated/types";
import { translator } from "../messages";
import { catalogues } from "../messages/catalogues";
import { defaultSignIn } from "./signInForm";
import { hostOf, isLastKnown, statusLine, targetOf, statusTone, wantsSignIn } from "./status";

const failed: ServerStatus = {
  state: "failed",
  error: "configuration",
  message: "`npx` was not found. Install Node.js, or choose another command.",
  attempts: 1,
  nextRetry: null,
};
const connected: ServerStatus = {
  state: "connected",
  since: 0,
  protocol: "2026-07-28",
  server: { name: "x", title: null, version: "1", instructions: null },
};

describe("server status", () => {
  it.each<[ServerStatus, number, string, string]>([
    [{ state: "disabled" }, 0, "off", "Off"],
    [{ state: "stopped" }, 0, "off", "Stopped"],
    [{ state: "connecting", attempt: 1 }, 0, "wait", "Connecting…"],
    [{ state: "connecting", attempt: 2 }, 0, "wait", "Connecting… (attempt 2 of 6)"],
    [{ state: "connecting", attempt: 7 }, 0, "wait", "Connecting… (attempt 7)"],
    [connected, 14, "ok", "Running · 14 tools · 1 resource"],
    [connected, 1, "ok", "Running · 1 tool · 1 resource"],
    [{ state: "needs_auth", issuer: null }, 0, "wait", "Sign-in needed"],
    [{ state: "needs_client_registration", reason: "r" }, 0, "wait", "Client ID needed from the provider"],
    [
      { ...failed, message: { key: "error.servers.healthChecks", params: { count: { number: 2 } } } },
      0,
      "bad",
      "Stopped: The server did not answer 2 health checks in a row.",
    ],
    [failed, 0, "bad", "Stopped: `npx` was not found. Install Node.js, or choose another command."],
  ])("describes %j with %i tools", (status, tools, tone, words) => {
    const english = translator({ language: "en", messages: catalogues.en });
    expect(statusTone(status)).toBe(tone);
    expect(statusLine(english, { status, counts: { tools, resources: 1, prompts: 0 }, signIn: null })).toBe(words);
  });

  it("names the target as it would be typed", () => {
    expect(
      targetOf({ type: "stdio", command: "node", args: ["a b.js", "c"], env: {}, cwd: null, streams: "sockets" }),
    ).toBe('node "a b.js" c');
    expect(
      targetOf({ type: "http", url: "https://x.example/mcp", headers: {}, headersFrom: null, signIn: defaultSignIn }),
    ).toBe("https://x.example/mcp");
    expect(targetOf({ type: "builtin", builtin: { kind: "time" } })).toBe("");
  });

  it.each<[ServerStatus, SignInState | null, boolean, string]>([
    [{ state: "needs_auth", issuer: null }, { is: "out", problem: null }, true, "Sign-in needed"],
    [
      { state: "needs_auth", issuer: null },
      { is: "waiting", host: "as.example", until: 1 },
      false,
      "Signing in… Continue in your browser",
    ],
    [{ state: "needs_auth", issuer: null }, null, false, "Sign-in needed"],
    [{ state: "stopped" }, { is: "out", problem: null }, false, "Stopped"],
  ])("describes %j with the sign-in %j", (status, signIn, wants, words) => {
    const english = translator({ language: "en", messages: catalogues.en });
    expect(wantsSignIn({ status, signIn })).toBe(wants);
    expect(statusLine(english, { status, counts: { tools: 0, resources: 0, prompts: 0 }, signIn })).toBe(words);
  });

  it.each<[ServerStatus, number, boolean]>([
    [{ state: "connecting", attempt: 1 }, 3, true],
    [{ state: "needs_auth", issuer: null }, 3, true],
    [failed, 3, true],
    [{ state: "stopped" }, 3, true],
    [{ state: "stopped" }, 0, false],
    [{ state: "disabled" }, 3, false],
    [connected, 3, false],
  ])("tells the tools of a server that is %j, with %i of them, as last known: %s", (status, tools, expected) => {
    expect(isLastKnown({ status, counts: { tools, resources: 0, prompts: 0 } }, "tools")).toBe(expected);
  });

  it.each([
    ["https://as.example:8443/realms/x?y#z", "as.example:8443"],
    ["http://127.0.0.1:99", "127.0.0.1:99"],
    ["nonsense", "nonsense"],
  ])("takes the host of %s: %s", (address, host) => {
    expect(hostOf(address)).toBe(host);
  });
});
