import { describe, expect, it } from "vitest";

import type { ChatBlock, ToolCallBlock } from "../generated/types";
import { segmentsOf, serversOf } from "./segments";
import { testCall } from "./testConversation";

const call = (id: string, differs: Partial<ToolCallBlock> = {}): ChatBlock => ({
  kind: "tool_call",
  ...testCall({ id, ...differs }),
});
const text = (words: string): ChatBlock => ({ kind: "text", text: words });

/** Each segment in short: ids of folded calls in brackets. */
const short = (...blocks: ChatBlock[]) =>
  segmentsOf(blocks).map((segment) => {
    if (segment.kind === "reads") return `[${segment.calls.map(({ id }) => id).join(" ")}]`;
    return segment.block.kind === "tool_call" ? segment.block.id : segment.block.kind;
  });

describe("calls that only read", () => {
  it("are folded where two or more follow each other", () => {
    expect(short(call("a"), call("b"), text("So:"), call("c"))).toEqual(["[a b]", "text", "c"]);
    expect(short(call("a"))).toEqual(["a"]);
  });

  it.each<[string, Partial<ToolCallBlock>]>([
    ["changes something", { class: "write" }],
    ["is of an unknown class", { class: null, server: "files" }],
    ["failed", { state: "failed" }],
    ["was denied", { state: "denied" }],
    ["waits for the user", { state: "waiting" }],
    ["runs", { state: "running" }],
  ])("are not folded with one that %s", (_, differs) => {
    expect(short(call("a"), call("b"), call("x", differs), call("c"), call("d"))).toEqual(["[a b]", "x", "[c d]"]);
  });

  it("are folded over a text that has not begun, which is not shown", () => {
    expect(short(call("a"), text(" "), { kind: "reasoning", text: "" }, call("b"))).toEqual(["[a b]"]);
  });

  it("are folded with those that search for tools", () => {
    expect(short(call("a", { server: null, class: null }), call("b"))).toEqual(["[a b]"]);
  });

  it("name their servers once, in order", () => {
    const calls = ["files", "memory", "files", null].map((server) => testCall({ server }));
    expect(serversOf(calls)).toEqual(["files", "memory"]);
  });
});
