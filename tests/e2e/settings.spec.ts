import type { GrantChoice, ServerDraft } from "../../ui/src/generated/types.ts";
import { expect, noViolations, pictures, test } from "./base.ts";

test("appearance and language change at once and are kept", async ({ gatehouse, main, prompt }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  await main.getByText("Dark", { exact: true }).click();
  await expect(main.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
  await expect(prompt.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
  await noViolations(main);
  await main.getByRole("combobox", { name: "Language" }).click();
  await main.getByRole("option", { name: "简体中文" }).click();
  await expect(main.getByRole("heading", { level: 1, name: "设置" })).toBeVisible();
  await expect(main.locator("html")).toHaveAttribute("lang", "zh-CN");
  await expect(prompt.getByText("没有待审批的请求")).toBeVisible();
  await main.reload();
  await expect(main.getByRole("heading", { level: 1, name: "设置" })).toBeVisible();
  await gatehouse.look("light", "en");
});

test("a notification tells of a server that has stopped, and is taken back when notifications are off", async ({
  gatehouse,
  main,
}) => {
  const transport = {
    type: "stdio",
    command: "gatehouse-no-such-program",
    args: [],
    env: {},
    cwd: null,
    streams: "sockets",
  } as const;
  const draft = { name: "broken", transport, enabled: true, autostart: true } as unknown as ServerDraft;
  const { config } = await gatehouse.command("servers.add", { draft, trustLabels: false, secrets: [], run: null });
  const told = async () => (await gatehouse.noted()).filter((action) => action.startsWith("notification"));
  const text = "notification broken has stopped | Gatehouse won't retry automatically.";
  await expect.poll(told).toEqual([text]);
  await main.getByRole("link", { name: "Settings" }).click();
  await expect(main.getByRole("switch", { name: "With a sound" })).not.toBeChecked();
  await main.getByRole("switch", { name: "Show notifications" }).click({ force: true });
  await expect(main.getByRole("switch", { name: "With a sound" })).toBeDisabled();
  await expect.poll(told).toEqual([text, expect.stringContaining(config.id)]);
});

test("the audit is verified, retention is set", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  await noViolations(main);
  await pictures(gatehouse, main, "settings");
  await main.getByRole("button", { name: "Verify" }).click();
  await expect(main.getByText("The audit is complete")).toBeVisible();
  await main.getByLabel("Keep calls for (days)").fill("30");
  await main.getByLabel("Keep the audit for (days)").fill("365");
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.getByText("Saved")).toBeVisible();
  expect(await gatehouse.command("settings.show", {})).toMatchObject({ activityDays: 30, auditDays: 365 });
});

test("calls have limits, and tools are named as is set", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  await main.getByLabel("Timeout without progress (s)").fill("");
  await main.getByLabel("Total time limit (s)").fill("120");
  await main.locator("form").filter({ hasText: "Total time limit (s)" }).getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await gatehouse.command("settings.show", {})).calls)
    .toEqual({ silentSecs: null, capSecs: 120 });
  await main.getByRole("radio", { name: "mcp__server__tool" }).check();
  const names = async () =>
    (await gatehouse.command("tools.list", { server: "Notes" })).map(({ exposedName }) => exposedName);
  await expect.poll(names).toContain("mcp__Notes__add_note");
  await noViolations(main);
  await pictures(gatehouse, main, "settings-calls");
  await main.getByRole("radio", { name: "Tool name only" }).check();
  await expect.poll(names).toContain("add_note");
});

test("a tool that is left out says why, and a server has limits of its own", async ({ gatehouse, main }) => {
  const { config } = await gatehouse.command("servers.add", {
    draft: {
      name: "fixture",
      transport: {
        type: "stdio",
        command: gatehouse.program("fixture-server"),
        args: ["--fault", "bad-header", "--without", "prompts"],
        env: {},
        cwd: null,
        streams: "sockets",
      },
      protocolVersion: "auto",
      enabled: true,
      autostart: true,
      recordBodies: true,
      look: { description: null, icon: null, group: null },
      limits: {
        connectSecs: 30,
        callSecs: "default",
        callCapSecs: "default",
        healthEverySecs: 30,
        healthTimeoutSecs: 5,
        healthFailures: 3,
        strict: true,
        roots: [],
      },
      registry: null,
    },
    secrets: [],
    trustLabels: false,
    run: null,
  });
  await main.goto(`${gatehouse.address}/#/servers/${config.id}/tools`);
  await main.getByRole("button", { name: "Unavailable tools (1)" }).click();
  await expect(main.getByText("spoilt")).toBeVisible();
  await expect(main.getByText("x-mcp-header")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "left-out");
  await main.goto(`${gatehouse.address}/#/servers/${config.id}/prompts`);
  await expect(main.getByText("doesn't declare that it has prompts")).toBeVisible();
  await pictures(gatehouse, main, "strict");
  await main.goto(`${gatehouse.address}/#/servers/${config.id}/settings`);
  await main.getByRole("button", { name: "Time limits and more" }).click();
  await main.getByRole("combobox", { name: "Total call time limit" }).selectOption("No limit");
  await main.getByRole("combobox", { name: "Call timeout without progress" }).selectOption("Custom");
  await main.getByLabel("Call timeout without progress, in seconds").fill("7");
  await noViolations(main);
  await pictures(gatehouse, main, "server-limits");
  await main.getByRole("button", { name: "Save" }).click();
  const limits = async () =>
    (await gatehouse.command("servers.list", {})).find(({ config: { name } }) => name === "fixture")?.config.limits;
  await expect.poll(limits).toMatchObject({ callSecs: 7, callCapSecs: null });
});

test("entries of the audit stand in words, newest first", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "reads" });
  const choice: GrantChoice = { lifetime: "always", width: "tool", everyClient: true, conditions: [] };
  await gatehouse.command("policy.deny", { server: "Notes", tool: "delete_note", client: null, choice, reason: null });
  await gatehouse.connect("Claude Code");
  await main.getByRole("link", { name: "Settings" }).click();
  await main.getByRole("button", { name: "Show entries" }).click();
  const entries = main.getByRole("dialog").getByRole("listitem");
  await expect(entries.first()).toContainText("Client Claude Code added");
  await expect(entries.filter({ hasText: "Time: reads run without asking, for every client" })).toHaveCount(1);
  await expect(entries.filter({ hasText: "New rule: Always deny Notes: delete_note, for every client" })).toHaveCount(
    1,
  );
  await expect(entries.last()).toContainText("added");
  await gatehouse.command("pause", {});
  await expect(entries.first()).toContainText("Everything paused");
  await gatehouse.command("resume", {});
  await noViolations(main);
  await pictures(gatehouse, main, "audit");
});
