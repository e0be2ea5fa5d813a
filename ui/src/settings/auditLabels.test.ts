import { describe, expect, it } from "vitest";

import type { AuditEntryView, AuditEvent, Grant, Message } from "../generated/types";
import { render, translator } from "../messages";
import { catalogues } from "../messages/catalogues";
import { auditDetail, auditLabel, namesFromEntries } from "./auditLabels";

const t = translator({ language: "en", messages: catalogues.en });
const names = { server: () => "files", client: () => "Claude Code" };
const saying = {
  t,
  names,
  render: (message: Message) => render(message, { language: "en", templates: catalogues.en, time: () => "noon" }),
};
const signIn = { audit: "sign_in", server: "s", issuer: "https://as.example", account: "ann", reason: null } as const;
const request = { audit: "server_request_answered", ask: "a", server: "s", by: "window" } as const;

describe("audit labels", () => {
  it.each<[AuditEvent, string, string]>([
    [{ ...signIn, what: "signed_in" }, "Signed in to files as ann", "https://as.example"],
    [{ ...signIn, what: "signed_in", account: null }, "Signed in to files", "https://as.example"],
    [{ ...signIn, what: "failed", issuer: null, reason: "refused" }, "Signing in to files failed", "reason: refused"],
    [{ ...signIn, what: "tokens_revoked" }, "Tokens for files revoked by the provider", "https://as.example"],
    [
      { ...request, request: "form", client: "c", answer: "accepted" },
      "Form from files, for Claude Code: accepted",
      "in Gatehouse",
    ],
    [
      { ...request, request: "step_up", client: null, answer: "unanswered", by: null },
      "Request for more permissions from files: not answered in time",
      "",
    ],
    [{ audit: "server_changed", server: "s", name: "git", what: "renamed" }, "Server renamed to git", ""],
    [{ audit: "server_changed", server: "s", name: "git", what: "polished" }, "Server git: polished", ""],
    // As older versions stored it.
    [{ audit: "settings_changed", what: "MCP switched on" }, "Settings changed: MCP switched on", ""],
    [
      { audit: "settings_changed", what: { key: "audit.settings.switchedOff", params: {} } },
      "Settings changed: MCP switched off",
      "",
    ],
    [{ audit: "class_set", server: "s", tool: "t", now: null }, "t of files is classified automatically again", ""],
    [
      { audit: "labels_trusted", server: "s", trusted: true, by: "window" },
      "Read-only labels of files trusted",
      "in Gatehouse",
    ],
    [
      {
        audit: "model_provider_changed",
        provider: "p",
        name: "Gemini",
        baseUrl: "https://a",
        change: "added",
        hasKey: true,
      },
      "Model provider Gemini added: https://a",
      "",
    ],
    [
      { audit: "models_assigned", sampling: "Ollama · llama", opinion: null },
      "Models assigned. Answers for servers: Ollama · llama; risk opinion: none",
      "",
    ],
    [
      { audit: "sampling_generated", ask: "a", server: "s", model: "m" },
      "m wrote an answer for files, to be checked",
      "",
    ],
    [{ audit: "lifecycle", what: "started" }, "Gatehouse started", ""],
  ])("describe %j: %s", (event, words, detail) => {
    expect(auditLabel({ event, rule: null }, saying)).toBe(words);
    expect(auditDetail({ event, note: null }, saying)).toBe(detail);
  });

  it.each<[Message | null, string]>([
    [null, ""],
    [{ key: "rule.author.unprivileged", params: {} }, "added without the operator key"],
    [{ key: "rule.author.confirmed", params: { at: { time: 1 } } }, "confirmed on noon after it could not be verified"],
  ])("describe a rule and its origin: %j", (note, detail) => {
    const event: AuditEvent = { audit: "granted", rule: { id: "g" } as Grant };
    const rule: Message = {
      key: "rule.deny.always",
      params: { what: { text: "rm" }, who: { message: { key: "rule.everyClient", params: {} } } },
    };
    expect(auditLabel({ event, rule }, saying)).toBe("New rule: Always deny rm, for every client");
    expect(auditDetail({ event, note }, saying)).toBe(detail);
  });

  it("puts the program after the rule, with what can't be seen marked", () => {
    const event: AuditEvent = { audit: "grant_bound", rule: "grt-1", program: "/tmp/\u{202e}x: Always deny" };
    expect(auditLabel({ event, rule: null }, saying)).toBe(
      "Rule now bound to one program: grt-1 (added before the entries shown here). The program: /tmp/⟦U+202E⟧x: Always deny",
    );
  });

  it.each<[AuditEvent, string]>([
    [{ audit: "revoked", rule: "grt-1" }, "Rule revoked: "],
    [{ audit: "grant_bound", rule: "grt-1", program: null }, "Rule asks on first use again: "],
  ])("name the rule of %j, by its id where nothing else is known", (event, words) => {
    const rule: Message = {
      key: "rule.deny.always",
      params: { what: { text: "rm" }, who: { message: { key: "rule.everyClient", params: {} } } },
    };
    expect(auditLabel({ event, rule }, saying)).toBe(`${words}Always deny rm, for every client`);
    expect(auditLabel({ event, rule: null }, saying)).toBe(`${words}grt-1 (added before the entries shown here)`);
  });

  it("use the last name of what was removed", () => {
    const entry = (seq: number, name: string): AuditEntryView => ({
      seq,
      at: 0,
      event: { audit: "server_changed", server: "s", name, what: "edited" },
      hash: "",
      rule: null,
      note: null,
    });
    const unknown = { server: (id: string) => id, client: (id: string) => id };
    expect(namesFromEntries(unknown, [entry(2, "new"), entry(1, "old")]).server("s")).toBe("new");
    expect(namesFromEntries(unknown, []).server("s")).toBe("s");
  });
});
