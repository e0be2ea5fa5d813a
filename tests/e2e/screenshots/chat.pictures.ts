// Pictures of conversations with a model.

import { join } from "node:path";

import type { Gatehouse } from "../base.ts";
import { ScriptedModel, type Answer } from "../scripted-model.ts";
import { documents, files, memory } from "./lived.ts";
import { expect, test as base } from "./picture.ts";

const test = base.extend<{ model: ScriptedModel }>({
  model: async ({}, use) => {
    const model = await ScriptedModel.start();
    await use(model);
    await model.close();
  },
});

const answer = `The meeting needs three things:

1. **A date.** None is chosen yet.
2. **A call to Bo** about the budget.
3. **The plan**, which goes out after that.

| Month | Amount |
|---|---|
| May | 1,200 |
| June | 1,350 |

June is 12.5 % above May, so Bo may ask why. I wrote both into \`plan.md\`.`;

/** Begins a conversation. Returns its id. */
async function converse(gatehouse: Gatehouse, model: ScriptedModel, text: string, ...answers: Answer[]) {
  const draft = { name: "Ollama", api: "open_ai_chat", baseUrl: model.baseUrl(), defaultModel: "small" } as const;
  const known = (await gatehouse.command("models.show", {})).providers.find(({ name }) => name === draft.name);
  const { id: provider } = known
    ? await gatehouse.command("models.setProvider", { provider: known.id, draft, key: null })
    : await gatehouse.command("models.addProvider", { draft, key: null });
  await model.answers(...answers);
  const choices = { title: null, servers: null, toolSearch: false, instructions: null };
  const settings = { ...choices, model: { provider, model: "small" } };
  const { id } = await gatehouse.command("chat.create", { settings });
  await gatehouse.command("chat.send", { conversation: id, text, images: [], replaces: null });
  return id;
}

const waiting = async (gatehouse: Gatehouse) => gatehouse.command("approvals.list", { known: [] });

/** Answers the one request that waits. */
async function decide(gatehouse: Gatehouse, decision: "allow" | "deny"): Promise<void> {
  await expect.poll(async () => (await waiting(gatehouse)).length).toBe(1);
  const [one] = await waiting(gatehouse);
  if (one?.request.kind !== "call") throw new Error("no call waits");
  const choice = { lifetime: "once", width: "call", everyClient: false, conditions: [] } as const;
  const given = { ...choice, conditions: [] };
  const denied = { answer: "deny", choice: given, reason: "Keep the archive" } as const;
  const decided = decision === "allow" ? ({ answer: "allow", choice: given } as const) : denied;
  await gatehouse.command("approvals.answer", {
    answers: [{ id: one.id, hash: one.request.hash, answer: decided }],
  });
}

test("a conversation", async ({ lived, model, picture }) => {
  const path = join(documents(lived), "meeting.md");
  await lived.command("policy.autoApprove", { server: files, client: null, to: "reads" });
  const id = await converse(
    lived,
    model,
    "What is left to do for the meeting? Write a plan of it.",
    [
      { reasoning: "The notes are in a file." },
      { call: "list_directory", args: { path: documents(lived) } },
      { call: "read_text_file", args: { path } },
      { call: "read_text_file", args: { path: join(documents(lived), "budget.csv") } },
      { call: "read_graph", args: {} },
    ],
    [
      { text: "I'll write the plan." },
      { call: "write_file", args: { path: join(documents(lived), "plan.md"), content: "# Plan\n\n1. Date\n2. Bo\n" } },
    ],
    [{ call: "create_directory", args: { path: join(documents(lived), "archive") } }],
    [{ text: answer }],
  );
  await decide(lived, "allow");
  await decide(lived, "deny");
  await picture(lived, {
    name: "chat",
    at: `#/chat/${id}`,
    open: async (page, t) => {
      const log = page.getByRole("log", { name: t("chat.messages") });
      await expect(log.getByText("Bo may ask why")).toBeVisible();
      await expect(log.getByRole("button", { name: new RegExp(`${memory}`) })).toBeVisible();
      await log.evaluate((area) => {
        area.scrollTop = 0;
      });
    },
  });
  await picture(lived, {
    name: "chat-settings",
    at: `#/chat/${id}`,
    open: async (page, t) => {
      await page.getByRole("button", { name: t("chat.modelIs", { model: "small" }) }).click();
      await expect(page.getByRole("dialog").getByText(t("chat.toolSearch"))).toBeVisible();
    },
  });
});

test("a request for approval in a conversation", async ({ lived, model, picture }) => {
  const id = await converse(lived, model, "Put my notes of the meeting away.", [
    { text: "I'll make a folder for them first." },
    { call: "create_directory", args: { path: join(documents(lived), "archive") } },
  ]);
  await expect.poll(async () => (await waiting(lived)).length).toBe(1);
  await picture(lived, {
    name: "chat-approval",
    at: `#/chat/${id}`,
    open: async (page, t) => {
      const once = page.getByRole("button", { name: t("ask.allowOnce") });
      await expect(once).toHaveAttribute("aria-disabled", "false");
    },
  });
  await lived.command("chat.stop", { conversation: id });
});

test("a new conversation", async ({ lived, model, picture }) => {
  const id = await converse(lived, model, "What is a heron?", [{ text: "A bird." }]);
  await expect.poll(async () => (await lived.command("chat.show", { conversation: id })).isRunning).toBe(false);
  await picture(lived, {
    name: "chat-new",
    at: "#/chat",
    open: async (page, t) => {
      await expect(page.getByRole("list", { name: t("chat.suggestions") })).toBeVisible();
    },
  });
});

test("chat without a provider", async ({ fresh, picture }) => {
  await picture(fresh, {
    name: "chat-no-provider",
    at: "#/chat",
    open: async (page, t) => {
      await expect(page.getByText(t("chat.noProvider"))).toBeVisible();
    },
  });
});
