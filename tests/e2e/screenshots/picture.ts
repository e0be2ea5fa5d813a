// What every picture starts from: one Gatehouse that is in use and one that is new, each shared by all pictures of a
// worker, and the words of the pages in both languages. Nothing sleeps: a picture is taken when two in a row are equal.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { test as plain, type Page } from "@playwright/test";

import type { en } from "../../../ui/src/messages/en.ts";
import { format, type Values } from "../../../ui/src/messages/render.ts";
import { BrowserHost, expect, Gatehouse, type Language, type Theme } from "../base.ts";
import { live } from "./lived.ts";

const locales = resolve(import.meta.dirname, "../../../locales");
const output = process.env["GATEHOUSE_PICTURES"] ?? resolve(import.meta.dirname, "../../../screenshots");

const themes: readonly Theme[] = ["light", "dark"];
const languages: readonly Language[] = ["en", "zh-CN"];

type Size = { width: number; height: number };
const sizesOfMain: readonly Size[] = [
  { width: 1120, height: 720 },
  { width: 760, height: 620 },
];
const sizesOfPrompt: readonly Size[] = [{ width: 440, height: 560 }];

/** A text of the interface in the language of the picture. */
export type Words = (key: keyof typeof en, values?: Values) => string;

function words(language: Language): Words {
  const folder = join(locales, language);
  const templates = Object.assign(
    {},
    ...readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as object),
  ) as Record<string, string>;
  return (key, values = {}) => format(templates[key] ?? key, language, values);
}

const spoken = { en: words("en"), "zh-CN": words("zh-CN") };

/** Something that is pictured. */
export type Scene = {
  /** Name of its files. */
  name: string;
  /** Where it is, without the address: `#/servers` in the main window, or the page of the prompt. */
  at: string;
  /** Does what a person does until it is there, and waits for what has to be in the picture. */
  open: (page: Page, t: Words) => Promise<void>;
};

/** Takes pictures of a scene in both themes and languages, at each size of its window. */
async function pictures(page: Page, gatehouse: Gatehouse, { name, at, open }: Scene): Promise<void> {
  const sizes = at === prompt ? sizesOfPrompt : sizesOfMain;
  // Secrets are in memory here, of which every page would warn.
  await page.addInitScript(() => {
    if (location.protocol === "http:") sessionStorage.setItem("gatehouse.memory", "true");
  });
  for (const theme of themes) {
    for (const language of languages) {
      await gatehouse.look(theme, language);
      await page.goto("about:blank");
      if (sizes[0]) await page.setViewportSize(sizes[0]);
      await page.goto(`${gatehouse.address}/${at}`);
      await expect(page.locator(`html[lang="${language}"][data-mantine-color-scheme="${theme}"]`)).toBeAttached();
      await open(page, spoken[language]);
      for (const size of sizes) {
        await page.setViewportSize(size);
        await expect(page.getByText(spoken[language]("appShell.loading"), { exact: true })).toHaveCount(0);
        writeFileSync(join(output, `${name}-${theme}-${language}-${String(size.width)}.png`), await atRest(page));
      }
    }
  }
}

/** The page's picture once it no longer changes. */
async function atRest(page: Page): Promise<Buffer> {
  // Nothing is under the pointer.
  await page.mouse.move(0, 0);
  await page.evaluate(async () => {
    await document.fonts.ready;
  });
  let last = Buffer.alloc(0);
  const isSame = async () => {
    const before = last;
    last = Buffer.from(await page.screenshot({ animations: "disabled", caret: "hide" }));
    return last.equals(before);
  };
  await expect.poll(isSame, { intervals: [50] }).toBe(true);
  return last;
}

/** The page of the prompt window. */
export const prompt = "prompt.html";

/**
 * Makes calls one after the other, so that each waits for the user. When the scene is over they are denied, and those that
 * wait for another answer are cancelled.
 */
export async function whileWaiting(
  gatehouse: Gatehouse,
  calls: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  scene: () => Promise<void>,
): Promise<void> {
  const waiting = async () => gatehouse.command("approvals.list", { known: [] });
  const made: Promise<unknown>[] = [];
  const leave = new AbortController();
  try {
    for (const call of calls) {
      const before = (await waiting()).length;
      // What becomes of it is not pictured.
      made.push(call(leave.signal).catch(() => undefined));
      await expect.poll(async () => (await waiting()).length).toBe(before + 1);
    }
    await scene();
  } finally {
    for (const { id, request } of await waiting()) {
      if (request.kind !== "call") continue;
      const choice = { lifetime: "once" as const, width: "call" as const, everyClient: false, conditions: [] };
      const answer = { answer: "deny" as const, choice, reason: null };
      await gatehouse.command("approvals.answer", { answers: [{ id, hash: request.hash, answer }] });
    }
    leave.abort();
    await Promise.all(made);
  }
}

/** A Gatehouse of its own. */
async function running(use: (gatehouse: Gatehouse) => Promise<void>): Promise<void> {
  mkdirSync(output, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-"));
  const host = new BrowserHost(folder);
  try {
    const { address, endpoint } = await host.ready();
    const gatehouse = new Gatehouse(address, endpoint ?? "", folder);
    const states = async () => (await gatehouse.command("servers.list", {})).map((it) => it.status.state);
    await expect.poll(states).toEqual(["connected", "connected"]);
    await use(gatehouse);
    await Promise.allSettled(gatehouse.clients.map((client) => client.close()));
  } finally {
    await host.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

type PictureFixtures = { picture: (gatehouse: Gatehouse, scene: Scene) => Promise<void> };

export const test = plain.extend<PictureFixtures, { lived: Gatehouse; fresh: Gatehouse }>({
  /** A Gatehouse that has been in use. */
  lived: [
    async ({}, use) => {
      await running(async (gatehouse) => {
        const leave = await live(gatehouse);
        await use(gatehouse);
        leave();
      });
    },
    { scope: "worker", timeout: 120_000 },
  ],
  /** A Gatehouse after its first start. */
  fresh: [async ({}, use) => running(use), { scope: "worker", timeout: 60_000 }],
  picture: async ({ page }, use) => {
    await use((gatehouse, scene) => pictures(page, gatehouse, scene));
  },
});

export { expect };
