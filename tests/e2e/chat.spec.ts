import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, noViolations, pictures, test as base, type Gatehouse } from "./base.ts";
import { ScriptedModel } from "./scripted-model.ts";

const test = base.extend<{ model: ScriptedModel }>({
  model: async ({}, use) => {
    const model = await ScriptedModel.start();
    await use(model);
    await model.close();
  },
});

/** Adds the scripted model's provider. */
async function addProvider(gatehouse: Gatehouse, model: ScriptedModel): Promise<void> {
  const draft = { name: "Local", api: "open_ai_chat", baseUrl: model.baseUrl(), defaultModel: "small" } as const;
  await gatehouse.command("models.addProvider", { draft, key: null });
}

const composer = (main: Page) => main.getByRole("textbox", { name: "Message", exact: true });
const log = (main: Page) => main.getByRole("log", { name: "Messages" });
const conversations = (main: Page) => main.getByRole("list", { name: "Conversations" });

/** Writes the first message of a new conversation, or the next one. */
async function send(main: Page, text: string): Promise<void> {
  await composer(main).fill(text);
  await composer(main).press("Enter");
  await expect(log(main).getByRole("article", { name: "You" }).last()).toContainText(text);
  await expect(composer(main)).toHaveValue("");
}

/** Opens Chat with a provider. */
async function open(gatehouse: Gatehouse, model: ScriptedModel, main: Page): Promise<void> {
  await addProvider(gatehouse, model);
  await main.getByRole("link", { name: "Chat" }).click();
  await expect(composer(main)).toBeFocused();
}

/** The results that the provider got in its last request. */
const results = async (model: ScriptedModel) =>
  ((await model.lastRequest())?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => content);

test("from nothing to the first answer: a provider, a suggestion, a call that is allowed in the conversation", async ({
  gatehouse,
  model,
  main,
}) => {
  await main.getByRole("link", { name: "Chat" }).click();
  await expect(main.getByText("No model provider yet")).toBeVisible();
  await noViolations(main);
  await main.getByRole("button", { name: "Add provider" }).click();
  const dialog = main.getByRole("dialog", { name: "Add provider" });
  await dialog.getByText("Other (OpenAI-compatible)").click();
  await dialog.getByLabel("Name").fill("Local");
  await dialog.getByLabel("Base URL").fill(model.baseUrl());
  await dialog.getByLabel("Default model").fill("small");
  await dialog.getByRole("button", { name: "Add and test" }).click();
  await expect(dialog.getByText("It works: 2 models")).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();

  await model.answers(
    [
      { reasoning: "A clock is needed." },
      { text: "I'll look." },
      { call: "current_time", args: { timezone: "Asia/Tokyo" } },
    ],
    [{ text: "It is **late** in Tokyo." }],
  );
  await main.getByRole("button", { name: /What time is it in Tokyo/ }).click();
  await expect(composer(main)).toHaveValue(/Tokyo/);
  await composer(main).press("Enter");
  const request = log(main).getByRole("article", { name: /wants to use Current time of Time/ });
  await expect(request).toContainText("Asia/Tokyo");
  await expect(main.getByRole("button", { name: "Send" })).toBeHidden();
  const once = request.getByRole("button", { name: "Allow once" });
  await expect(once).toHaveAttribute("aria-disabled", "false");
  await noViolations(main);
  await pictures(gatehouse, main, "chat-approval");
  await once.click();
  await expect(log(main).getByText("late", { exact: true })).toBeVisible();
  await expect(main.getByRole("heading", { level: 2, name: /What time is it in Tokyo/ })).toBeVisible();

  const call = log(main).getByRole("button", { name: /^Current time · Time/ });
  await expect(call).toContainText("your answer");
  await call.click();
  await expect(log(main).getByText("Allowed: your answer")).toBeVisible();
  await expect(log(main).getByRole("group", { name: "Arguments" })).toContainText('"Asia/Tokyo"');
  await expect(log(main).getByRole("region", { name: /Done/ })).toBeVisible();
  await log(main).getByRole("button", { name: "Reasoning" }).click();
  await expect(log(main).getByText("A clock is needed.")).toBeVisible();
  await expect(main.getByText("So far 2,400 tokens in, 68 tokens out")).toBeVisible();
  await noViolations(main);
  expect(JSON.stringify(await results(model))).toContain("Asia/Tokyo");
  expect((await model.requests())[0]?.tools?.map((tool) => tool.function.name)).toContain("current_time");
});

test("the request is the same one in the prompt, and a denial's reason reaches the model", async ({
  gatehouse,
  model,
  main,
  prompt,
}) => {
  await open(gatehouse, model, main);
  await model.answers([{ call: "add_note", args: { text: "milk" } }], [{ text: "Then I won't." }]);
  await send(main, "Note down milk");
  const inline = log(main).getByRole("article", { name: /wants to use Add a note/ });
  await expect(inline).toBeVisible();
  expect(await gatehouse.command("approvals.list", { known: [] })).toHaveLength(1);
  await prompt.bringToFront();
  await prompt.getByRole("button", { name: "More deny options" }).click();
  await prompt.getByLabel("Reason (the model will see this)").fill("I have milk");
  await prompt.getByRole("button", { name: "Deny this exact call" }).click();
  await main.bringToFront();
  await expect(inline).toBeHidden();
  await expect(log(main).getByRole("button", { name: /^Add a note · Notes.*Denied/ })).toBeVisible();
  await expect(log(main).getByText("Then I won't.")).toBeVisible();
  expect(JSON.stringify(await results(model))).toContain("I have milk");
});

test("stops an answer, answers again, and goes on from an edited message", async ({ gatehouse, model, main }) => {
  await open(gatehouse, model, main);
  await model.answers(
    [{ text: "One, two, " }, { hold: true }, { text: "three" }],
    [{ text: "Again: one." }],
    [{ text: "Eins." }],
  );
  await send(main, "Count");
  await expect(log(main).getByText("One, two,")).toBeVisible();
  // A message while the model writes isn't possible.
  await composer(main).fill("and more");
  await composer(main).press("Enter");
  await main.getByRole("button", { name: "Stop" }).click();
  await expect(log(main).getByText("Stopped")).toBeVisible();
  await expect(composer(main)).toHaveValue("and more");
  await model.release();

  await log(main).getByRole("button", { name: "Answer again" }).click();
  await expect(log(main).getByText("Again: one.")).toBeVisible();
  await expect(log(main).getByText("One, two,")).toBeHidden();

  await log(main).getByRole("article", { name: "You" }).hover();
  await log(main).getByRole("button", { name: "Edit message" }).click();
  const editor = log(main).getByRole("textbox", { name: "Edit message" });
  await expect(editor).toBeFocused();
  await editor.press("Escape");
  await expect(log(main).getByRole("button", { name: "Edit message" })).toBeFocused();
  await main.keyboard.press("Enter");
  await editor.fill("Count in German");
  await editor.press("Enter");
  await expect(log(main).getByText("Eins.")).toBeVisible();
  await expect(log(main).getByText("Again: one.")).toBeHidden();
  await expect(log(main).getByRole("article", { name: "You" })).toHaveText(/Count in German/);
  expect((await model.lastRequest())?.messages.filter(({ role }) => role === "user")).toHaveLength(1);
});

test("calls side by side, reads folded, arguments that were no JSON shown as repaired", async ({
  gatehouse,
  model,
  main,
}) => {
  await open(gatehouse, model, main);
  await gatehouse.command("tools.classify", { server: "Time", tool: "current_time", class: "read" });
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "reads" });
  await model.answers(
    [
      { call: "current_time", args: { timezone: "Asia/Tokyo" } },
      { call: "current_time", args: { timezone: "America/Lima" } },
      { call: "add_note", args: { text: "milk" } },
      { call: "delete_note", args: { id: 1 } },
    ],
    [{ text: "And once more." }, { call: "current_time", written: '{"timezone": "Europe/Vienna",}' }],
    [{ text: "All done." }],
  );
  await send(main, "Do it all");
  const fold = log(main).getByRole("button", { name: "Read 2 times · Time" });
  await expect(fold).toBeVisible();
  const requests = log(main).getByRole("article", { name: /wants to use/ });
  await expect(requests).toHaveCount(2);
  for (const title of ["Delete a note", "Add a note"]) {
    const button = requests
      .filter({ hasText: title })
      .getByRole("button", { name: title.startsWith("Add") ? "Allow once" : "Deny", exact: true });
    await expect(button).toHaveAttribute("aria-disabled", "false");
    await button.click();
  }
  await expect(log(main).getByText("All done.")).toBeVisible();
  await fold.click();
  await expect(log(main).getByRole("button", { name: /^Current time · Time.*America\/Lima/ })).toBeVisible();
  await log(main)
    .getByRole("button", { name: /^Current time · Time.*Europe\/Vienna/ })
    .click();
  await log(main)
    .getByText(/weren't valid JSON and were repaired/)
    .click();
  await expect(log(main).getByText('{"timezone": "Europe/Vienna",}')).toBeVisible();
  await noViolations(main);
});

test("an error of the provider says what to do, and its answer can be had again", async ({
  gatehouse,
  model,
  main,
}) => {
  await open(gatehouse, model, main);
  await model.answers({ status: 401, message: "Incorrect API key provided" }, [{ text: "Here I am." }]);
  await send(main, "Hello?");
  const alert = log(main).getByRole("alert");
  await expect(alert).toContainText("Incorrect API key provided");
  await noViolations(main);
  await alert.getByRole("button", { name: "Try again" }).click();
  await expect(log(main).getByText("Here I am.")).toBeVisible();
  await expect(alert).toBeHidden();
});

test("conversations are found by their words, renamed, exported and deleted", async ({ gatehouse, model, main }) => {
  await open(gatehouse, model, main);
  await model.answers([{ text: "A **heron** is a bird." }], [{ text: "Granite is a rock." }]);
  await send(main, "What is a heron?");
  await expect(log(main).getByText("is a bird.")).toBeVisible();
  await main.keyboard.press("Control+n");
  await expect(main.getByRole("heading", { level: 2, name: "New conversation" })).toBeVisible();
  await send(main, "What is granite?");
  await expect(log(main).getByText("Granite is a rock.")).toBeVisible();
  await expect(conversations(main).getByRole("listitem")).toHaveCount(2);

  await main.getByRole("textbox", { name: "Search conversations" }).fill("bird");
  await expect(conversations(main).getByRole("listitem")).toHaveCount(1);
  await conversations(main).getByRole("link", { name: /heron/ }).click();
  await expect(log(main).getByText("is a bird.")).toBeVisible();

  const menu = main.getByRole("button", { name: "More for this conversation" });
  await menu.click();
  await main.getByRole("menuitem", { name: "Rename" }).click();
  await main.getByRole("textbox", { name: "Title" }).fill("Birds");
  await main.getByRole("textbox", { name: "Title" }).press("Enter");
  await expect(main.getByRole("heading", { level: 2, name: "Birds" })).toBeVisible();

  await menu.click();
  await main.getByRole("menuitem", { name: "Export as Markdown" }).click();
  const saved = main.getByRole("alert").filter({ hasText: "Conversation exported" });
  const path = /\/\S+\.md/.exec((await saved.textContent()) ?? "")?.[0] ?? "";
  expect(existsSync(path), path).toBe(true);
  expect(readFileSync(path, "utf8")).toContain("A **heron** is a bird.");
  expect(path.startsWith(join(gatehouse.folder, ""))).toBe(true);

  await menu.click();
  await main.getByRole("menuitem", { name: "Delete" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(main.getByRole("heading", { level: 2, name: "New conversation" })).toBeVisible();
  await expect(conversations(main)).toBeHidden();
  await main.getByRole("textbox", { name: "Search conversations" }).fill("");
  await expect(conversations(main).getByRole("listitem")).toHaveCount(1);
});

test("a conversation has its own model, servers and instructions, and says what its tools cost", async ({
  gatehouse,
  model,
  main,
}) => {
  await open(gatehouse, model, main);
  await model.answers([{ text: "Hi." }], [{ text: "Hello again." }]);
  await send(main, "Hi");
  await expect(log(main).getByText("Hi.", { exact: true })).toBeVisible();
  const tools = main.getByRole("button", { name: /^\d+ tools$/ });
  const before = Number.parseInt((await tools.textContent()) ?? "");
  await tools.click();
  const settings = main.getByRole("dialog", { name: "Conversation settings" });
  await expect(settings.getByText(/about [\d,]+ tokens in every request/)).toBeVisible();
  await settings
    .getByRole("combobox", { name: "Model ID" })
    .or(settings.getByRole("textbox", { name: "Model ID" }))
    .click();
  await main.getByRole("option", { name: "large" }).click();
  await settings.getByRole("checkbox", { name: "Notes" }).click();
  await expect(settings.getByRole("checkbox", { name: "All servers that are on" })).not.toBeChecked();
  await settings.getByRole("textbox", { name: "Instructions" }).fill("Answer in one word.");
  await settings.getByRole("textbox", { name: "Instructions" }).blur();
  await noViolations(main);
  await settings.getByRole("button", { name: "Close" }).click();
  await expect(main.getByRole("button", { name: "Model: large" })).toBeVisible();
  await expect.poll(async () => Number.parseInt((await tools.textContent()) ?? "")).toBeLessThan(before);
  await send(main, "Hi again");
  await expect(log(main).getByText("Hello again.")).toBeVisible();
  const last = await model.lastRequest();
  expect(JSON.stringify(last?.messages)).toContain("Answer in one word.");
  expect(last).toMatchObject({ model: "large" });
  expect(last?.tools?.map((tool) => tool.function.name)).not.toContain("add_note");
});

test("an image goes with the message, and other files don't", async ({ gatehouse, model, main }) => {
  await open(gatehouse, model, main);
  await model.answers([{ text: "A dot." }]);
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const chooser = main.waitForEvent("filechooser");
  await main.getByRole("button", { name: "Attach images" }).click();
  await (
    await chooser
  ).setFiles([
    { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") },
    { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("text") },
  ]);
  await expect(main.getByRole("list", { name: "Attached images" }).getByRole("listitem")).toHaveCount(1);
  await expect(main.getByText("Only PNG, JPEG, WebP and GIF images can be attached.")).toBeVisible();
  await noViolations(main);
  await send(main, "What is this?");
  await expect(log(main).getByRole("article", { name: "You" }).getByRole("img", { name: "Image" })).toBeVisible();
  await expect(log(main).getByText("A dot.")).toBeVisible();
  expect(JSON.stringify((await model.lastRequest())?.messages)).toContain(png);
});

test("a text of the model loads nothing and leads nowhere by itself", async ({ gatehouse, model, main }) => {
  const asked: string[] = [];
  main.on("request", (request) => asked.push(request.url()));
  await open(gatehouse, model, main);
  await model.answers([
    {
      text: "![x](http://127.0.0.1:9/leak.png) <img src=//127.0.0.1:9/b.png> [link](https://example.com/a) [bad](javascript:alert(1))",
    },
  ]);
  await send(main, "Show me");
  await log(main).getByRole("link", { name: "link" }).click();
  await expect.poll(async () => (await gatehouse.noted()).join("\n")).toContain("https://example.com/a");
  await expect(log(main).getByText("bad")).toBeVisible();
  await expect(log(main).getByRole("link")).toHaveCount(1);
  expect(asked.filter((url) => !url.startsWith(gatehouse.address))).toEqual([]);
});
