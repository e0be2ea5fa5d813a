// gatehousectl beside a window (CTL-1): a command waits in the prompt, which shows what it would do.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

/** Runs a command line of a program that has no operator key. */
function gatehousectl(gatehouse: Gatehouse, ...words: string[]) {
  const program = gatehouse.program("gatehousectl");
  const env = { ...process.env, LC_ALL: "C.UTF-8" };
  return promisify(execFile)(program, ["--json", "--data-dir", join(gatehouse.folder, "data"), ...words], { env });
}

test("a command runs once the prompt accepts it, and not if it is declined", async ({ gatehouse, prompt }) => {
  const names = async () => (await gatehouse.command("servers.list", {})).map(({ config }) => config.name);
  const adding = gatehousectl(gatehouse, "servers", "add", "Clock", "--builtin", "time");
  const card = prompt.getByRole("article", { name: "A program wants to run servers.add" });
  await expect(card).toContainText("Adds the server Clock.");
  await expect(card).toContainText("via node");
  await expect(card.getByRole("region", { name: "What it sets" })).toContainText('"time"');
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt-command", [{ width: 440, height: 520 }]);
  expect(await names()).not.toContain("Clock");
  const accept = card.getByRole("button", { name: "Run command" });
  await expect(accept).toHaveAttribute("aria-disabled", "false");
  await accept.click();
  expect(JSON.parse((await adding).stdout)).toMatchObject({ config: { name: "Clock" } });

  const refused = expect(gatehousectl(gatehouse, "servers", "remove", "Clock")).rejects.toMatchObject({ code: 4 });
  const removal = prompt.getByRole("article", { name: "A program wants to run servers.remove" });
  const decline = removal.getByRole("button", { name: "Don't run" });
  await expect(decline).toHaveAttribute("aria-disabled", "false");
  await decline.click();
  await refused;
  expect(await names()).toContain("Clock");
});

test("a change of a server is shown field by field, and only that is made", async ({ gatehouse, prompt }) => {
  const config = async (name: string) =>
    (await gatehouse.command("servers.list", {})).find((view) => view.config.name === name)?.config;
  const time = await config("Time");
  const changing = gatehousectl(gatehouse, "servers", "set", "Time", "name=Clock", "autostart=false");
  const card = prompt.getByRole("article", { name: "A program wants to run servers.set" });
  await expect(card).toContainText("Changes the settings of the server Time.");
  const fields = card.getByRole("region", { name: "What it sets" });
  await expect(fields.locator("dl")).toHaveCount(2);
  await expect(fields.locator("dl", { hasText: "autostart" })).toContainText(/before.*true.*after.*false/i);
  await expect(fields.locator("dl", { hasText: "name" })).toContainText(/before.*"Time".*after.*"Clock"/i);
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt-server-change", [{ width: 440, height: 520 }]);
  expect(await config("Time")).toEqual(time);
  const accept = card.getByRole("button", { name: "Run command" });
  await expect(accept).toHaveAttribute("aria-disabled", "false");
  await accept.click();
  expect(JSON.parse((await changing).stdout)).toMatchObject({ config: { name: "Clock", autostart: false } });
  expect(await config("Clock")).toEqual({ ...time, name: "Clock", autostart: false });
});
