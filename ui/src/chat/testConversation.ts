// Conversations for tests.

import type { ChatBlock, ChatMessage, Conversation, ToolCallBlock } from "../generated/types";

export function testCall(differs: Partial<ToolCallBlock> = {}): ToolCallBlock {
  return {
    id: "call-1",
    tool: "files__read_file",
    title: "Read file",
    server: "files",
    class: "read",
    arguments: '{"path":"/home/ana/todo.md"}',
    repairedFrom: null,
    state: "done",
    approval: null,
    call: null,
    verdict: { decision: "allow", rule: { rule: "answered", ask: "ask-1" } },
    started: 0,
    tookMs: 120,
    waitedMs: 0,
    result: null,
    ...differs,
  };
}

/** A message of the model, or with the id `user` one of the user. */
export function testMessage(id: string, blocks: ChatBlock[], differs: Partial<ChatMessage> = {}): ChatMessage {
  const role = id.startsWith("user") ? "user" : "assistant";
  return { id, role, at: 0, blocks, state: "done", error: null, model: null, usage: null, ...differs };
}

export function testConversation(messages: ChatMessage[], differs: Partial<Conversation> = {}): Conversation {
  return {
    id: "conv-1",
    title: "Todo",
    settings: {
      title: null,
      model: { provider: "prov-1", model: "small" },
      servers: null,
      toolSearch: false,
      instructions: null,
    },
    created: 0,
    updated: 0,
    messages,
    isRunning: messages.at(-1)?.state === "running",
    tools: { tools: 12, tokens: 2300, simplified: [] },
    usage: { input: 0, output: 0 },
    ...differs,
  };
}
