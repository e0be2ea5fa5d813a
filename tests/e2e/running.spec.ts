import { expect, noViolations, pictures, test } from "./base.ts";

test("a call that runs shows its progress and can be cancelled", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("works");
  await gatehouse.command("policy.autoApprove", { server: "works", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  // Begun before the page is opened.
  const call = client.call("slow", { ms: 60_000, progress: 100 }).catch((thrown: unknown) => String(thrown));
  await expect
    .poll(async () => (await gatehouse.command("calls.running", {}))[0]?.progress?.message ?? "")
    .toContain("step");
  await main.getByRole("link", { name: "Activity" }).click();
  const running = main.getByRole("region", { name: "Running: 1" });
  await expect(running).toContainText("slow");
  await expect(running).toContainText("works, for Claude Code");
  const bar = running.getByRole("progressbar", { name: "Progress of slow" });
  await expect(bar).toBeVisible();
  const before = Number(await bar.getAttribute("value"));
  await expect.poll(async () => Number(await bar.getAttribute("value"))).toBeGreaterThan(before);
  await expect(running).toContainText(/\d+ of 100/);
  await expect(running).toContainText(/step \d+/);
  await expect(running).toContainText(/Running for \d+/);
  await noViolations(main);
  await pictures(gatehouse, main, "activity-running");
  await running.getByRole("button", { name: "Cancel slow of works" }).click();
  await expect(running).toBeHidden();
  const end = await call;
  expect(typeof end === "string" || end.isError === true).toBe(true);
  await main.getByRole("button", { name: /slow of works, for Claude Code: Cancelled/ }).click();
  await expect(main.getByRole("dialog")).toContainText("Cancelled: The server may have done part of it.");
});

test("a call that waits for an answer is shown as that, and cannot be cancelled", async ({ gatehouse, main }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  await main.getByRole("link", { name: "Activity" }).click();
  const running = main.getByRole("region", { name: "Running: 1" });
  await expect(running).toContainText("waiting for your approval");
  await expect(running.getByRole("button")).toHaveCount(0);
  await gatehouse.allowOnce();
  expect((await call).isError).toBeFalsy();
  await expect(running).toBeHidden();
});

test("a call that is cancelled before it is allowed is said not to have been sent", async ({ gatehouse, main }) => {
  const client = await gatehouse.connect("Claude Code");
  await main.getByRole("link", { name: "Activity" }).click();
  const cancelling = new AbortController();
  const call = client.call("current_time", {}, cancelling.signal).catch(() => "cancelled");
  await expect(main.getByRole("region", { name: "Running: 1" })).toContainText("waiting for your approval");
  cancelling.abort();
  expect(await call).toBe("cancelled");
  await main.getByRole("button", { name: /current_time of Time, for Claude Code: Cancelled/ }).click();
  const details = main.getByRole("dialog");
  await expect(details).toContainText("Cancelled: Nothing was sent to the server.");
  await details.getByText("2 messages").click();
  await expect(details.getByRole("heading", { name: "Asked by the client" })).toBeVisible();
  await noViolations(main);
});

test("errors of the last hour are counted, and repeated lines stand once", async ({ gatehouse, main }) => {
  const server = await gatehouse.addFixture("noisy", "--lifecycle", "legacy");
  await expect(main.getByText(/in the last hour/)).toBeHidden();
  for (let at = 0; at < 3; at += 1) {
    const said = JSON.stringify({ level: "error", text: "The disk is full" });
    await gatehouse.command("servers.callTool", { server, tool: "say", arguments: said, run: null, client: null });
  }
  const card = main.getByRole("article", { name: "noisy" });
  await expect(card.getByRole("link", { name: "3 errors in the last hour" })).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "servers-errors");
  await card.getByRole("link", { name: "3 errors in the last hour" }).click();
  const log = main.getByRole("log");
  await expect(log.getByText("The disk is full")).toHaveCount(1);
  await expect(log).toContainText("3 times");
  await noViolations(main);
  await pictures(gatehouse, main, "log-repeated");
});
