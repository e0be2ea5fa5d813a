// Pictures of the dialogs of the main window.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { bundle, files } from "./lived.ts";
import { expect, test, type Words } from "./picture.ts";

/** Opens the dialog that adds a server, at one of its tabs. */
async function addServer(page: Page, t: Words, tab: "imports.tab" | "registry.tab" | "bundles.tab"): Promise<Locator> {
  await page.getByRole("button", { name: t("servers.add"), exact: true }).click();
  const dialog = page.getByRole("dialog", { name: t("servers.form.add") });
  await dialog.getByRole("tab", { name: t(tab) }).click();
  await expect(dialog.getByRole("tab", { name: t(tab), selected: true })).toBeVisible();
  return dialog;
}

test("add server, by hand", async ({ lived, picture }) => {
  await picture(lived, {
    name: "add-server-form",
    at: "#/servers",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("servers.add"), exact: true }).click();
      const dialog = page.getByRole("dialog", { name: t("servers.form.add") });
      await dialog.getByLabel(t("servers.form.paste")).fill("npx -y @example/weather --city Bonn");
      await expect(dialog.getByText(t("servers.form.filled"))).toBeVisible();
    },
  });
});

test("add server, from an app", async ({ lived, picture }) => {
  await picture(lived, {
    name: "add-server-import",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "imports.tab");
      await expect(dialog.getByRole("listitem").filter({ hasText: "Cursor" })).toBeVisible();
    },
  });
});

test("import checklist", async ({ lived, picture }) => {
  await picture(lived, {
    name: "import-checklist",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "imports.tab");
      const file = join(lived.home, ".cursor/mcp.json");
      await dialog.getByRole("button", { name: t("imports.chooseFrom", { name: "Cursor", file }) }).click();
      await expect(dialog.getByRole("checkbox", { name: "tickets", exact: true })).toBeChecked();
    },
  });
});

test("add server, from the registry", async ({ lived, picture }) => {
  await picture(lived, {
    name: "add-server-registry",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "registry.tab");
      await expect(dialog.getByText("Weather station")).toBeVisible();
    },
  });
});

test("entry of the registry", async ({ lived, picture }) => {
  await picture(lived, {
    name: "registry-entry",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "registry.tab");
      await dialog.getByRole("button", { name: /Weather station/ }).click();
      await expect(dialog.getByRole("textbox", { name: "CITY" })).toBeVisible();
    },
  });
});

test("add server, from a bundle", async ({ lived, picture }) => {
  await picture(lived, {
    name: "add-server-bundle",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "bundles.tab");
      await expect(dialog.getByRole("textbox", { name: t("bundles.file") })).toBeVisible();
    },
  });
});

test("bundle", async ({ lived, picture }) => {
  await picture(lived, {
    name: "bundle",
    at: "#/servers",
    open: async (page, t) => {
      const dialog = await addServer(page, t, "bundles.tab");
      await dialog.getByRole("textbox", { name: t("bundles.file") }).fill(bundle(lived));
      await dialog.getByRole("button", { name: t("bundles.open"), exact: true }).click();
      await expect(dialog.getByRole("region", { name: t("bundles.summary") })).toBeVisible();
    },
  });
});

test("import of a configuration", async ({ lived, picture }) => {
  await picture(lived, {
    name: "import-configuration",
    at: "#/settings",
    open: async (page, t) => {
      const { text } = await lived.command("configuration.export", { save: false });
      const document = JSON.parse(text) as { mcpServers: Record<string, unknown> };
      document.mcpServers["tickets"] = { command: "npx", args: ["tickets-mcp"], env: { API_KEY: "${secret:API_KEY}" } };
      const file = join(lived.folder, "configuration.json");
      writeFileSync(file, JSON.stringify(document));
      await page.getByRole("button", { name: t("transfer.import") }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: t("transfer.path") }).fill(file);
      await dialog.getByRole("button", { name: t("imports.openFile"), exact: true }).click();
      await expect(dialog.getByRole("checkbox", { name: "tickets" })).toBeChecked();
    },
  });
});

test("change of an application's settings", async ({ lived, picture }) => {
  await picture(lived, {
    name: "connect",
    at: "#/clients",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("connect.connectName", { name: "Cursor" }) }).click();
      const path = join(lived.home, ".cursor/mcp.json");
      await expect(page.getByRole("dialog").getByRole("region", { name: t("connect.change", { path }) })).toBeVisible();
    },
  });
});

test("new client", async ({ lived, picture }) => {
  await picture(lived, {
    name: "client-token",
    at: "#/clients",
    open: async (page, t) => {
      for (const { id, name } of await lived.command("clients.list", {}))
        if (name === "Editor") await lived.command("clients.revoke", { client: id });
      await page
        .getByRole("button", { name: t("clients.add"), exact: true })
        .first()
        .click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: t("clients.name") }).fill("Editor");
      await dialog.getByRole("button", { name: t("clients.create") }).click();
      await expect(dialog.getByText(t("clients.once"))).toBeVisible();
    },
  });
});

test("profile", async ({ lived, picture }) => {
  await picture(lived, {
    name: "profile-editor",
    at: "#/clients",
    open: async (page, t) => {
      const card = page.getByRole("article", { name: "Work", exact: true });
      await card.getByRole("button", { name: t("profiles.edit"), exact: true }).click();
      const dialog = page.getByRole("dialog", { name: t("profiles.editTitle", { name: "Work" }) });
      await expect(dialog.getByRole("checkbox", { name: files, exact: true })).toBeChecked();
    },
  });
});

test("simulation", async ({ lived, picture }) => {
  await picture(lived, {
    name: "simulation",
    at: "#/permissions",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("perm.whatIf"), exact: true }).click();
      const drawer = page.getByRole("dialog", { name: t("perm.whatIf") });
      await drawer.getByRole("button", { name: t("perm.simulate"), exact: true }).click();
      await expect(drawer.getByRole("table").first()).toBeVisible();
    },
  });
});

test("call", async ({ lived, picture }) => {
  await picture(lived, {
    name: "call-details",
    at: "#/activity/calls",
    open: async (page, t) => {
      await page
        .getByRole("button", { name: /list_directory/ })
        .first()
        .click();
      await expect(page.getByRole("dialog").getByRole("region", { name: t("activity.how") })).toBeVisible();
    },
  });
});

test("shortcuts", async ({ lived, picture }) => {
  await picture(lived, {
    name: "shortcuts",
    at: "#/servers",
    open: async (page, t) => {
      await expect(page.getByRole("article", { name: files })).toBeVisible();
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: t("shortcut.title") })).toBeVisible();
    },
  });
});

test("command palette", async ({ lived, picture }) => {
  await picture(lived, {
    name: "command-palette",
    at: "#/servers",
    open: async (page, t) => {
      await expect(page.getByRole("article", { name: files })).toBeVisible();
      await page.keyboard.press("Control+k");
      await expect(page.getByPlaceholder(t("appShell.search"))).toBeVisible();
      await expect(page.getByText(t("appShell.openServer", { name: files }))).toBeVisible();
    },
  });
});
