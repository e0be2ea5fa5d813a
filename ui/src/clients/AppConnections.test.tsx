import { fireEvent, render, screen, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { App, AppView, ConnectionState, ConnectPreview } from "../generated/types";
import { defaultPreferences, toUserError, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { ClientsPage } from "./ClientsPage";

const view = (app: App, name: string, state: ConnectionState, isInstalled = true): AppView => ({
  app,
  name,
  isInstalled,
  settingsFile: `/home/ana/.${app}`,
  state,
  hasForeignEntry: false,
  client: null,
  lastCall: null,
  problem: null,
});

const preview: ConnectPreview = {
  app: "codex",
  name: "Codex",
  client: "Codex",
  files: [
    {
      path: "/home/ana/.codex/config.toml",
      isNew: false,
      lines: [
        { kind: "kept", text: 'model = "•••"', old: 1, new: 1 },
        { kind: "added", text: "[mcp_servers.gatehouse]", old: null, new: 2 },
      ],
    },
  ],
  replacesEntry: false,
  hasAllowRule: true,
  fingerprint: "f0",
};

/** Shows the page; returns the commands that changed something. Connecting an application ends as `connecting` does. */
function show(apps: readonly AppView[], connecting?: Promise<unknown>) {
  const command = vi.fn((name: string, args: unknown) => {
    const replies: Record<string, unknown> = {
      "clients.list": [],
      "clients.apps": apps,
      "clients.connectPreview": { ...preview, fingerprint: (args as { allowRule: boolean }).allowRule ? "f1" : "f0" },
    };
    if (name === "clients.connect" && connecting) return connecting;
    return name in replies ? Promise.resolve(replies[name]) : new Promise(() => undefined);
  });
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={{ command, events: () => () => undefined } as unknown as Platform}>
        <ClientsPage />
      </CoreProvider>
    </ThemeProvider>,
  );
  return command;
}

describe("applications on the clients page", () => {
  it("offers what fits each state, and folds away what is not installed", async () => {
    show([
      view("cursor", "Cursor", "connected"),
      view("codex", "Codex", "not_connected"),
      view("zed", "Zed", "changed_by_hand"),
      view("cline", "Cline", "not_connected", false),
    ]);
    const cursor = await screen.findByRole("listitem", { name: "Cursor" });
    expect(cursor.textContent).toContain("Connected");
    expect(cursor.textContent).toContain("No call yet");
    expect(within(cursor).getByRole("button", { name: "Disconnect Cursor" })).toBeDefined();
    expect(screen.getByRole("button", { name: "Connect Codex" })).toBeDefined();
    expect(screen.getByRole("listitem", { name: "Zed" }).textContent).toContain("Entry changed by hand");
    expect(screen.queryByRole("listitem", { name: "Cline" })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "1 application not found" }));
    expect(screen.getByRole("listitem", { name: "Cline" }).textContent).toContain("Not found on this computer");
  });

  it("connects with exactly what was shown", async () => {
    const command = show([view("codex", "Codex", "not_connected")]);
    fireEvent.click(await screen.findByRole("button", { name: "Connect Codex" }));
    const dialog = await screen.findByRole("dialog");
    const diff = await within(dialog).findByRole("region", { name: "Change of /home/ana/.codex/config.toml" });
    expect(diff.textContent).toContain("+Added:[mcp_servers.gatehouse]");
    fireEvent.click(within(dialog).getByRole("checkbox"));
    const connect = within(dialog).getByRole("button", { name: "Connect" });
    await vi.waitFor(() => {
      expect(connect.hasAttribute("disabled")).toBe(false);
    });
    fireEvent.click(connect);
    await vi.waitFor(() => {
      expect(command).toHaveBeenCalledWith("clients.connect", { app: "codex", allowRule: true, fingerprint: "f1" });
    });
  });

  it("can't be closed while it connects, and says why that failed", async () => {
    let fail: (error: unknown) => void = () => undefined;
    show([view("codex", "Codex", "not_connected")], new Promise((_, reject) => (fail = reject)));
    fireEvent.click(await screen.findByRole("button", { name: "Connect Codex" }));
    const dialog = await screen.findByRole("dialog");
    await within(dialog).findByRole("region", { name: "Change of /home/ana/.codex/config.toml" });
    const [connect, cancel, close] = ["Connect", "Cancel", "Close"].map((name) =>
      within(dialog).getByRole("button", { name }),
    );
    if (!connect || !cancel || !close) throw new Error("no buttons");
    fireEvent.click(connect);
    await vi.waitFor(() => {
      expect([cancel, close].map((button) => button.hasAttribute("disabled"))).toEqual([true, true]);
    });
    expect(connect.getAttribute("data-loading")).toBe("true");
    fireEvent.keyDown(dialog, { key: "Escape" });
    expect(screen.getByRole("dialog")).toBe(dialog);

    fail(toUserError("the file is read-only"));
    expect((await within(dialog).findByRole("alert")).textContent).toContain("the file is read-only");
    expect([cancel, close].map((button) => button.hasAttribute("disabled"))).toEqual([false, false]);
  });
});
