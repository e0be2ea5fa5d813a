// The blocks of a message as they are shown: finished calls that only read, or search for tools, and follow each other are
// folded together. Pure.

import type { ChatBlock, ToolCallBlock } from "../generated/types";

export type Segment =
  | { kind: "block"; key: string; block: ChatBlock }
  /** Two or more calls. */
  | { kind: "reads"; key: string; calls: readonly ToolCallBlock[] };

type CallSegment = ChatBlock & { kind: "tool_call" };

export function segmentsOf(blocks: readonly ChatBlock[]): Segment[] {
  const segments: Segment[] = [];
  let reads: CallSegment[] = [];
  const fold = () => {
    const [first] = reads;
    if (first && reads.length === 1) segments.push({ kind: "block", key: first.id, block: first });
    else if (first) segments.push({ kind: "reads", key: `reads ${first.id}`, calls: reads });
    reads = [];
  };
  for (const [at, block] of blocks.entries()) {
    if (block.kind === "tool_call" && isFoldable(block)) {
      reads.push(block);
      continue;
    }
    // Nothing is shown of a text that has not begun, so it separates nothing.
    if (isEmpty(block)) continue;
    fold();
    segments.push({ kind: "block", key: block.kind === "tool_call" ? block.id : String(at), block });
  }
  fold();
  return segments;
}

const isFoldable = (call: ToolCallBlock) => call.state === "done" && (call.class === "read" || isToolSearch(call));

/** Whether a finished call searched for tools, which is no tool of a server. */
export const isToolSearch = ({ server, class: access }: ToolCallBlock) => server === null && access === null;

const isEmpty = (block: ChatBlock) => (block.kind === "text" || block.kind === "reasoning") && block.text.trim() === "";

/** The servers of calls, each once, in the order in which they come first. */
export function serversOf(calls: readonly ToolCallBlock[]): string[] {
  return [...new Set(calls.flatMap(({ server }) => (server === null ? [] : [server])))];
}
