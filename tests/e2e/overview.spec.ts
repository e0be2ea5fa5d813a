import { expect, noViolations, pictures, test } from "./base.ts";

test("the overview shows what runs and waits, and calls as a chart and a table", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Overview" }).click();
  await expect(main.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
  await expect(main.getByRole("region", { name: "Servers" })).toContainText("2 running");
  await expect(main.getByRole("region", { name: "Waiting for you" })).toContainText("Nothing");
  await expect(main.getByRole("link", { name: "Connect an AI client" })).toBeVisible();
  await expect(main.getByText("No calls in this time.")).toBeVisible();
  await noViolations(main);

  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  await gatehouse.command("policy.deny", {
    server: "Notes",
    tool: "list_notes",
    client: null,
    choice: { lifetime: "always", width: "tool", everyClient: true, conditions: [] },
    reason: null,
  });
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", {});
  await client.call("current_time", {});
  await client.call("list_notes", {});
  const waits = client.call("add_note", { text: "milk" });
  await expect(main.getByRole("link", { name: "1 approval request" })).toBeVisible();
  await expect(main.getByRole("region", { name: "Clients" })).toContainText("Claude Code");
  const calls = main.getByRole("region", { name: "Calls", exact: true });
  await expect(calls.getByText("3 calls, 0 errors, 1 refused")).toBeVisible({ timeout: 15_000 });
  await expect(
    calls
      .getByRole("img", { name: /Chart of 3 calls/ })
      .locator("svg")
      .first(),
  ).toBeVisible();
  await calls.getByText("As a table").click();
  const table = calls.getByRole("region", { name: "As a table" });
  await expect(table.getByRole("row").last()).toHaveText(/2\s*0\s*1\s*0$/);
  await expect(calls.getByRole("table", { name: "Most used tools" })).toContainText("current_time");
  await noViolations(main);
  await pictures(gatehouse, main, "overview");

  await calls.getByText("Client", { exact: true }).click();
  await expect(table.getByRole("columnheader", { name: "Claude Code" })).toBeVisible();
  await calls.getByText("30 days", { exact: true }).click();
  await expect(table.getByRole("row")).toHaveCount(2);
  await noViolations(main);

  const [pending] = await gatehouse.command("approvals.list", { known: [] });
  if (pending?.request.kind !== "call") throw new Error("no request");
  const choice = { lifetime: "once" as const, width: "call" as const, everyClient: false, conditions: [] };
  await gatehouse.command("approvals.answer", {
    answers: [{ id: pending.id, hash: pending.request.hash, answer: { answer: "deny", choice, reason: null } }],
  });
  await waits;
  await expect(main.getByRole("region", { name: "Waiting for you" })).toContainText("Nothing");
});

test("what nobody needs is told only after calls were counted long enough", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  await main.goto(`${gatehouse.address}/#/overview`);
  const health = main.getByRole("region", { name: "Health of permissions" });
  await expect(health).toContainText("after 30 days of calls");
  await expect(health.getByRole("button")).toHaveCount(0);
  await noViolations(main);
});
