import type { Page } from "@playwright/test";

import type { GrantChoice } from "../../ui/src/generated/types.ts";
import { expect, noViolations, pictures, test } from "./base.ts";

const choice = (part: Partial<GrantChoice> = {}): GrantChoice => ({
  lifetime: "always",
  width: "tool",
  everyClient: true,
  conditions: [],
  ...part,
});

const rule = (main: Page, sentence: string) => main.getByRole("listitem").filter({ hasText: sentence });

const open = (main: Page) => main.getByRole("link", { name: "Permissions" }).click();

test("without a rule the page says so, and leads on", async ({ main }) => {
  await open(main);
  await expect(main.getByText("No rules: Gatehouse asks for every call")).toBeVisible();
  await noViolations(main);
  await main.getByRole("link", { name: "Open servers" }).click();
  await expect(main.getByRole("heading", { level: 1, name: "Servers" })).toBeVisible();
});

test("every rule stands in words, with its use and its end, is found, and is taken back", async ({
  gatehouse,
  main,
}) => {
  const client = await gatehouse.connect("Claude Code");
  await gatehouse.command("policy.grant", { server: "Time", tool: "current_time", client: null, choice: choice() });
  await gatehouse.command("policy.deny", {
    server: "Notes",
    tool: "delete_note",
    client: null,
    choice: choice(),
    reason: "Ask me first",
  });
  await gatehouse.command("policy.autoApprove", { server: "Notes", client: "Claude Code", to: "all" });
  await gatehouse.command("policy.grant", {
    server: "Notes",
    tool: "add_note",
    client: "Claude Code",
    choice: choice({ lifetime: "quarter_hour", everyClient: false }),
  });
  await open(main);
  await expect(main.getByText("Rules: 4", { exact: true })).toBeVisible();
  const sentences = main.getByRole("region", { name: "Rules" }).getByTestId("rule-sentence");
  await expect(sentences).toHaveText([
    /^Allow Notes: add_note until .*, for Claude Code; asks on first use$/,
    "Always allow everything on Notes, for Claude Code; asks on first use",
    "Always deny Notes: delete_note, for every client",
    "Always allow Time: current_time, for every client",
  ]);
  await expect(rule(main, "Allow Notes: add_note").getByRole("timer")).toHaveText(/expires in 1[45]:\d\d/);
  await expect(rule(main, "everything on Notes")).toContainText(/tools covered: \d+/);
  await expect(rule(main, "everything on Notes")).toContainText("asks on first use");
  await expect(rule(main, "delete_note")).toContainText("reason: Ask me first");

  const time = rule(main, "Time: current_time");
  await expect(time).toContainText("never used");
  expect((await client.call("current_time", {})).isError).toBeFalsy();
  await expect(time).toContainText("last used");
  await noViolations(main);
  await pictures(gatehouse, main, "permissions");

  await main.getByLabel("Search rules").fill("deny delete");
  await expect(main.getByText("Rules: 1 of 4")).toBeVisible();
  await main.getByLabel("Search rules").fill("nowhere");
  await main.getByRole("button", { name: "Show all" }).click();
  await main.getByLabel("Kind").selectOption("Temporary");
  await expect(sentences).toHaveCount(1);
  await main.getByLabel("Kind").selectOption("Denied");
  await expect(sentences).toHaveText(["Always deny Notes: delete_note, for every client"]);
  await main.getByLabel("Kind").selectOption("Allowed and denied");
  await main.getByLabel("Server", { exact: true }).selectOption("Time");
  await expect(sentences).toHaveCount(1);
  await main.getByLabel("Server", { exact: true }).selectOption("All servers");

  await main.getByRole("button", { name: "Unblock: Always deny Notes: delete_note, for every client" }).click();
  await expect(sentences).toHaveCount(3);
  await expect(main.getByRole("region", { name: "Rules" })).toBeFocused();
  await time.getByRole("button", { name: "Revoke:" }).click();
  await expect(sentences).toHaveCount(2);
  expect((await gatehouse.rules()).join()).not.toContain("Time");
});

test("a block that was added without the operator key says so, until it is the user's own", async ({
  gatehouse,
  main,
}) => {
  const deny = (tool: string) => ({ server: "Notes", tool, client: null, choice: choice(), reason: null });
  await gatehouse.command("policy.deny", deny("add_note"));
  await gatehouse.commandWithoutKey("policy.deny", deny("delete_note"));
  await open(main);
  await expect(rule(main, "delete_note")).toContainText("added without the operator key");
  await expect(rule(main, "add_note")).not.toContainText("operator key");
  await noViolations(main);
  await pictures(gatehouse, main, "permissions-author");
  await main.getByLabel("Search rules").fill("operator key");
  await expect(main.getByText("Rules: 1 of 2")).toBeVisible();
  await gatehouse.command("policy.deny", deny("delete_note"));
  await expect(main.getByText("No rules match.")).toBeVisible();
});

test("a thousand rules are all there, and only those in sight are drawn", async ({ gatehouse, main }) => {
  // A thousand commands one after the other, each of which is recorded.
  test.slow();
  for (let at = 0; at < 1000; at += 1) {
    await gatehouse.command("policy.deny", {
      server: "Notes",
      tool: `tool-${String(at)}`,
      client: null,
      choice: choice({ lifetime: "until_quit" }),
      reason: null,
    });
  }
  await open(main);
  await expect(main.getByText("Rules: 1000")).toBeVisible();
  const rows = main.getByRole("listitem");
  expect(await rows.count()).toBeLessThan(40);
  await expect(rows.first()).toHaveAttribute("aria-setsize", "1000");
  const area = main.getByRole("region", { name: "Rules" });
  await expect
    .poll(async () => {
      await area.evaluate((element) => {
        element.scrollTop = element.scrollHeight;
      });
      return area.textContent();
    })
    .toContain("tool-0 ");
  expect(await rows.count()).toBeLessThan(40);
  await main.getByLabel("Search rules").fill("tool-731");
  await expect(rows).toHaveCount(1);
  await main.getByRole("button", { name: /^Unblock: .*tool-731/ }).click();
  await expect(main.getByText("No rules match.")).toBeVisible();
});

test("what a rule is for and changed since is said", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture", "--fault", "changes-tools");
  for (const tool of ["echo", "mutate"]) {
    await gatehouse.command("policy.grant", { server: "fixture", tool, client: null, choice: choice() });
  }
  const client = await gatehouse.connect("Claude Code");
  await open(main);
  await expect(rule(main, "fixture: echo")).toBeVisible();
  await client.call("mutate", {});
  await expect(rule(main, "fixture: echo")).toContainText("definition changed, asks again: echo");
});

test("other rules are simulated on the calls that were made, and set only when that is confirmed", async ({
  gatehouse,
  main,
}) => {
  const client = await gatehouse.connect("Claude Code");
  await gatehouse.command("policy.grant", { server: "Time", tool: "current_time", client: null, choice: choice() });
  await gatehouse.command("policy.deny", {
    server: "Notes",
    tool: "delete_note",
    client: null,
    choice: choice(),
    reason: null,
  });
  await client.call("current_time", {});
  await client.call("delete_note", { id: "x" });
  const before = await gatehouse.rules();
  await open(main);
  await main.getByRole("button", { name: "Simulate…", exact: true }).click();
  const drawer = main.getByRole("dialog", { name: "Simulate…" });
  await drawer.getByLabel("Calls from the last").selectOption("24 hours");
  await drawer.getByText("Always ask", { exact: true }).click();
  await drawer.getByRole("button", { name: "Simulate" }).click();
  await expect(drawer.getByText("Calls checked: 2.")).toBeVisible();
  await expect(drawer.getByText("Nothing would change.")).toBeVisible();
  await expect(drawer.getByRole("row", { name: "Allowed 1 1" })).toBeVisible();
  await expect(drawer.getByRole("row", { name: "Denied 1 1" })).toBeVisible();

  await gatehouse.command("policy.revoke", {
    rule:
      (await gatehouse.command("policy.show", {})).rules.find(({ rule: one }) => one.effect === "allow")?.rule.id ?? "",
  });
  await drawer.getByLabel("Server", { exact: true }).selectOption("Time");
  await drawer.getByLabel("Client", { exact: true }).selectOption("Claude Code");
  await drawer.getByText("Allow everything", { exact: true }).click();
  await drawer.getByRole("button", { name: "Simulate" }).click();
  await expect(drawer.getByRole("row", { name: "Allowed 0 1" })).toBeVisible();
  await expect(drawer.getByRole("row", { name: "Asked 1 0" })).toBeVisible();
  await expect(drawer.getByText("current_time of Time, for Claude Code")).toBeVisible();
  await expect(drawer.getByText("asked → allowed")).toBeVisible();
  await noViolations(main);
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await main.screenshot({ path: `${shots}/simulation.png` });
  expect(await gatehouse.rules()).toEqual(before.filter((one) => !one.includes("Time")));

  await drawer.getByRole("button", { name: "Apply" }).click();
  const sure = main.getByRole("dialog", { name: "Allow everything?" });
  await expect(sure).toContainText("Allow everything, on Time, for Claude Code.");
  await sure.getByRole("button", { name: "Apply" }).click();
  await expect(drawer.getByText("Applied.")).toBeVisible();
  expect(await gatehouse.rules()).toContain("Always allow everything on Time, for Claude Code; asks on first use");
});

test("revoking a rule is simulated from its row", async ({ gatehouse, main }) => {
  const client = await gatehouse.connect("Claude Code");
  await gatehouse.command("policy.grant", { server: "Time", tool: "current_time", client: null, choice: choice() });
  for (const timezone of ["Asia/Tokyo", "Europe/Vienna"]) await client.call("current_time", { timezone });
  await open(main);
  await main.getByRole("button", { name: /^Simulate revoking: / }).click();
  const drawer = main.getByRole("dialog", { name: "Simulate revoking" });
  await expect(drawer.getByRole("row", { name: "Allowed 2 0" })).toBeVisible();
  await expect(drawer.getByRole("row", { name: "Asked 0 2" })).toBeVisible();
  await expect(drawer.getByText("allowed → asked")).toBeVisible();
  await noViolations(main);
  await drawer.getByRole("button", { name: "Revoke:" }).click();
  await expect(drawer).toBeHidden();
  expect(await gatehouse.rules()).toEqual([]);
});

test("a client has a default over every server, which says where it is mixed and what came later", async ({
  gatehouse,
  main,
}) => {
  await gatehouse.connect("Claude Code");
  await gatehouse.connect("Zed");
  await main.getByRole("link", { name: "Clients" }).click();
  const card = main.getByRole("article", { name: "Claude Code" });
  await expect(card.getByRole("radio", { name: "Always ask" })).toBeChecked();
  await card.getByText("Allow reads", { exact: true }).click();
  await expect(card.getByRole("radio", { name: "Allow reads" })).toBeChecked();
  await expect(main.getByRole("article", { name: "Zed" }).getByRole("radio", { name: "Always ask" })).toBeChecked();
  expect(await gatehouse.rules()).toEqual(
    expect.arrayContaining(
      ["Time", "Notes"].map((server) => `Always allow all reads of ${server}, for Claude Code; asks on first use`),
    ),
  );

  await gatehouse.addFiles("files");
  await gatehouse.command("tools.classify", { server: "files", tool: "read_text_file", class: "read" });
  await expect(card.getByText("Mixed", { exact: true })).toBeVisible();
  await expect(card).toContainText("Always ask on files; Allow reads on ");
  await expect(card).toContainText("New or changed tools that still ask (1):");
  await noViolations(main);
  await pictures(gatehouse, main, "clients-presets");
  await card.getByRole("button", { name: "Allow these too" }).click();
  await expect(card.getByRole("radio", { name: "Allow reads" })).toBeChecked();
  await expect(card.getByText("Mixed", { exact: true })).toBeHidden();

  await card.getByText("Allow everything", { exact: true }).click();
  const sure = main.getByRole("dialog", { name: "Allow everything for Claude Code?" });
  await sure.getByRole("button", { name: "Cancel" }).click();
  await expect(card.getByRole("radio", { name: "Allow reads" })).toBeChecked();
  await card.getByText("Allow everything", { exact: true }).click();
  await sure.getByRole("button", { name: "Allow everything" }).click();
  await expect(card.getByRole("radio", { name: "Allow everything" })).toBeChecked();
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "reads" });
  await card.getByText("Always ask", { exact: true }).click();
  await expect(card).toContainText("Rules for all clients allow more on: Time.");
});
