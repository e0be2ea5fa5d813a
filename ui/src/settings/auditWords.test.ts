import { describe, expect, it } from "vitest";

import type { AuditEntry, AuditEvent, Grant } from "../gen/types";
import { fill, type Translate } from "../messages";
import { catalogues } from "../messages/catalogues";
import { auditDetail, auditWords, namesWith } from "./auditWords";

const t: Translate = (key, values = {}) => fill(catalogues.en[key], values);
const names = { server: () => "files", client: () => "Claude Code", time: () => "noon" };
const signIn = { audit: "sign_in", server: "s", issuer: "https://as.example", account: "ann", reason: null } as const;
const request = { audit: "server_request_answered", ask: "a", server: "s", by: "window" } as const;
const rule: Grant = {
  id: "g",
  effect: "deny",
  server: { server: "s", generation: 1, identity: "i" },
  width: { width: "everything" },
  clients: { clients: "every" },
  lifetime: { lifetime: "always" },
  conditions: [],
  pins: {},
  program: null,
  created: 0,
  author: { author: "person" },
  reason: null,
};

describe("an entry of the audit", () => {
  it.each<[AuditEvent, string, string]>([
    [{ ...signIn, what: "signed_in" }, "Signed in to files as ann", "https://as.example"],
    [{ ...signIn, what: "signed_in", account: null }, "Signed in to files", "https://as.example"],
    [{ ...signIn, what: "failed", issuer: null, reason: "refused" }, "Signing in to files failed", "reason: refused"],
    [{ ...signIn, what: "tokens_revoked" }, "Tokens for files revoked by the provider", "https://as.example"],
    [{ ...request, request: "form", client: "c", answer: "accepted" }, "Form from files, for Claude Code: accepted", "in Gatehouse"],
    [{ ...request, request: "step_up", client: null, answer: "unanswered", by: null }, "Request for more rights from files: not answered in time", ""],
    [{ audit: "server_changed", server: "s", name: "git", what: "renamed" }, "Server renamed to git", ""],
    [{ audit: "server_changed", server: "s", name: "git", what: "polished" }, "Server git: polished", ""],
    [{ audit: "class_set", server: "s", tool: "t", now: null }, "t of files is classified automatically again", ""],
    [{ audit: "granted", rule }, "New rule: Always refuse everything of files, for every client", ""],
    [
      { audit: "granted", rule: { ...rule, author: { author: "unprivileged" } } },
      "New rule: Always refuse everything of files, for every client",
      "added without the operator key",
    ],
    [
      { audit: "granted", rule: { ...rule, effect: "allow", author: { author: "confirmed", at: 1 } } },
      "New rule: Always allow everything of files, for every client",
      "confirmed on noon after it could not be verified",
    ],
    [{ audit: "lifecycle", what: "started" }, "Gatehouse started", ""],
  ])("%j: %s", (event, words, detail) => {
    expect(auditWords(t, event, names)).toBe(words);
    expect(auditDetail(t, event, names)).toBe(detail);
  });

  it("names what is gone as it was called last", () => {
    const entry = (seq: number, name: string): AuditEntry => ({ seq, at: 0, event: { audit: "server_changed", server: "s", name, what: "edited" }, hash: "" });
    const unknown = { server: (id: string) => id, client: (id: string) => id, time: () => "" };
    expect(namesWith(unknown, [entry(2, "new"), entry(1, "old")]).server("s")).toBe("new");
    expect(namesWith(unknown, []).server("s")).toBe("s");
  });
});
