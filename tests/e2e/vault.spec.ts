import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { BrowserHost, expect, Gatehouse, noViolations, pictures, test as plain, watch } from "./base.ts";

const passphrase = "correct horse battery";
const another = "staple of the vault";
const shots = process.env["GATEHOUSE_SHOTS"];

type Run = { gatehouse: Gatehouse; main: Page };

/** A start of Gatehouse on the folder of this test, which ends the one before; between the two, files can be looked at. */
const test = plain.extend<{ start: (between?: () => void) => Promise<Run>; vaultFile: string; folder: string }>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "gatehouse-e2e-"));
    await use(folder);
    rmSync(folder, { recursive: true, force: true });
  },
  vaultFile: async ({ folder }, use) => {
    await use(join(folder, "data/vault.bin"));
  },
  start: async ({ context, folder }, use) => {
    const runs: { host: BrowserHost; main: Page }[] = [];
    const broken: string[] = [];
    const end = async () => {
      const last = runs.pop();
      await last?.main.close();
      expect(await last?.host.end()).toBe(0);
    };
    await use(async (between) => {
      if (runs.length > 0) await end();
      between?.();
      const host = new BrowserHost(folder);
      const main = await context.newPage();
      runs.push({ host, main });
      const { address, endpoint } = await host.ready();
      const complaints = watch(main);
      main.on("close", () => broken.push(...complaints));
      await main.goto(address);
      return { gatehouse: new Gatehouse(address, endpoint ?? "", folder), main };
    });
    await end();
    expect(broken).toEqual([]);
  },
});

async function keptIn({ gatehouse }: Run): Promise<string> {
  return (await gatehouse.command("status", {})).secrets;
}

/** A picture of a dialog in both languages: the page is loaded anew for the second, and led to it again. */
async function pictured(
  { gatehouse, main }: Run,
  name: string,
  open: (language: "en" | "zh-CN") => Promise<void>,
): Promise<void> {
  if (!shots) return;
  for (const [language, theme] of [
    ["en", "light"],
    ["zh-CN", "dark"],
  ] as const) {
    await gatehouse.look(theme, language);
    await main.reload();
    await open(language);
    // A picture, not a check: the dialog has come to rest after this.
    await main.waitForTimeout(400);
    await main.screenshot({ path: join(shots, `${name}-${language}.png`) });
  }
  await gatehouse.look("light", "en");
  await main.reload();
}

async function makeVault({ main }: Run): Promise<void> {
  await main.getByRole("button", { name: "Create vault…" }).click();
  const dialog = main.getByRole("dialog", { name: "Create a vault" });
  await dialog.getByLabel("New passphrase").fill(passphrase);
  await dialog.getByLabel("Repeat passphrase").fill(passphrase);
  await dialog.getByRole("button", { name: "Create vault" }).click();
  await expect(main.getByText("Vault created")).toBeVisible();
  await expect(dialog).toBeHidden();
}

test("without a keychain a vault is made on the page, and everything goes on with it", async ({ start }) => {
  const run = await start();
  const { gatehouse, main } = run;
  const banner = main.getByText("No keychain available");
  await expect(banner).toBeVisible();
  await pictures(gatehouse, main, "vault-banner");
  await pictured(run, "vault-make", async (language) => {
    await main.getByRole("button", { name: language === "en" ? "Create vault…" : "创建保险库…" }).click();
    await expect(main.getByRole("dialog").locator("input").first()).toBeVisible();
  });

  await main.getByRole("button", { name: "Create vault…" }).click();
  const dialog = main.getByRole("dialog", { name: "Create a vault" });
  await expect(dialog).toContainText(
    "If you forget the passphrase, you lose the secrets and permissions in the vault.",
  );
  await noViolations(main);
  const [first, second] = [dialog.getByLabel("New passphrase"), dialog.getByLabel("Repeat passphrase")];
  await first.fill("1234567");
  await second.fill("1234567");
  await second.press("Enter");
  await expect(first).toHaveAttribute("data-invalid", "true");
  await expect(first).toBeFocused();
  await first.fill(passphrase);
  await second.press("Enter");
  await expect(dialog.getByText("The passphrases don't match")).toBeVisible();
  await expect(second).toBeFocused();
  await noViolations(main);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  expect(await keptIn(run)).toBe("memory");

  await makeVault(run);
  expect(await keptIn(run)).toBe("vault");
  await expect(banner).toBeHidden();
  // The page hears the core that runs now.
  await gatehouse.command("pause", {});
  await expect(main.getByText("Everything is paused")).toBeVisible();
  await gatehouse.command("resume", {});
  const said = JSON.stringify(await gatehouse.command("events.list", {})) + (await main.content());
  expect(said).not.toContain(passphrase);
});

test("the vault is opened at the next start, after a wrong passphrase too", async ({ start }) => {
  await makeVault(await start());
  const run = await start();
  const { gatehouse, main } = run;
  await expect(main.getByRole("heading", { level: 1, name: "Unlock the vault" })).toBeVisible();
  const field = main.getByLabel("Passphrase");
  await expect(field).toBeFocused();
  await noViolations(main);
  await pictures(gatehouse, main, "vault-unlock");
  await expect(gatehouse.command("status", {})).rejects.toThrow("error.desktop.locked");
  await field.fill("correct horse buttery");
  await field.press("Enter");
  await expect(main.getByText("Wrong passphrase. Try again.")).toBeVisible();
  await expect(field).toHaveValue("");
  await expect(field).toBeFocused();
  await noViolations(main);
  if (shots) await main.screenshot({ path: join(shots, "vault-wrong.png") });
  await field.fill(passphrase);
  await main.getByRole("button", { name: "Unlock", exact: true }).click();
  await expect(main.getByRole("heading", { level: 1, name: "Servers" })).toBeVisible();
  expect(await keptIn(run)).toBe("vault");

  await main.getByRole("link", { name: "Settings" }).click();
  await expect(main.getByText("Encrypted vault")).toBeVisible();
  await pictured(run, "vault-change", async (language) => {
    await main.getByRole("button", { name: language === "en" ? "Change passphrase…" : "更改口令…" }).click();
    await expect(main.getByRole("dialog").locator("input").first()).toBeVisible();
  });
  await main.getByRole("button", { name: "Change passphrase…" }).click();
  const dialog = main.getByRole("dialog", { name: "Change passphrase" });
  const change = async (old: string) => {
    await dialog.getByLabel("Current passphrase").fill(old);
    await dialog.getByLabel("New passphrase").fill(another);
    await dialog.getByLabel("Repeat passphrase").fill(another);
    await dialog.getByRole("button", { name: "Change passphrase" }).click();
  };
  await change(another);
  await expect(dialog.getByText("Wrong passphrase. Try again.")).toBeVisible();
  await noViolations(main);
  await change(passphrase);
  await expect(main.getByText("Passphrase changed")).toBeVisible();
  await expect(dialog).toBeHidden();

  const later = await start();
  await later.main.getByLabel("Passphrase").fill(passphrase);
  await later.main.getByLabel("Passphrase").press("Enter");
  await expect(later.main.getByText("Wrong passphrase. Try again.")).toBeVisible();
  await later.main.getByLabel("Passphrase").fill(another);
  await later.main.getByLabel("Passphrase").press("Enter");
  await expect(later.main.getByRole("heading", { level: 1, name: "Servers" })).toBeVisible();
});

test("the vault is put aside for this time, and what says so too", async ({ start, vaultFile }) => {
  await makeVault(await start());
  let before = Buffer.alloc(0);
  const run = await start(() => {
    before = readFileSync(vaultFile);
  });
  const { main } = run;
  await main.getByRole("button", { name: "Use memory only this time" }).click();
  await expect(main.getByText("No keychain available")).toBeVisible();
  // The page says it before the core that it says it of has come up.
  await expect(async () => {
    expect(await keptIn(run)).toBe("memory");
  }).toPass();
  expect(readFileSync(vaultFile).equals(before), "the vault is as it was").toBe(true);
  await noViolations(main);
  await main.getByRole("button", { name: "Dismiss until Gatehouse quits" }).click();
  await expect(main.getByText("No keychain available")).toBeHidden();
  await main.reload();
  await expect(main.getByRole("heading", { level: 1, name: "Servers" })).toBeVisible();
  await expect(main.getByText("No keychain available")).toBeHidden();

  await main.getByRole("link", { name: "Settings" }).click();
  await expect(main.getByText("Memory only: deleted when Gatehouse quits")).toBeVisible();
  await main.getByRole("button", { name: "Unlock vault…" }).click();
  const dialog = main.getByRole("dialog", { name: "Unlock the vault" });
  await dialog.getByLabel("Passphrase").fill(passphrase);
  await noViolations(main);
  await dialog.getByLabel("Passphrase").press("Enter");
  await expect(main.getByText("Vault unlocked")).toBeVisible();
  await expect(main.getByText("Encrypted vault")).toBeVisible();
  expect(await keptIn(run)).toBe("vault");
});

test("a damaged vault and one of a newer version are said in words, and left alone", async ({ start, vaultFile }) => {
  await makeVault(await start());
  let sound = Buffer.alloc(0);
  const run = await start(() => {
    sound = readFileSync(vaultFile);
    writeFileSync(vaultFile, "not a vault");
  });
  const { gatehouse, main } = run;
  const alert = main.getByRole("alert");
  await expect(alert).toContainText("The vault is damaged");
  await expect(alert).toContainText(vaultFile);
  await expect(main.getByLabel("Passphrase")).toHaveCount(0);
  await noViolations(main);
  await pictures(gatehouse, main, "vault-damaged");

  const newer = Buffer.from(sound);
  newer[15] = 2;
  writeFileSync(vaultFile, newer);
  await main.getByRole("button", { name: "Try again" }).click();
  await expect(alert).toContainText("from a newer version of Gatehouse");

  // Only the passphrase tells that the content was changed.
  const changed = Buffer.from(sound);
  const last = changed.length - 1;
  changed[last] = (changed[last] ?? 0) ^ 1;
  writeFileSync(vaultFile, changed);
  // The page may still be reading after the try before, and then finds the vault readable by itself.
  const field = main.getByLabel("Passphrase");
  await expect(async () => {
    if (!(await field.isVisible())) await main.getByRole("button", { name: "Try again" }).click({ timeout: 1_000 });
    await expect(field).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await field.fill(passphrase);
  await main.getByLabel("Passphrase").press("Enter");
  await expect(alert).toContainText("The vault is damaged");
  expect(readFileSync(vaultFile).equals(changed)).toBe(true);

  // What only the passphrase told stands until it is tried again.
  writeFileSync(vaultFile, sound);
  await main.getByRole("button", { name: "Try again" }).click();
  await main.getByLabel("Passphrase").fill(passphrase);
  await main.getByLabel("Passphrase").press("Enter");
  await expect(main.getByRole("heading", { level: 1, name: "Servers" })).toBeVisible();
  expect(await keptIn(run)).toBe("vault");
});
