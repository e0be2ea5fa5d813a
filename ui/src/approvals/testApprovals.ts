// Approval requests for tests, with the choices that the core would offer.

import type {
  CallApprovalRequest,
  ChoiceLifetime,
  ChoiceScope,
  RuleEffect,
  Message,
  MessageParam,
  OfferedChoice,
  PendingApproval,
} from "../generated/types";

const files: MessageParam = { text: "files" };
const named = (name: string): MessageParam => ({ message: { key: "rule.tool", params: { name: { text: name } } } });

const covers: Record<ChoiceScope, Message> = {
  call: { key: "rule.thisCall", params: {} },
  tool: { key: "rule.onServer", params: { server: files, what: named("Write file") } },
  reads: { key: "rule.reads", params: { server: files } },
  server: { key: "rule.everything", params: { server: files } },
  client: { key: "rule.onEvery", params: { what: { message: { key: "rule.all", params: {} } } } },
};

/** A choice as the core offers it. */
function testChoice(
  effect: RuleEffect,
  lifetime: ChoiceLifetime,
  width: ChoiceScope,
  everyClient = false,
): OfferedChoice {
  const what: MessageParam = { message: covers[width] };
  const who: MessageParam = everyClient
    ? { message: { key: "rule.everyClient", params: {} } }
    : { text: "Claude Code" };
  const sentence: Message =
    lifetime === "once"
      ? { key: `rule.${effect}.this`, params: { what } }
      : { key: `rule.${effect}.${lifetime}`, params: { what, who } };
  return { lifetime, width, everyClient, sentence };
}

const denials = (["call", "tool", "server", "client"] as const).flatMap((width) =>
  (["quarter_hour", "until_quit", "always"] as const).flatMap((lifetime) => {
    const forEvery = width === "tool" || width === "server" ? [false, true] : [false];
    return forEvery.map((everyClient) => testChoice("deny", lifetime, width, everyClient));
  }),
);

/** The approval request of a call with some members replaced. */
export function testApproval(id: string, differs: Partial<CallApprovalRequest> = {}, waiting = true): PendingApproval {
  return {
    id,
    requestedAt: 0,
    expiresAt: 600_000,
    waiting,
    model: null,
    request: {
      kind: "call",
      client: {
        id: "cli-1",
        name: "Claude Code",
        says: "claude-code 2.1",
        seenFrom: null,
        session: null,
        byUser: false,
      },
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
        testChoice("allow", "once", "call"),
        testChoice("allow", "until_quit", "tool"),
        testChoice("allow", "always", "tool"),
        testChoice("allow", "always", "tool", true),
      ],
      denials: [testChoice("deny", "once", "call"), ...denials],
      conditions: [],
      clientWaitsUntil: 48_000,
      ...differs,
    },
  };
}
