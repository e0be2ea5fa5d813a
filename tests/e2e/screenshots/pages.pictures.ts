// Pictures of the pages of the main window, in use.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { broken, client, documents, files, idOf, wiki } from "./lived.ts";
import { expect, prompt, test, whileWaiting } from "./picture.ts";

test("overview", async ({ lived, picture }) => {
  await picture(lived, {
    name: "overview",
    at: "#/overview",
    open: async (page, t) => {
      const calls = page.getByRole("region", { name: t("overview.calls"), exact: true });
      await expect(calls.getByRole("img").locator("svg").first()).toBeVisible();
      await expect(calls.getByRole("table", { name: t("overview.mostUsed") })).toContainText("current_time");
    },
  });
});

test("servers", async ({ lived, picture }) => {
  await picture(lived, {
    name: "servers",
    at: "#/servers",
    open: async (page) => {
      await expect(page.getByRole("article", { name: broken })).toContainText("calendar-mcp-server");
      await expect(page.getByRole("article", { name: files })).toBeVisible();
    },
  });
});

for (const [tab, server, shown] of [
  ["tools", files, /^Read Text File/i],
  ["resources", wiki, /^Note/],
  ["prompts", wiki, /^greet/i],
  ["logs", wiki, "The index is 3 days old"],
  ["settings", files, "server-filesystem"],
  ["activity", files, /read_text_file/],
] as const) {
  test(`server, ${tab}`, async ({ lived, picture }) => {
    await picture(lived, {
      name: `server-${tab}`,
      at: `#/servers/${await idOf(lived, server)}/${tab}`,
      open: async (page, t) => {
        await expect(page.getByRole("tab", { name: t(`servers.tab.${tab}`), selected: true })).toBeVisible();
        const panel = page.getByRole("tabpanel");
        if (tab === "settings") {
          const command = panel.getByRole("textbox", { name: t("servers.form.command"), exact: true });
          await expect(command).toHaveValue(new RegExp(shown));
        } else if (tab === "resources" || tab === "prompts") {
          await panel.getByRole("option", { name: shown }).first().click();
          await expect(page.getByRole("region", { name: t("catalog.one") })).toBeVisible();
        } else if (tab === "activity") {
          await expect(panel.getByRole("button", { name: shown }).first()).toBeVisible();
        } else {
          await expect(panel.getByText(shown).first()).toBeVisible();
        }
      },
    });
  });
}

test("server that failed", async ({ lived, picture }) => {
  await picture(lived, {
    name: "server-failed",
    at: `#/servers/${await idOf(lived, broken)}/tools`,
    open: async (page) => {
      await expect(page.getByText(/calendar-mcp-server/).first()).toBeVisible();
    },
  });
});

test("approvals", async ({ lived, picture }) => {
  const path = `${documents(lived)}/plan.md`;
  const calls = [
    () => client(lived, "Claude Code").call("write_file", { path, content: "# Plan\n\n1. Budget\n2. Team\n" }),
    () => client(lived, "Claude Code").call("create_directory", { path: `${documents(lived)}/archive` }),
    () => client(lived, "Cursor").call("list_notes", {}),
  ];
  await whileWaiting(lived, calls, () =>
    picture(lived, {
      name: "approvals",
      at: "#/approvals",
      open: async (page) => {
        await expect(page.getByRole("article")).toHaveCount(3);
      },
    }),
  );
});

test("a hand edit", async ({ lived, picture }) => {
  const file = join(lived.folder, "data/servers.json");
  const before = readFileSync(file, "utf8");
  const edited = JSON.parse(before) as { mcpServers: Record<string, unknown> };
  edited.mcpServers["Weather"] = { command: "npx", args: ["-y", "@example/weather"], env: { CITY: "Bonn" } };
  writeFileSync(file, JSON.stringify(edited, null, 2));
  await picture(lived, {
    name: "approvals-hand-edit",
    at: "#/approvals",
    open: async (page) => {
      await expect(page.getByRole("article")).toContainText("@example/weather");
    },
  });
  writeFileSync(file, before);
  await expect.poll(async () => (await lived.command("approvals.list", { known: [] })).length).toBe(0);
});

test("permissions", async ({ lived, picture }) => {
  await picture(lived, {
    name: "permissions",
    at: "#/permissions",
    open: async (page) => {
      await expect(page.getByTestId("rule-sentence").filter({ hasText: "delete_note" })).toBeVisible();
    },
  });
});

for (const view of ["calls", "events"] as const) {
  test(`activity, ${view}`, async ({ lived, picture }) => {
    await picture(lived, {
      name: `activity-${view}`,
      at: `#/activity/${view}`,
      open: async (page) => {
        if (view === "calls") await expect(page.getByRole("button", { name: /read_text_file/ }).first()).toBeVisible();
        else await expect(page.getByText(/Claude Code/).first()).toBeVisible();
      },
    });
  });
}

test("clients", async ({ lived, picture }) => {
  await picture(lived, {
    name: "clients",
    at: "#/clients",
    open: async (page) => {
      await expect(page.getByRole("listitem", { name: "Cursor" })).toBeVisible();
      await expect(page.getByRole("article", { name: "Claude Code" })).toBeVisible();
    },
  });
});

test("profiles", async ({ lived, picture }) => {
  await picture(lived, {
    name: "profiles",
    at: "#/clients",
    open: async (page) => {
      const profile = page.getByRole("article", { name: "Work", exact: true });
      await profile.scrollIntoViewIfNeeded();
      await expect(profile).toBeInViewport();
    },
  });
});

test("playground", async ({ lived, picture }) => {
  const query = new URLSearchParams({ server: await idOf(lived, files), kind: "tool", item: "list_directory" });
  await picture(lived, {
    name: "playground",
    at: `#/playground?${query.toString()}`,
    open: async (page, t) => {
      const panel = page.getByRole("region", { name: t("playground.details") });
      await panel.getByRole("textbox", { name: /^path/ }).fill(documents(lived));
      await panel.getByRole("button", { name: t("playground.call"), exact: true }).click();
      const result = panel.getByRole("region", { name: t("playground.result") });
      await expect(result.getByText(/meeting\.md/).first()).toBeVisible();
    },
  });
});

test("settings", async ({ lived, picture }) => {
  await picture(lived, {
    name: "settings",
    at: "#/settings",
    open: async (page, t) => {
      await expect(page.getByRole("switch", { name: t("settings.startsAtLogin") })).toBeVisible();
    },
  });
});

test("settings of the audit", async ({ lived, picture }) => {
  await picture(lived, {
    name: "settings-audit",
    at: "#/settings",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("audit.show") }).click();
      await expect(page.getByRole("dialog").getByRole("listitem").first()).toBeVisible();
    },
  });
});

test("paused", async ({ lived, picture }) => {
  await lived.command("pause", {});
  await picture(lived, {
    name: "paused",
    at: "#/servers",
    open: async (page, t) => {
      await expect(page.getByText(t("appShell.paused"))).toBeVisible();
    },
  });
  await lived.command("resume", {});
});

test("no request in the prompt", async ({ lived, picture }) => {
  await picture(lived, {
    name: "prompt-empty",
    at: prompt,
    open: async (page, t) => {
      await expect(page.getByText(t("ask.none"))).toBeVisible();
    },
  });
});
