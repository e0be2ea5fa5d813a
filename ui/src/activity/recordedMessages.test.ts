import { describe, expect, it } from "vitest";

import type { CallOutcome, Subject, Verdict } from "../generated/types";
import { hasReachedServer, recordedMessages } from "./recordedMessages";

const tool: Subject = { kind: "tool", name: "add" };
const ok: CallOutcome = { outcome: "ok" };
const allowed: Verdict = { decision: "allow", rule: { rule: "by_user" } };
const asked: Verdict = { decision: "ask", rule: { rule: "default_ask" } };

describe("recorded messages", () => {
  it.each([
    [
      "a tool",
      { subject: tool, arguments: '{"a":1}', outcome: ok, result: '{"content":[]}' },
      { method: "tools/call", params: { name: "add", arguments: { a: 1 } } },
      { result: { content: [] } },
    ],
    [
      "a resource, of which the params are kept",
      { subject: { kind: "resource", uri: "a://b" } as const, arguments: '{"uri":"a://b"}', outcome: ok, result: "{}" },
      { method: "resources/read", params: { uri: "a://b" } },
      { result: {} },
    ],
    [
      "an error",
      {
        subject: tool,
        arguments: "{}",
        outcome: { outcome: "rpc_error", code: -1, message: "no" } as const,
        result: '{"code":-1,"message":"no"}',
      },
      { method: "tools/call", params: { name: "add", arguments: {} } },
      { error: { code: -1, message: "no" } },
    ],
    [
      "bodies that were cut or not kept",
      { subject: tool, arguments: null, outcome: ok, result: '{"text":"lo…' },
      { method: "tools/call", params: { name: "add" } },
      { result: '{"text":"lo…' },
    ],
  ])("of %s", (_, record, sent, received) => {
    const messages = recordedMessages({ ...record, verdict: allowed });
    expect(messages.map(({ kind }) => kind)).toEqual(["sent", "received"]);
    expect(messages.map(({ text }): unknown => JSON.parse(text))).toEqual([
      { jsonrpc: "2.0", ...sent },
      { jsonrpc: "2.0", ...received },
    ]);
  });

  it.each<[string, CallOutcome]>([
    ["was refused", { outcome: "refused" }],
    ["waits for the user", { outcome: "still_waiting" }],
    ["got an earlier result", { outcome: "repeated", call: "call-1" }],
    ["was cancelled before it was allowed", { outcome: "cancelled" }],
  ])("of a call that %s are the client's request and Gatehouse's answer", (_, outcome) => {
    const record = { subject: tool, arguments: '{"a":1}', outcome, verdict: asked, result: '{"isError":true}' };
    const messages = recordedMessages(record);
    expect(messages.map(({ kind, text }): unknown => [kind, JSON.parse(text)])).toEqual([
      ["asked", { jsonrpc: "2.0", method: "tools/call", params: { name: "add", arguments: { a: 1 } } }],
      ["answered", { jsonrpc: "2.0", result: { isError: true } }],
    ]);
    expect(hasReachedServer(record)).toBe(false);
  });

  it("of a call that was cancelled while it ran are those with the server", () => {
    expect(hasReachedServer({ outcome: { outcome: "cancelled" }, verdict: allowed })).toBe(true);
  });
});
