// What a recorded call says of its arguments: bodies may be left out of records, are cut, and secrets in them are masked.
// Pure.

import type { CallRecord, Subject } from "../generated/types";
import type { PlaygroundKind } from "../navigation/route";

/** What is missing of recorded arguments. */
type RecordGap = "not_kept" | "cut" | "masked";

type RecordedArguments = {
  /** As JSON; null where nothing can be filled in. */
  text: string | null;
  gap: RecordGap | null;
};

/** What stands in place of a secret. */
const MASK = "••••••";

/** The params of a recorded call: for a tool its arguments. */
export function recordedArguments({ arguments: text }: Pick<CallRecord, "arguments">): RecordedArguments {
  if (text === null) return { text: null, gap: "not_kept" };
  try {
    JSON.parse(text);
  } catch {
    return { text: null, gap: "cut" };
  }
  return { text, gap: text.includes(MASK) ? "masked" : null };
}

/** The values of a recorded prompt. */
export function recordedPromptValues(record: Pick<CallRecord, "arguments">): Record<string, string> {
  const { text } = recordedArguments(record);
  const params: unknown = text === null ? null : JSON.parse(text);
  if (typeof params !== "object" || params === null || !("arguments" in params)) return {};
  const { arguments: given } = params;
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}

/** What of a server a call was about, where it can be tried; null for what is only asked on the way. */
export function triedItem(subject: Subject): { kind: PlaygroundKind; item: string } | null {
  switch (subject.kind) {
    case "tool":
    case "prompt":
      return { kind: subject.kind, item: subject.name };
    case "resource":
      return { kind: "resource", item: subject.uri };
    case "completion":
    case "request":
      return null;
  }
}
