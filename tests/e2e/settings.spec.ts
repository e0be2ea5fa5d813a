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
  await expect(prompt.getByText("没有等待您的询问")).toBeVisible();
  await main.reload();
  await expect(main.getByRole("heading", { level: 1, name: "设置" })).toBeVisible();
  await gatehouse.look("light", "en");
});

test("the audit is verified, retention is set", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  await noViolations(main);
  await pictures(gatehouse, main, "settings");
  await main.getByRole("button", { name: "Verify" }).click();
  await expect(main.getByText("The audit is whole")).toBeVisible();
  await main.getByLabel("Days that calls are kept").fill("30");
  await main.getByLabel("Days that the audit is kept").fill("365");
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.getByText("Saved")).toBeVisible();
  expect(await gatehouse.command("settings.show", {})).toMatchObject({ activityDays: 30, auditDays: 365 });
});
