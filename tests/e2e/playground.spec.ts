import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { everyCall } from "../../ui/src/core/callFilter.ts";
import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

const panel = (main: Page) => main.getByRole("region", { name: "Details" });
const call = (main: Page) => panel(main).getByRole("button", { name: "Call", exact: true });
const result = (main: Page) => panel(main).getByRole("region", { name: "Result" });
const editor = (main: Page) => panel(main).getByRole("textbox", { name: "Arguments" });

/** Opens a tool from the list, as a person finds it. */
async function pick(main: Page, words: string, name: RegExp): Promise<void> {
  await main.getByRole("link", { name: "Playground", exact: true }).click();
  await main.getByLabel("Search tools, prompts and resources").fill(words);
  await main.getByRole("option", { name }).click();
}

/** Replaces the text in the JSON editor. */
async function type(main: Page, text: string): Promise<void> {
  await editor(main).click();
  await main.keyboard.press("ControlOrMeta+a");
  await main.keyboard.insertText(text);
}

/** The arguments of the calls that reached the server. */
const sentIn = (log: string) =>
  readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line.includes('"tools/call"'))
    .map((line) => (JSON.parse(line) as { params: { arguments: unknown } }).params.arguments);

test("a tool is called from a form and from JSON, which show the same", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await pick(main, "write note", /^Write note/);
  await call(main).click();
  await expect(panel(main).getByText("This field is required.", { exact: true })).toBeVisible();
  await panel(main).getByRole("textbox", { name: /^text/ }).fill("from the form");
  await expect(editor(main)).toContainText("from the form");
  await noViolations(main);
  await pictures(gatehouse, main, "playground");
  await call(main).click();
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
  await noViolations(main);

  await type(main, '{"text": "from JSON"}');
  await expect(panel(main).getByRole("textbox", { name: /^text/ })).toHaveValue("from JSON");
  await type(main, '{"text": ');
  await expect(panel(main).getByText("Fix the JSON to use the form.")).toBeVisible();
  await expect(panel(main).getByRole("button", { name: /^Line 1:/ })).toBeVisible();
  await expect(call(main)).toBeDisabled();
  await type(main, '{"text": "mended"}');
  await expect(call(main)).toBeEnabled();

  await result(main).getByText("Raw messages (2)").click();
  await expect(result(main).getByText(/"method":"tools\/call"/)).toBeVisible();
  await expect(result(main).getByRole("button", { name: "Copy response" })).toBeVisible();
});

test("the field of a text is as high as its text, up to ten lines", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await pick(main, "write note", /^Write note/);
  const field = panel(main).getByRole("textbox", { name: /^text/ });
  const size = () =>
    field.evaluate((it) => ({
      height: it.clientHeight,
      hidden: it.scrollHeight - it.clientHeight,
      all: it.scrollWidth - it.clientWidth,
    }));
  const { height: line } = await size();
  await field.fill(`/home/ana/${"a-folder-with-a-long-name/".repeat(8)}file.txt`);
  const path = await size();
  expect(path.height).toBeGreaterThan(1.5 * line);
  expect(Math.max(path.hidden, path.all)).toBeLessThanOrEqual(1);
  await field.fill("one\ntwo\nthree");
  expect((await size()).hidden).toBeLessThanOrEqual(1);
  await pictures(gatehouse, main, "playground-text");
  await field.fill("line\n".repeat(100));
  const many = await size();
  expect(many.hidden).toBeGreaterThan(line);
  expect(many.height).toBeLessThan(12 * line);
  await field.fill("");
  expect((await size()).height).toBe(line);
});

test("where there is little room, the form and the JSON are tabs of the same arguments", async ({
  gatehouse,
  main,
}) => {
  await gatehouse.addFixture("fixture");
  await main.setViewportSize({ width: 760, height: 620 });
  await pick(main, "write note", /^Write note/);
  const field = panel(main).getByRole("textbox", { name: /^text/ });
  await field.fill("from the form");
  await expect(editor(main)).toBeHidden();
  await panel(main).getByText("JSON", { exact: true }).click();
  await expect(editor(main)).toContainText("from the form");
  await expect(field).toBeHidden();
  await type(main, '{"text": "from JSON"}');
  await panel(main).getByText("Form", { exact: true }).click();
  await expect(field).toHaveValue("from JSON");
  await noViolations(main);
});

test("the tools of a server's page are tried in the Playground", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/tools`);
  await main.getByRole("link", { name: "Try fails" }).click();
  await call(main).click();
  await expect(result(main).getByText("The tool reported an error")).toBeVisible();
});

// A default that is not shown, or shown and not sent, makes a call that its user never saw.
test("a form shows the defaults at every depth, and sends them", async ({ gatehouse, main }) => {
  const log = join(gatehouse.folder, "messages");
  await gatehouse.addFixture("fixture", "--fault", "nested-defaults", "--log", log);
  await pick(main, "order", /^Order/);
  const field = (name: string) => panel(main).getByLabel(name, { exact: true });
  const shown = { city: "Vienna", floor: "3", note: "", sku: "a-1", count: "2", holder: "Ann" };
  for (const [name, value] of Object.entries(shown)) await expect(field(name)).toHaveValue(value);
  const express = panel(main).getByRole("checkbox", { name: "express" });
  await expect(express).toBeChecked();

  await panel(main)
    .getByRole("textbox", { name: /^product/ })
    .fill("tea");
  await call(main).click();
  const rest = { lines: [{ sku: "a-1", count: 2 }], payer: { holder: "Ann" } };
  const first = { product: "tea", delivery: { address: { city: "Vienna", floor: 3 }, express: true }, ...rest };
  await expect.poll(() => sentIn(log)).toEqual([first]);
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();

  await field("city").fill("Graz");
  await express.uncheck();
  await call(main).click();
  const second = { product: "tea", delivery: { address: { city: "Graz", floor: 3 }, express: false }, ...rest };
  await expect.poll(() => sentIn(log)).toEqual([first, second]);
});

test("arguments that don't match the schema can be sent on purpose", async ({ gatehouse, main }) => {
  const log = join(gatehouse.folder, "messages");
  await gatehouse.addFixture("fixture", "--log", log);
  await pick(main, "slow", /^slow/);
  await type(main, '{"ms": "soon"}');
  await expect(panel(main).getByText("Doesn't match the tool's schema")).toBeVisible();
  await call(main).click();
  await panel(main).getByRole("button", { name: "Call anyway" }).click();
  await expect.poll(() => sentIn(log)).toEqual([{ ms: "soon" }]);
});

test("a running call shows its progress and is cancelled", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("works");
  await pick(main, "slow", /^slow/);
  await panel(main).getByLabel("ms", { exact: true }).fill("60000");
  await panel(main).getByLabel("progress", { exact: true }).fill("100");
  await call(main).click();
  const bar = result(main).getByRole("progressbar", { name: "Progress of slow" });
  await expect(bar).toBeVisible();
  await expect(result(main)).toContainText(/step \d+/);
  // It goes on while another page is open.
  await main.getByRole("link", { name: "Activity" }).click();
  await main.goBack();
  await expect(bar).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "playground-running", []);
  await panel(main).getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(result(main).getByText("Cancelled. The server may have done part of it.")).toBeVisible();
  await expect(bar).toBeHidden();
});

test("a result that doesn't match its schema fails", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture", "--fault", "wrong-output");
  await pick(main, "typed", /^typed/);
  await call(main).click();
  await expect(result(main).getByText("Result doesn't match the schema")).toBeVisible();
  await expect(result(main).getByText(/doesn't match the output schema that the tool declares/)).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "playground-unfit", []);
});

test("pictures, sound, and links to more come from a tool", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await pick(main, "media", /^media/);
  await call(main).click();
  for (const name of ["Image", "fixture://image"]) {
    const picture = result(main).getByRole("img", { name, exact: true });
    await expect(picture).toBeVisible();
    expect(await picture.evaluate((it) => (it as HTMLImageElement).naturalWidth)).toBe(1);
  }
  await expect(result(main).locator("audio")).toHaveCount(1);
  await result(main).getByRole("button", { name: "Read", exact: true }).click();
  await expect(
    result(main)
      .getByText(/^Showing the first /)
      .first(),
  ).toBeVisible();
  await noViolations(main);
  await result(main).getByRole("link", { name: "Open big in the Playground" }).click();
  await expect(panel(main).getByRole("heading", { level: 2, name: /big/i })).toBeVisible();
  await panel(main).getByRole("button", { name: "Read", exact: true }).click();
  await expect(
    panel(main)
      .getByText(/^Showing the first /)
      .first(),
  ).toBeVisible();
});

test("a prompt is completed and got", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await main.getByRole("link", { name: "Playground", exact: true }).click();
  await main.getByText("Prompts", { exact: true }).click();
  await main.getByRole("option", { name: /^greet/i }).click();
  await panel(main).getByRole("combobox", { name: "name" }).fill("Ana");
  await panel(main).getByRole("combobox", { name: "tone" }).pressSequentially("f");
  await main.getByRole("option", { name: "friendly" }).click();
  await panel(main).getByRole("button", { name: "Get" }).click();
  // It stands in the history too.
  await expect(panel(main).getByText("Done", { exact: true }).first()).toBeVisible();
  await noViolations(main);

  // Its values come back from the history.
  await main.reload();
  await panel(main)
    .getByRole("link", { name: /^Use again: greet/ })
    .click();
  await expect(panel(main).getByRole("combobox", { name: "name" })).toHaveValue("Ana");
});

test("a resource is read, and again when it changes", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  const note = async (text: string) => {
    const args = JSON.stringify({ text });
    await gatehouse.command("servers.callTool", {
      server: "fixture",
      tool: "write_note",
      arguments: args,
      run: null,
      client: null,
    });
  };
  await note("buy milk");
  await main.getByRole("link", { name: "Playground", exact: true }).click();
  await main.getByText("Resources", { exact: true }).click();
  await main.getByRole("option", { name: /^Note resource/ }).click();
  await panel(main).getByRole("button", { name: "Read", exact: true }).click();
  await expect(panel(main).getByText("buy milk", { exact: true })).toBeVisible();
  await panel(main).getByLabel("Watch for changes").click({ force: true });
  await expect(panel(main).getByLabel("Watch for changes")).toBeChecked();
  await note("call Bo");
  await expect(panel(main).getByText("call Bo", { exact: true })).toBeVisible();
});

/** Answers the one request that waits. */
async function answer(gatehouse: Gatehouse, allow: boolean): Promise<void> {
  const pending = async () => gatehouse.command("approvals.list", { known: [] });
  await expect.poll(async () => (await pending()).length).toBe(1);
  const [one] = await pending();
  if (one?.request.kind !== "call") throw new Error("no request");
  expect(one.request.client.name).toBe("Claude Code");
  const choice = { lifetime: "once" as const, width: "call" as const, everyClient: false, conditions: [] };
  const given = allow ? { answer: "allow" as const, choice } : { answer: "deny" as const, choice, reason: null };
  await gatehouse.command("approvals.answer", {
    answers: [{ id: one.id, hash: one.request.hash, answer: given }],
  });
}

test("a tool is called as a client, whose permissions decide", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await gatehouse.command("clients.add", { name: "Claude Code" });
  await pick(main, "read note", /^Read note/);
  const as = panel(main).getByLabel("As", { exact: true });
  await as.selectOption("Claude Code");
  await expect(panel(main).getByText(/^Claude Code's profile and permissions decide/)).toBeVisible();
  await call(main).click();
  await expect(result(main).getByText("waiting for your approval")).toBeVisible();
  await expect(result(main).getByRole("link", { name: "Show approval" })).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "playground-asks", []);
  await answer(gatehouse, true);
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
  await expect(result(main).getByText(/waited .* for you/)).toBeVisible();

  await call(main).click();
  await expect(result(main).getByText("waiting for your approval")).toBeVisible();
  await answer(gatehouse, false);
  await expect(result(main).getByText("Not allowed")).toBeVisible();

  // As the user, nobody is asked.
  await as.selectOption("You");
  await call(main).click();
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
  const records = await gatehouse.command("calls.list", {
    filter: { ...everyCall, byUser: true, limit: 3 },
  });
  expect(records.map(({ clientName }) => clientName)).toEqual(["Gatehouse", "Claude Code", "Claude Code"]);
});

/** The rows of the history. */
const rows = (main: Page): Locator => panel(main).getByRole("link", { name: /^Use again: / });

test("what was called is there after a reload, and fills the form", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await pick(main, "write note", /^Write note/);
  await panel(main).getByRole("textbox", { name: /^text/ }).fill("kept");
  await call(main).click();
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
  await expect(rows(main)).toHaveCount(1);
  await main.reload();
  await expect(rows(main)).toHaveCount(1);
  await rows(main).first().click();
  await expect(panel(main).getByRole("textbox", { name: /^text/ })).toHaveValue("kept");
  await expect(result(main).getByText("Gatehouse", { exact: true })).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "playground-history");
  await call(main).click();
  await expect(rows(main)).toHaveCount(2);
});

test("a secret of a recorded call is to be entered again", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await pick(main, "echo", /^Echo/);
  await type(main, '{"password": "correct horse"}');
  await call(main).click();
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
  await rows(main).first().click();
  await expect(panel(main).getByText(/^Secrets in these arguments are masked/)).toBeVisible();
  await expect(editor(main)).not.toContainText("correct horse");
});

test("a tool that requires a task runs as one", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("worker", "--lifecycle", "legacy", "--fault", "tasks");
  await pick(main, "long_chore", /^long_chore/);
  await panel(main).getByLabel("ms", { exact: true }).fill("3000");
  await call(main).click();
  await expect(result(main).getByText("Working", { exact: true })).toBeVisible();
  await expect(result(main).getByText("Done", { exact: true })).toBeVisible();
});

test("what was entered stays when its server disappears", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await pick(main, "write note", /^Write note/);
  await panel(main).getByRole("textbox", { name: /^text/ }).fill("not lost");
  await gatehouse.command("servers.remove", { server: id, undoable: false });
  await expect(panel(main).getByText(/What you entered is kept/)).toBeVisible();
  await expect(panel(main).getByRole("textbox", { name: /^text/ })).toHaveValue("not lost");
  await expect(call(main)).toBeDisabled();
  await main.reload();
  await expect(panel(main).getByText("Not available any more")).toBeVisible();
  await noViolations(main);
});
