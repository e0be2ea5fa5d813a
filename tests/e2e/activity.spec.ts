import { readFileSync, rmSync } from "node:fs";

import { expect, noViolations, pictures, test } from "./base.ts";

test("calls appear as they end, open to all that is kept, and are filtered", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  await main.getByRole("link", { name: "Activity" }).click();
  await expect(main.getByText("No calls yet")).toBeVisible();
  await noViolations(main);
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", { timezone: "Europe/Vienna" });
  const row = main.getByRole("button", { name: /current_time of Time, for Claude Code: Done/ });
  await expect(row).toBeVisible();
  await expect(row).toContainText("your permanent rule");
  await gatehouse.command("policy.deny", {
    server: "Notes",
    tool: null,
    client: null,
    choice: { lifetime: "always", width: "server", everyClient: true, conditions: [] },
    reason: "no notes",
  });
  await client.call("list_notes", {});
  await expect(main.getByRole("button", { name: /list_notes of Notes, for Claude Code: Refused/ })).toContainText(
    "Denied",
  );
  await noViolations(main);
  await pictures(gatehouse, main, "activity-calls");

  await row.click();
  const details = main.getByRole("dialog");
  await expect(details).toContainText("Europe/Vienna");
  await expect(details).toContainText("your permanent rule");
  await noViolations(main);
  await main.keyboard.press("Escape");
  await expect(details).toBeHidden();

  await main.getByRole("button", { name: /list_notes of Notes, for Claude Code: Refused/ }).click();
  await details.getByText("2 messages").click();
  await expect(details.getByText("Nothing was sent to the server.")).toBeVisible();
  await expect(details.getByRole("heading", { name: "Asked by the client" })).toBeVisible();
  await expect(details.getByRole("heading", { name: "Answer to the client" })).toBeVisible();
  await expect(details.getByRole("heading", { name: "Sent", exact: true })).toHaveCount(0);
  await noViolations(main);
  await main.keyboard.press("Escape");
  await expect(details).toBeHidden();
  await main.getByLabel("Decision").selectOption("deny");
  await expect(row).toBeHidden();
  await main.getByLabel("Decision").selectOption("");
  await main.getByPlaceholder("Search tools").fill("Vienna");
  await expect(main.getByRole("button", { name: /list_notes/ })).toBeHidden();
  await expect(row).toBeVisible();
});

test("hundreds of calls: the newest is followed, older ones are read on the way up", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  for (let at = 0; at < 260; at += 1) await client.call("current_time", {});
  await main.getByRole("link", { name: "Activity" }).click();
  const area = main.getByRole("list", { name: "Calls" });
  await expect.poll(() => area.evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight)).toBeLessThan(32);
  await area.evaluate((it) => {
    it.scrollTop = 0;
  });
  await expect.poll(() => area.evaluate((it) => it.scrollHeight)).toBeGreaterThan(259 * 36);
  await expect(main.getByRole("button", { name: "Jump to latest" })).toBeVisible();
  const before = await area.evaluate((it) => it.scrollTop);
  await client.call("current_time", {});
  await expect.poll(() => area.evaluate((it) => it.scrollHeight)).toBeGreaterThan(260 * 36);
  expect(Math.abs((await area.evaluate((it) => it.scrollTop)) - before)).toBeLessThan(36);
  await main.getByRole("button", { name: "Jump to latest" }).click();
  await expect.poll(() => area.evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight)).toBeLessThan(32);
});

test("a call that began before hundreds of others and ends after them appears among them", async ({
  gatehouse,
  main,
}) => {
  const client = await gatehouse.connect("Claude Code");
  const slow = client.call("current_time", {});
  await expect.poll(async () => (await gatehouse.command("approvals.list", { known: [] })).length).toBe(1);
  await gatehouse.command("policy.autoApprove", { server: "Notes", client: null, to: "all" });
  for (let at = 0; at < 205; at += 1) await client.call("list_notes", {});
  await main.getByRole("link", { name: "Activity" }).click();
  const area = main.getByRole("list", { name: "Calls" });
  await expect.poll(() => area.evaluate((it) => it.scrollHeight)).toBeGreaterThan(199 * 36);
  await area.evaluate((it) => {
    it.scrollTop = 0;
  });
  await expect.poll(() => area.evaluate((it) => it.scrollHeight)).toBeGreaterThan(204 * 36);
  await gatehouse.allowOnce();
  await slow;
  await expect.poll(() => area.evaluate((it) => it.scrollHeight)).toBeGreaterThan(205 * 36);
  await area.evaluate((it) => {
    it.scrollTop = 0;
  });
  await slow;
  await expect(area.getByRole("button", { name: /current_time/ })).toBeVisible();
});

test("a call tells how it was decided and shows its messages, and is repeated", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", { timezone: "Europe/Vienna" });
  await main.getByRole("link", { name: "Activity" }).click();
  await main.getByRole("button", { name: /current_time of Time, for Claude Code: Done/ }).click();
  const details = main.getByRole("dialog");
  const decided = details.getByRole("region", { name: "How it was decided" });
  await expect(decided.getByText("No deny rule applied.")).toBeVisible();
  await expect(decided.getByText("An allow rule applied.")).toBeVisible();
  await expect(decided.getByText(/Always allow everything on Time.*applied/)).toBeVisible();
  await details.getByText("2 messages").click();
  await expect(details.getByText('"method": "tools/call"')).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "activity-details");

  const repeat = details.getByRole("region", { name: "Repeat" });
  await repeat.getByRole("button", { name: "Repeat" }).click();
  await expect(repeat.getByText("Done")).toBeVisible();
  await noViolations(main);
  await main.keyboard.press("Escape");
  await main.getByRole("button", { name: /current_time of Time, for Gatehouse: Done/ }).click();
  await expect(details.getByText("you ran this call yourself").first()).toBeVisible();
});

test("a server's calls are listed without arguments and results once these are off", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const server = (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "Time");
  if (!server) throw new Error("no server");
  await main.goto(`${gatehouse.address}/#/servers/${server.config.id}/settings`);
  await main.getByRole("button", { name: "More settings" }).click();
  await main.getByRole("checkbox", { name: "Store arguments and results of calls" }).uncheck();
  await noViolations(main);
  await pictures(gatehouse, main, "server-record-bodies");
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.getByText("Saved")).toBeVisible();
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", { timezone: "Europe/Vienna" });
  await main.getByRole("link", { name: "Activity" }).click();
  await main.getByRole("button", { name: /current_time of Time, for Claude Code: Done/ }).click();
  const details = main.getByRole("dialog");
  await expect(details.getByRole("heading", { name: "Messages not stored" })).toBeVisible();
  await expect(details.getByText("“Store arguments and results of calls” was off for Time")).toBeVisible();
  await expect(details.getByText("Vienna")).toHaveCount(0);
  await expect(details.getByText("Can't be repeated: its arguments weren't stored.")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "activity-no-bodies");
});

test("a call whose secrets are not stored opens in the Playground instead", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Notes", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  await client.call("add_note", { text: "milk", password: "hunter2" });
  await main.getByRole("link", { name: "Activity" }).click();
  await main.getByRole("button", { name: /add_note of Notes, for Claude Code/ }).click();
  const repeat = main.getByRole("dialog").getByRole("region", { name: "Repeat" });
  await expect(repeat.getByText("secrets in its arguments aren't stored")).toBeVisible();
  await expect(repeat.getByRole("button")).toHaveCount(0);
  await repeat.getByRole("link", { name: "Open in Playground" }).click();
  await expect(main.getByRole("heading", { level: 1, name: "Playground" })).toBeVisible();
  await expect(main.getByText("Secrets in these arguments are masked")).toBeVisible();
});

test("all calls are filtered by tool, result and time, and what is shown is exported", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  await gatehouse.command("policy.deny", {
    server: "Notes",
    tool: null,
    client: null,
    choice: { lifetime: "always", width: "server", everyClient: true, conditions: [] },
    reason: null,
  });
  const client = await gatehouse.connect("=Claude");
  await client.call("current_time", {});
  await client.call("list_notes", {});
  await main.getByRole("link", { name: "Activity" }).click();
  const time = main.getByRole("button", { name: /current_time of Time/ });
  const notes = main.getByRole("button", { name: /list_notes of Notes/ });
  await expect(time).toBeVisible();
  await main.getByLabel("Result", { exact: true }).selectOption("Refused");
  await expect(time).toBeHidden();
  await expect(notes).toBeVisible();
  await main.getByLabel("Result", { exact: true }).selectOption("");
  await main.getByLabel("Server", { exact: true }).selectOption("Time");
  await main.getByLabel("Tool", { exact: true }).selectOption("current_time");
  await main.getByLabel("Time", { exact: true }).selectOption("Last hour");
  await expect(notes).toBeHidden();
  await expect(time).toBeVisible();
  await noViolations(main);

  await main.getByRole("button", { name: "Export" }).click();
  await main.getByRole("menuitem", { name: "CSV table" }).click();
  const saved = main.getByRole("alert").filter({ hasText: "1 call exported" });
  await expect(saved).toBeVisible();
  const path = /\S+\.csv/.exec(await saved.innerText())?.[0] ?? "";
  try {
    const [head, row, rest] = readFileSync(path, "utf8").trimEnd().split("\r\n");
    expect(head).toContain("id,at,time,client");
    expect(row).toContain(`"'=Claude"`);
    expect(row).toContain('"current_time"');
    expect(rest).toBeUndefined();
  } finally {
    rmSync(path, { force: true });
  }
});

test("the activity of a server shows its calls of the last hour", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", {});
  await client.call("current_time", {});
  const view = (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "Time");
  await main.goto(`${gatehouse.address}/#/servers/${view?.config.id ?? ""}/activity`);
  await expect(main.getByText("2 calls in the last hour, 0 errors")).toBeVisible();
  await noViolations(main);
  await client.call("current_time", {});
  await expect(main.getByText("3 calls in the last hour, 0 errors")).toBeVisible({ timeout: 15_000 });
});

test("a change of a status leads to the log around it", async ({ gatehouse, main }) => {
  const server = await gatehouse.addFixture("noisy", "--lifecycle", "legacy");
  const said = JSON.stringify({ level: "error", text: "The disk is full" });
  await gatehouse.command("servers.callTool", { server, tool: "say", arguments: said, run: null, client: null });
  await main.goto(`${gatehouse.address}/#/activity/events`);
  await main.getByRole("link", { name: /noisy is now: Running/ }).click();
  await expect(main).toHaveURL(/#\/servers\/[^/]+\/logs\/\d+$/);
  await expect(main.getByRole("tab", { name: "Logs", selected: true })).toBeVisible();
  await expect(main.getByText("The disk is full")).toBeVisible();
  await noViolations(main);
});

test("events stand in words from the start on, and live", async ({ gatehouse, main }) => {
  await main.goto(`${gatehouse.address}/#/activity/events`);
  await expect(main.getByText("Time is now: Running (the server answered)")).toBeVisible();
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", { timezone: "Asia/Tokyo" });
  await expect(main.getByText("Claude Code wants to use Current time of Time")).toBeVisible();
  const [pending] = await gatehouse.command("approvals.list", { known: [] });
  if (pending?.request.kind !== "call") throw new Error("no request");
  const choice = { lifetime: "once" as const, width: "call" as const, everyClient: false, conditions: [] };
  await gatehouse.command("approvals.answer", {
    answers: [{ id: pending.id, hash: pending.request.hash, answer: { answer: "allow", choice } }],
  });
  await call;
  await expect(main.getByText("Request allowed")).toBeVisible();
  await expect(main.getByText(/Call finished: Done after/)).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "activity-events");
  await main.getByLabel("Kind").selectOption("approvals");
  await expect(main.getByText(/Call finished/)).toBeHidden();
});

test("each change of the configuration is an event with its cause", async ({ gatehouse, main }) => {
  await main.goto(`${gatehouse.address}/#/activity/events`);
  const server = await gatehouse.addFixture("works");
  await expect(main.getByText("Configuration changed: works was added")).toBeVisible();
  const view = (await gatehouse.command("servers.list", {})).find(({ config }) => config.id === server);
  if (!view) throw new Error("no server");
  const { transport, protocolVersion, enabled, autostart, recordBodies, look, limits, registry } = view.config;
  const rest = { transport, protocolVersion, enabled, autostart, recordBodies, look, limits, registry };
  const draft = { name: "renamed", ...rest };
  await gatehouse.command("servers.edit", { server, draft, secrets: [] });
  await expect(main.getByText("Configuration changed: a server was renamed to renamed")).toBeVisible();
  await gatehouse.command("servers.edit", {
    server,
    draft: { ...draft, look: { ...look, description: "Fixture" } },
    secrets: [],
  });
  await expect(main.getByText("Configuration changed: renamed was edited")).toBeVisible();
  await gatehouse.command("servers.stop", { server, disable: true });
  await expect(main.getByText("Configuration changed: renamed was turned off")).toBeVisible();
  await gatehouse.command("servers.remove", { server, undoable: false });
  await expect(main.getByText("Configuration changed: renamed was removed")).toBeVisible();
  const { auditDays, activityCalls } = await gatehouse.command("settings.show", {});
  await gatehouse.command("settings.set", {
    auditDays,
    activityDays: 12,
    activityCalls,
    packages: null,
    clientDocument: null,
    calls: null,
    toolNames: null,
    allowedHosts: null,
    registry: null,
  });
  await expect(main.getByText("Configuration changed: Gatehouse's own settings")).toBeVisible();
  await main.getByLabel("Kind").selectOption("gatehouse");
  await expect(main.getByText("Configuration changed: works was added")).toBeVisible();
});
