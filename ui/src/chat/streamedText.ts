// Text that a model writes, between two readings of its conversation. Pieces are put where their offsets say, so one that
// was read already is not shown twice, and one that is missing is noticed. Pure.

import type { ChatBlock, ChatMessage, Conversation, Event, MessageId } from "../generated/types";
import { utf8Size } from "../results/contentText";

export type TextDelta = Pick<Extract<Event, { event: "conversation_delta" }>, "message" | "block" | "offset" | "text">;

/** Text of a block without a gap, from `offset` to `end`, in bytes (UTF-8). */
export type StreamedText = { message: MessageId; block: number; offset: number; end: number; text: string };

/** The pieces with another one, which continues the last piece of its block or begins a new one. */
export function withDelta(pieces: readonly StreamedText[], delta: TextDelta): readonly StreamedText[] {
  const { message, block, offset, text } = delta;
  const end = offset + utf8Size(text);
  const at = pieces.findLastIndex((piece) => piece.message === message && piece.block === block);
  const last = pieces[at];
  if (last?.end !== offset) return [...pieces, { message, block, offset, end, text }];
  return pieces.with(at, { ...last, end, text: last.text + text });
}

/** The pieces that a new reading of the conversation may lack: those of messages that are still being written. */
export function piecesAfterReading(pieces: readonly StreamedText[], read: Conversation): readonly StreamedText[] {
  const running = new Set(read.messages.filter(({ state }) => state === "running").map(({ id }) => id));
  const left = pieces.filter(({ message }) => running.has(message));
  return left.length === pieces.length ? pieces : left;
}

/** A conversation as it was read, with what was written since. `hasGap`: something in between is missing. */
export function withStreamedText(
  read: Conversation,
  pieces: readonly StreamedText[],
): { conversation: Conversation; hasGap: boolean } {
  let hasGap = false;
  const changed = new Map<MessageId, ChatMessage>();
  for (const piece of pieces) {
    const message = changed.get(piece.message) ?? read.messages.find(({ id }) => id === piece.message);
    const block = message?.blocks[piece.block];
    const longer = block && continued(block, piece);
    if (!message || !longer) hasGap = true;
    else if (longer !== block)
      changed.set(message.id, { ...message, blocks: message.blocks.with(piece.block, longer) });
  }
  if (changed.size === 0) return { conversation: read, hasGap };
  const messages = read.messages.map((message) => changed.get(message.id) ?? message);
  return { conversation: { ...read, messages }, hasGap };
}

/** A block with what a piece adds to it; the block itself where that is nothing, `null` where something is missing. */
function continued(block: ChatBlock, piece: StreamedText): ChatBlock | null {
  const before = textOf(block);
  if (before === null) return block;
  const size = utf8Size(before);
  if (piece.offset > size) return null;
  if (piece.end <= size) return block;
  const text = before + textFrom(piece.text, size - piece.offset);
  return block.kind === "tool_call" ? { ...block, arguments: text } : ({ ...block, text } as ChatBlock);
}

/** The text of a block that can grow. The arguments of a call are others, with secrets masked, once they are written. */
function textOf(block: ChatBlock): string | null {
  switch (block.kind) {
    case "text":
    case "reasoning":
      return block.text;
    case "tool_call":
      return block.state === "writing" ? block.arguments : null;
    case "image":
      return null;
  }
}

/** A text without its first bytes. */
function textFrom(text: string, bytes: number): string {
  return bytes === 0 ? text : new TextDecoder().decode(new TextEncoder().encode(text).subarray(bytes));
}
