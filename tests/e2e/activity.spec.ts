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
  const { transport, enabled, autostart, look, limits } = view.config;
  const draft = { name: "renamed", transport, enabled, autostart, look, limits };
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
  await gatehouse.command("servers.remove", { server });
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
  });
  await expect(main.getByText("Configuration changed: Gatehouse's own settings")).toBeVisible();
  await main.getByLabel("Kind").selectOption("gatehouse");
  await expect(main.getByText("Configuration changed: works was added")).toBeVisible();
});
