// Pictures of the prompt window, by what it asks about.

import type { Page } from "@playwright/test";

import type { GrantChoice } from "../../../ui/src/generated/types.ts";
import type { Gatehouse } from "../base.ts";
import { client, documents, notes } from "./lived.ts";
import { expect, prompt, test, whileWaiting, type Words } from "./picture.ts";

/** Waits until the request takes answers, since its buttons look different before. */
async function awake(page: Page, t: Words): Promise<void> {
  const allow = page.getByRole("button", { name: t("ask.allowOnce"), exact: true });
  await expect(allow).toHaveAttribute("aria-disabled", "false");
}

/** The name under which clients see a tool. */
async function exposedName(gatehouse: Gatehouse, server: string, tool: string): Promise<string> {
  const tools = async () => gatehouse.command("tools.list", { server });
  await expect.poll(async () => (await tools()).some(({ name }) => name === tool)).toBe(true);
  return (await tools()).find(({ name }) => name === tool)?.exposedName ?? tool;
}

test("a file to write", async ({ lived, picture }) => {
  const args = { path: `${documents(lived)}/todo.md`, content: "- buy milk\n- call Bo" };
  await whileWaiting(lived, [() => client(lived, "Claude Code").call("write_file", args)], () =>
    picture(lived, { name: "prompt", at: prompt, open: awake }),
  );
});

test("an edit of a file", async ({ lived, picture }) => {
  const edits = [{ oldText: "- Call Bo about the budget", newText: "- Call Bo and Eve about the new budget" }];
  const args = { path: `${documents(lived)}/meeting.md`, edits, dryRun: false };
  expect(notes).toContain(edits[0]?.oldText);
  await whileWaiting(lived, [() => client(lived, "Claude Code").call("edit_file", args)], () =>
    picture(lived, {
      name: "prompt-edit",
      at: prompt,
      open: async (page, t) => {
        const name = t("ask.diff", { before: "oldText", after: "newText" });
        await expect(page.getByRole("group", { name })).toBeVisible();
        await awake(page, t);
      },
    }),
  );
});

test("nested arguments", async ({ lived, picture }) => {
  const entities = [
    { name: "Ana", entityType: "person", observations: ["leads the project", "lives in Vienna"] },
    { name: "Budget", entityType: "document", observations: ["agreed on in May"] },
  ];
  await whileWaiting(lived, [() => client(lived, "Cursor").call("create_entities", { entities })], () =>
    picture(lived, {
      name: "prompt-nested",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByText("leads the project").first()).toBeVisible();
        await awake(page, t);
      },
    }),
  );
});

test("warnings", async ({ lived, picture }) => {
  const args = { text: "invoice\u202Efdp.exe", api_key: "sk-live-0123456789abcdefghij" };
  await whileWaiting(lived, [() => client(lived, "Claude Code").call("add_note", args)], () =>
    picture(lived, {
      name: "prompt-warnings",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByText(t("ask.masked")).first()).toBeVisible();
        await awake(page, t);
      },
    }),
  );
});

for (const [name, button] of [
  ["prompt-allow-options", "ask.allowMore"],
  ["prompt-deny-options", "ask.denyMore"],
] as const) {
  test(name, async ({ lived, picture }) => {
    const args = { path: `${documents(lived)}/${name}` };
    await whileWaiting(lived, [() => client(lived, "Claude Code").call("create_directory", args)], () =>
      picture(lived, {
        name,
        at: prompt,
        open: async (page, t) => {
          await awake(page, t);
          await page.getByRole("button", { name: t(button) }).click();
          await expect(page.getByRole("region", { name: t(button) })).toBeVisible();
        },
      }),
    );
  });
}

test("several requests", async ({ lived, picture }) => {
  const calls = ["2025", "2026", "2027"].map(
    (year) => () => client(lived, "Claude Code").call("create_directory", { path: `${documents(lived)}/${year}` }),
  );
  await whileWaiting(lived, calls, () =>
    picture(lived, {
      name: "prompt-queue",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByText(t("ask.place", { at: 1, count: 3 }))).toBeVisible();
        await awake(page, t);
      },
    }),
  );
});

test("a form of a server", async ({ lived, picture }) => {
  const server = await lived.addFixture("Travel");
  await lived.command("policy.autoApprove", { server, client: null, to: "all" });
  const tool = await exposedName(lived, server, "ask_form");
  const properties = {
    name: { type: "string", title: "Your name" },
    guests: { type: "integer", title: "Guests", minimum: 1, maximum: 9, default: 2 },
    news: { type: "boolean", title: "Send me news" },
  };
  const args = { schema: { type: "object", properties, required: ["name"] }, message: "Who is the booking for?" };
  await whileWaiting(lived, [(signal) => client(lived, "Claude Code").call(tool, args, signal)], () =>
    picture(lived, {
      name: "prompt-form",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByLabel("Your name")).toBeVisible();
        const send = page.getByRole("button", { name: t("ask.send"), exact: true });
        await expect(send).toHaveAttribute("aria-disabled", "false");
      },
    }),
  );
  await lived.command("servers.remove", { server, undoable: false });
});

test("a tool that has changed", async ({ lived, picture }) => {
  const server = await lived.addFixture("Calculator", "--fault", "changes-tools");
  const choice: GrantChoice = { lifetime: "always", width: "tool", everyClient: true, conditions: [] };
  for (const tool of ["echo", "mutate"]) await lived.command("policy.grant", { server, tool, client: null, choice });
  const description = async () =>
    (await lived.command("tools.list", { server })).find(({ name }) => name === "echo")?.description;
  const code = client(lived, "Claude Code");
  const echo = await exposedName(lived, server, "echo");
  await code.call(echo, {});
  const before = await description();
  await code.call(await exposedName(lived, server, "mutate"), {});
  await expect.poll(description).not.toBe(before);
  await whileWaiting(lived, [() => code.call(echo, {})], () =>
    picture(lived, {
      name: "prompt-changed",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByRole("heading", { name: t("ask.changes") })).toBeVisible();
        await awake(page, t);
      },
    }),
  );
  await lived.command("servers.remove", { server, undoable: false });
});
