import { describe, expect, it } from "vitest";

import type { ChatBlock, ChatMessage, Conversation } from "../generated/types";
import { piecesAfterReading, withDelta, withStreamedText, type StreamedText, type TextDelta } from "./streamedText";
import { testCall, testConversation, testMessage } from "./testConversation";

const of = (...blocks: ChatBlock[]): Conversation =>
  testConversation([testMessage("user", []), testMessage("m", blocks, { state: "running" })]);

const delta = (offset: number, text: string, block = 0, message = "m"): TextDelta => ({ message, block, offset, text });

const gathered = (...deltas: TextDelta[]) => deltas.reduce<readonly StreamedText[]>(withDelta, []);

function shown(read: Conversation, ...deltas: TextDelta[]) {
  const { conversation, hasGap } = withStreamedText(read, gathered(...deltas));
  const texts = conversation.messages.at(-1)?.blocks.map((block) => {
    if (block.kind === "tool_call") return block.arguments;
    return block.kind === "image" ? "" : block.text;
  });
  return { texts, hasGap };
}

describe("streamed text", () => {
  const empty = of({ kind: "text", text: "" });

  it("is put together in the order in which it comes", () => {
    expect(shown(empty, delta(0, "Hel"), delta(3, "lo"))).toEqual({ texts: ["Hello"], hasGap: false });
    expect(gathered(delta(0, "Hel"), delta(3, "lo"))).toHaveLength(1);
  });

  it("counts bytes, not characters", () => {
    expect(shown(empty, delta(0, "東京 🗼"), delta(11, "!"))).toEqual({ texts: ["東京 🗼!"], hasGap: false });
  });

  it("is not shown twice where it was read already, whole or in part", () => {
    expect(shown(of({ kind: "text", text: "Hello" }), delta(0, "Hel"), delta(3, "lo")).texts).toEqual(["Hello"]);
    expect(shown(of({ kind: "text", text: "東京" }), delta(0, "東"), delta(3, "京タワー")).texts).toEqual([
      "東京タワー",
    ]);
  });

  it("is noticed where something before it is missing, and is shown once that is there", () => {
    const late = [delta(5, " world")];
    expect(shown(empty, ...late)).toEqual({ texts: [""], hasGap: true });
    expect(shown(of({ kind: "text", text: "Hello" }), ...late)).toEqual({ texts: ["Hello world"], hasGap: false });
  });

  it("of a message or block that was not read yet is a gap", () => {
    expect(shown(empty, delta(0, "x", 1)).hasGap).toBe(true);
    expect(shown(empty, delta(0, "x", 0, "other")).hasGap).toBe(true);
  });

  it("belongs to its block, also the arguments of a call", () => {
    const read = of(
      { kind: "reasoning", text: "a" },
      { kind: "tool_call", ...testCall({ state: "writing", arguments: '{"p' }) },
    );
    expect(shown(read, delta(1, "b"), delta(3, '":1}', 1), delta(2, "c")).texts).toEqual(["abc", '{"p":1}']);
  });

  it("is not added to the arguments of a call that are written and masked", () => {
    const masked = '{"key":"••"}';
    const read = of({ kind: "tool_call", ...testCall({ state: "waiting", arguments: masked }) });
    expect(shown(read, delta(0, '{"key":"s3cr3t-s3cr3t"}'))).toEqual({ texts: [masked], hasGap: false });
  });

  it("leaves other messages the same objects", () => {
    const { conversation } = withStreamedText(empty, gathered(delta(0, "x")));
    expect(conversation.messages[0]).toBe(empty.messages[0]);
    expect(withStreamedText(empty, []).conversation).toBe(empty);
  });

  it("is forgotten when its message was read to its end", () => {
    const pieces = gathered(delta(0, "x"));
    expect(piecesAfterReading(pieces, empty)).toBe(pieces);
    const [first, last] = empty.messages as [ChatMessage, ChatMessage];
    expect(piecesAfterReading(pieces, { ...empty, messages: [first, { ...last, state: "done" }] })).toEqual([]);
  });
});
