// The messages of a recorded call, put together from its record. Their ids and metadata are not kept, so they are not what
// stood on the wire byte for byte. Pure.

import type { CallRecord, Subject } from "../generated/types";

type RecordedMessage = {
  /** Whether it went to the server. */
  sent: boolean;
  /** JSON text, indented. */
  text: string;
};

/** The request, and what came back or what the client was told instead. */
export function recordedMessages(record: Pick<CallRecord, "subject" | "arguments" | "outcome" | "result">) {
  const { subject, outcome } = record;
  const given = body(record.arguments);
  const params = subject.kind === "tool" ? { name: subject.name, arguments: given } : given;
  const isError = outcome.outcome === "rpc_error";
  const messages: RecordedMessage[] = [
    { sent: true, text: write({ jsonrpc: "2.0", method: methodOf(subject), params }) },
    { sent: false, text: write({ jsonrpc: "2.0", [isError ? "error" : "result"]: body(record.result) }) },
  ];
  return messages;
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
