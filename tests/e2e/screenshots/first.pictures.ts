// Pictures of a Gatehouse that is new: the first steps, and pages with nothing on them.

import type { Page } from "@playwright/test";

import { writeSettingsOfOthers } from "./lived.ts";
import { expect, test, type Words } from "./picture.ts";

for (const step of ["servers", "client", "practice"] as const) {
  test(`first steps: ${step}`, async ({ fresh, picture }) => {
    writeSettingsOfOthers(fresh);
    await picture(fresh, {
      name: `first-run-${step}`,
      at: "#/welcome",
      open: async (page, t) => {
        const item = page.getByRole("listitem", { name: t(`firstRun.${step}`), exact: true });
        const heading = item.getByRole("heading").getByRole("button");
        await heading.click();
        await expect(heading).toHaveAttribute("aria-expanded", "true");
        if (step === "client") await expect(page.getByText("Cursor").first()).toBeVisible();
      },
    });
  });
}

test("servers after the first start", async ({ fresh, picture }) => {
  writeSettingsOfOthers(fresh);
  await picture(fresh, {
    name: "servers-first",
    at: "#/servers",
    open: async (page, t) => {
      await expect(page.getByRole("button", { name: t("imports.offerImport") })).toBeVisible();
      await expect(page.getByRole("article", { name: "Notes", exact: true })).toBeVisible();
    },
  });
});

const text = (key: Parameters<Words>[0]) => async (page: Page, t: Words) => {
  await expect(page.getByText(t(key))).toBeVisible();
};

for (const [name, at, open] of [
  ["overview", "#/overview", text("overview.noCalls")],
  ["approvals", "#/approvals", text("ask.none")],
  ["permissions", "#/permissions", text("perm.none")],
  ["activity", "#/activity/calls", text("activity.none")],
  ["clients", "#/clients", text("clients.none")],
  ["playground", "#/playground", text("playground.pick")],
] as const) {
  test(`${name} with nothing on it`, async ({ fresh, picture }) => {
    await picture(fresh, { name: `empty-${name}`, at, open });
  });
}

for (const [name, at, open] of [
  ["no-servers", "#/servers", text("servers.none")],
  ["no-servers-overview", "#/overview", text("overview.noServers")],
  ["no-servers-playground", "#/playground", text("playground.nothing")],
] as const) {
  test(`${name}`, async ({ fresh, picture }) => {
    for (const { config } of await fresh.command("servers.list", {}))
      await fresh.command("servers.remove", { server: config.id, undoable: false });
    await picture(fresh, { name: `empty-${name}`, at, open });
  });
}
