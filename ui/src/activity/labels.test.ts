import { describe, expect, it } from "vitest";

import { testApproval } from "../approvals/testApprovals";
import type { Event } from "../generated/types";
import { translator } from "../messages";
import { catalogues } from "../messages/catalogues";
import { eventLabel } from "./labels";

const t = translator({ language: "en", messages: catalogues.en });
const names = { server: () => "files", client: () => "Claude Code" };

describe("event labels", () => {
  it.each<[Event, string]>([
    [{ event: "server_added", server: "s", name: "git" }, "git was added"],
    [
      {
        event: "status_changed",
        server: "s",
        status: { state: "stopped" },
        cause: { cause: "unexpected_close", reason: "exit code 1" },
      },
      "files is now: Stopped (the connection closed: exit code 1)",
    ],
    [
      { event: "call_started", call: "c", client: "x", server: "s", tool: "read", input: "path=a" },
      "Claude Code called read of files: path=a",
    ],
    [
      { event: "call_started", call: "c", client: "x", server: "s", tool: "read", input: "" },
      "Claude Code called read of files",
    ],
    [
      {
        event: "call_finished",
        call: "c",
        verdict: { decision: "deny", rule: { rule: "paused" } },
        outcome: { outcome: "refused" },
        durationMs: 1500,
      },
      "Call finished: Refused after 1.5 s",
    ],
    [{ event: "approval_resolved", approval: "a", allowed: false }, "Request denied"],
    [
      { event: "config_changed", cause: "file", server: null, name: null, unconfirmed: true, problem: null },
      "The configuration was edited by hand. Approval is pending.",
    ],
    [
      { event: "config_changed", cause: "file", server: null, name: null, unconfirmed: false, problem: null },
      "Configuration changed: a file was edited by hand",
    ],
    [
      { event: "config_changed", cause: "renamed", server: "s", name: "git", unconfirmed: false, problem: null },
      "Configuration changed: a server was renamed to git",
    ],
    [
      { event: "config_changed", cause: "settings", server: null, name: null, unconfirmed: false, problem: null },
      "Configuration changed: Gatehouse's own settings",
    ],
    [{ event: "pause_changed", paused: true }, "Everything was paused"],
    [{ event: "sign_in_needed", server: "s", issuer: null }, "files needs you to sign in"],
    [
      { event: "sign_in_changed", server: "s", signIn: { is: "waiting", host: "as.example", until: 1 } },
      "Signing in to files: continue in your browser at as.example",
    ],
    [
      {
        event: "sign_in_changed",
        server: "s",
        signIn: { is: "in", account: "ann", issuer: "https://as.example", scopes: [], expires: null, renews: true },
      },
      "Signed in to files as ann",
    ],
    [
      {
        event: "sign_in_changed",
        server: "s",
        signIn: { is: "in", account: null, issuer: "https://as.example", scopes: [], expires: null, renews: true },
      },
      "Signed in to files",
    ],
    [{ event: "sign_in_changed", server: "s", signIn: { is: "out", problem: null } }, "Signed out of files"],
    [
      {
        event: "sign_in_changed",
        server: "s",
        signIn: { is: "out", problem: { code: "refused", message: "You said no there.", cause: null, hint: null } },
      },
      "Sign-in to files failed: You said no there.",
    ],
    [
      {
        event: "approval_requested",
        pending: {
          ...testApproval("a"),
          request: {
            kind: "step_up",
            server: { id: "s", generation: 1, name: "notes", description: null, icon: "terminal" },
            scopes: ["x"],
          },
        },
      },
      "notes needs more permissions",
    ],
    [
      { event: "permissions_changed", verified: false },
      "The stored permissions couldn't be verified. Gatehouse will ask for every call.",
    ],
  ])("%#: %s", (event, words) => {
    expect(eventLabel(t, event, names)).toBe(words);
  });
});
