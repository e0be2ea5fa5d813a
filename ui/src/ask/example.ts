// A question for tests of how questions are shown.

import type { CallAsk, PendingAsk } from "../gen/types";

/** A question about a call, with what differs from the usual one. */
export function someAsk(id: string, differs: Partial<CallAsk> = {}, waiting = true): PendingAsk {
  return {
    id,
    askedAt: 0,
    expiresAt: 600_000,
    waiting,
    ask: {
      ask: "call",
      client: { id: "cli-1", name: "Claude Code", says: "claude-code 2.1", seenFrom: null, session: null },
      server: { id: "srv-1", generation: 1, name: "files", description: "My notes", icon: "folder" },
      subject: { kind: "tool", name: "write_file" },
      title: "Write file",
      exposedName: "files__write_file",
      class: { class: "write", reason: { by: "annotation", hint: "destructiveHint" }, reachesOutside: false },
      arguments: [{ name: "path", text: '"/home/ana/notes/todo.md"', masked: false, extra: false }],
      argumentBytes: 30,
      isAbridged: false,
      hash: `hash-${id}`,
      warnings: [],
      changes: [],
      choices: [
        { lifetime: "once", width: "call", everyClient: false, conditions: [] },
        { lifetime: "until_quit", width: "tool", everyClient: false, conditions: [] },
        { lifetime: "always", width: "tool", everyClient: false, conditions: [] },
        { lifetime: "always", width: "tool", everyClient: true, conditions: [] },
      ],
      clientWaitsUntil: 48_000,
      ...differs,
    },
  };
}
