import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { testApproval } from "../approvals/testApprovals";
import { CoreProvider } from "../core/CoreProvider";
import type { Conversation, Event, EventEnvelope, PendingApproval } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { ChatPage } from "./ChatPage";
import { testCall, testConversation, testMessage } from "./testConversation";

const provider = {
  id: "prov-1",
  name: "Local",
  api: "open_ai_chat",
  baseUrl: "http://127.0.0.1:1234/v1",
  defaultModel: "small",
  hasKey: false,
};

/** A core with one conversation, which notes every command that changes something. */
class TestCore {
  conversation: Conversation;
  approvals: PendingApproval[] = [];
  providers: object[] = [provider];
  readings = 0;
  readonly commands: [string, unknown][] = [];
  #heard: (envelope: EventEnvelope | null) => void = () => undefined;

  constructor(conversation: Conversation) {
    this.conversation = conversation;
  }

  readonly platform = {
    command: (name: string, args: unknown) => Promise.resolve(this.#reply(name, args)),
    events: (heard: (envelope: EventEnvelope | null) => void) => {
      this.#heard = heard;
      return () => undefined;
    },
  } as unknown as Platform;

  #reply(name: string, args: unknown): unknown {
    const { id, title, updated, settings, isRunning } = this.conversation;
    switch (name) {
      case "models.show":
        return { providers: this.providers, sampling: null, opinion: null };
      case "chat.list":
        return [{ id, title, updated, model: settings.model, isRunning, excerpt: null }];
      case "chat.show":
        this.readings += 1;
        return structuredClone(this.conversation);
      case "approvals.list":
        return structuredClone(this.approvals);
      case "servers.list":
        return [];
      case "policy.show":
        return { rules: [] };
      default:
        this.commands.push([name, args]);
        return name === "chat.create" ? { ...this.conversation, id: "conv-new" } : null;
    }
  }

  tell(event: Event) {
    act(() => {
      this.#heard({ version: 1, seq: 1, at: 0, event });
    });
  }

  writes(offset: number, text: string) {
    this.tell({ event: "conversation_delta", conversation: "conv-1", message: "m", block: 0, offset, text });
  }
}

function show(core: TestCore, conversation: string | null = "conv-1") {
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={core.platform}>
        <ChatPage conversation={conversation} />
      </CoreProvider>
    </ThemeProvider>,
  );
}

const user = testMessage("user", [{ kind: "text", text: "Hi" }]);
const written = (text: string) => testMessage("m", [{ kind: "text", text }]);
const writing = (text: string) => testMessage("m", [{ kind: "text", text }], { state: "running" });

const field = async () => screen.findByRole("textbox", { name: "Message" });

beforeEach(() => {
  window.location.hash = "";
});

describe("the chat page", () => {
  it("offers to add a provider where there is none", async () => {
    const core = new TestCore(testConversation([]));
    core.providers = [];
    show(core, null);
    expect(await screen.findByText("No model provider yet")).toBeTruthy();
    expect(screen.queryByRole("textbox", { name: "Message" })).toBeNull();
  });

  it("keeps a setting that was changed just before another one", async () => {
    const core = new TestCore(testConversation([user]));
    show(core);
    fireEvent.click(await screen.findByRole("button", { name: /^Model:/ }));
    const settings = await screen.findByRole("dialog", { name: "Conversation settings" });
    fireEvent.click(within(settings).getByRole("switch", { name: /Let the model search/ }));
    const instructions = within(settings).getByRole("textbox", { name: "Instructions" });
    fireEvent.change(instructions, { target: { value: "Be brief." } });
    fireEvent.blur(instructions);
    await waitFor(() => {
      expect(core.commands).toMatchObject([
        ["chat.set", { settings: { toolSearch: true } }],
        ["chat.set", { settings: { toolSearch: true, instructions: "Be brief." } }],
      ]);
    });
  });

  it("begins a conversation with its first message and the model that was used last", async () => {
    const core = new TestCore(testConversation([]));
    show(core, null);
    const message = await field();
    fireEvent.change(message, { target: { value: "What time is it?" } });
    fireEvent.keyDown(message, { key: "Enter" });
    await waitFor(() => {
      expect(window.location.hash).toBe("#/chat/conv-new");
    });
    expect(core.commands).toEqual([
      [
        "chat.create",
        {
          settings: {
            title: null,
            model: { provider: "prov-1", model: "small" },
            servers: null,
            toolSearch: false,
            instructions: null,
          },
        },
      ],
      ["chat.send", { conversation: "conv-new", text: "What time is it?", images: [], replaces: null }],
    ]);
  });

  it("sends with Enter, not with Shift+Enter or within a composition", async () => {
    const core = new TestCore(testConversation([user, written("Hello")]));
    show(core);
    const message = await field();
    fireEvent.change(message, { target: { value: "more" } });
    fireEvent.keyDown(message, { key: "Enter", shiftKey: true });
    fireEvent.keyDown(message, { key: "Enter", isComposing: true });
    fireEvent.keyDown(message, { key: "Enter", keyCode: 229 });
    expect(core.commands).toEqual([]);
    fireEvent.keyDown(message, { key: "Enter" });
    await waitFor(() => {
      expect(core.commands).toEqual([
        ["chat.send", { conversation: "conv-1", text: "more", images: [], replaces: null }],
      ]);
    });
    await waitFor(() => {
      expect((message as HTMLTextAreaElement).value).toBe("");
    });
  });

  it("shows what the model writes, and reads the conversation again only where something is missing", async () => {
    const core = new TestCore(testConversation([user, writing("Hel")]));
    show(core);
    await screen.findByText("Hel");
    core.writes(3, "lo");
    core.writes(5, " wor");
    expect(await screen.findByText("Hello wor")).toBeTruthy();
    expect(core.readings).toBe(1);
    // One piece was missed; the core has all of them.
    core.conversation = testConversation([user, writing("Hello world, how are")]);
    core.writes(20, " you?");
    expect(await screen.findByText("Hello world, how are you?")).toBeTruthy();
    expect(core.readings).toBe(2);
  });

  it("has Stop instead of Send while the model writes", async () => {
    const core = new TestCore(testConversation([user, writing("…")]));
    show(core);
    fireEvent.change(await field(), { target: { value: "wait" } });
    fireEvent.keyDown(await field(), { key: "Enter" });
    expect(screen.queryByRole("button", { name: "Send" })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Stop" }));
    await waitFor(() => {
      expect(core.commands).toEqual([["chat.stop", { conversation: "conv-1" }]]);
    });
  });

  it("asks for approval in the call, with the request that is pending, and guards it", async () => {
    const call = testCall({ state: "waiting", approval: "ask-1", verdict: null, tookMs: null });
    const core = new TestCore(
      testConversation([user, testMessage("m", [{ kind: "tool_call", ...call }], { state: "running" })]),
    );
    core.approvals = [testApproval("ask-other"), testApproval("ask-1")];
    show(core);
    const allow = await screen.findByRole("button", { name: "Allow once" });
    fireEvent.click(allow);
    expect(core.commands).toEqual([]);
    await waitFor(() => {
      expect(allow.getAttribute("aria-disabled")).toBe("false");
    });
    fireEvent.click(allow);
    await waitFor(() => {
      expect(
        core.commands.map(([name, args]) => [name, (args as { answers: { id: string; hash: string }[] }).answers]),
      ).toEqual([["approvals.answer", [expect.objectContaining({ id: "ask-1", hash: "hash-ask-1" })]]]);
    });
  });

  it("edits a message in its place, and lets the model answer again", async () => {
    const core = new TestCore(testConversation([user, written("Hello")]));
    show(core);
    fireEvent.click(await screen.findByRole("button", { name: "Edit message" }));
    const editor = screen.getByRole("textbox", { name: "Edit message" });
    fireEvent.change(editor, { target: { value: "Hi there" } });
    fireEvent.keyDown(editor, { key: "Enter" });
    await waitFor(() => {
      expect(core.commands).toEqual([
        ["chat.send", { conversation: "conv-1", text: "Hi there", images: [], replaces: "user" }],
      ]);
    });
    fireEvent.click(screen.getByRole("button", { name: "Answer again" }));
    await waitFor(() => {
      expect(core.commands[1]).toEqual(["chat.retry", { conversation: "conv-1" }]);
    });
  });

  it("reads out how the answer stands, and the answer at its end, but not what was there before", async () => {
    const core = new TestCore(testConversation([user, written("Hello")]));
    show(core);
    await screen.findByText("Hello");
    const spoken = screen.getByTestId("chat-answer");
    expect(spoken.textContent).toBe("");
    const asked = testMessage("user-2", [{ kind: "text", text: "And?" }]);
    for (const [message, words] of [
      [testMessage("m2", [], { state: "running" }), "Writing…"],
      [testMessage("m2", [{ kind: "text", text: "All good." }]), "All good."],
    ] as const) {
      core.conversation = testConversation([user, written("Hello"), asked, message]);
      core.tell({ event: "conversation_changed", conversation: "conv-1" });
      await waitFor(() => {
        expect(spoken.textContent).toBe(words);
      });
    }
  });

  it("folds calls that only read, and shows the rest of a call on demand", async () => {
    const calls = ["a", "b"].map((id) => ({ kind: "tool_call" as const, ...testCall({ id }) }));
    show(new TestCore(testConversation([user, testMessage("m", calls)])));
    fireEvent.click(await screen.findByRole("button", { name: /^Read 2 times · files/ }));
    const [first] = screen.getAllByRole("button", { name: /^Read file · files.*your answer · 120 ms$/ });
    if (!first) throw new Error("no call");
    fireEvent.click(first);
    const details = document.getElementById(first.getAttribute("aria-controls") ?? "");
    if (!details) throw new Error("no details");
    expect(details.textContent).toContain("Allowed: your answer");
    expect(within(details).getByRole("group", { name: "Arguments" }).textContent).toContain("/home/ana/todo.md");
  });

  it("renders only the message that is being written again", async () => {
    const Markdown = await import("./Markdown");
    const drawn = vi.spyOn(Markdown.Markdown as unknown as { type: (props: { text: string }) => unknown }, "type");
    const core = new TestCore(
      testConversation([user, testMessage("first", [{ kind: "text", text: "Old answer" }]), writing("New")]),
    );
    show(core);
    await screen.findByText("New");
    const before = drawn.mock.calls.filter(([{ text }]) => text === "Old answer").length;
    expect(before).toBeGreaterThan(0);
    core.writes(3, "er");
    await screen.findByText("Newer");
    expect(drawn.mock.calls.filter(([{ text }]) => text === "Old answer")).toHaveLength(before);
  });
});
