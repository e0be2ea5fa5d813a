// The messages of a recorded call, put together from its record. Their ids and metadata are not kept, so they are not what
// stood on the wire byte for byte. Pure.

import type { CallRecord, Subject } from "../generated/types";
import type { MessageKind } from "../results/MessageText";

type RecordedMessage = {
  kind: MessageKind;
  /** JSON text, indented. */
  text: string;
};

/** The request, and what came back or what the client was told instead. */
export function recordedMessages(record: Pick<CallRecord, "subject" | "arguments" | "verdict" | "outcome" | "result">) {
  const { subject, outcome } = record;
  const given = body(record.arguments);
  const params = subject.kind === "tool" ? { name: subject.name, arguments: given } : given;
  const isError = outcome.outcome === "rpc_error";
  const reached = hasReachedServer(record);
  const messages: RecordedMessage[] = [
    { kind: reached ? "sent" : "asked", text: write({ jsonrpc: "2.0", method: methodOf(subject), params }) },
    {
      kind: reached ? "received" : "answered",
      text: write({ jsonrpc: "2.0", [isError ? "error" : "result"]: body(record.result) }),
    },
  ];
  return messages;
}

/** Whether a call may have reached its server; otherwise Gatehouse answered it alone. */
export function hasReachedServer({ outcome, verdict }: Pick<CallRecord, "outcome" | "verdict">): boolean {
  switch (outcome.outcome) {
    case "refused":
    case "still_waiting":
    case "repeated":
      return false;
    case "ok":
    case "unfit":
    case "tool_error":
    case "rpc_error":
    case "failed":
      return true;
    case "cancelled":
      // Only what is allowed is sent.
      return verdict.decision === "allow";
  }
}

function methodOf(subject: Subject): string {
  switch (subject.kind) {
    case "tool":
      return "tools/call";
    case "resource":
      return "resources/read";
    case "prompt":
      return "prompts/get";
    case "completion":
      return "completion/complete";
    case "request":
      return subject.method;
  }
}

/** A body as JSON; as a text if it was cut. */
function body(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const write = (message: unknown) => JSON.stringify(message, null, 2);
