import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ClientView } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { ClientsPage } from "./ClientsPage";

const client = (name: string, hasStaleList: boolean): ClientView => ({
  id: `cli-${name}`,
  name,
  created: 1,
  access: { by: "token" },
  says: null,
  lastSeen: 2,
  sessions: 1,
  hasStaleList,
  profile: null,
  toolList: { tools: 0, listed: 0, bytes: 0, tokens: 0 },
});

function show(clients: readonly ClientView[]) {
  const platform = {
    command: async (name: string) => {
      const reply = { "clients.list": clients, "servers.list": [] }[name];
      // What the mark doesn't depend on is never answered.
      return reply ?? new Promise(() => undefined);
    },
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <ClientsPage />
      </CoreProvider>
    </ThemeProvider>,
  );
}

describe("the clients page", () => {
  it("marks the client with an old tool list, and no other", async () => {
    show([client("old", true), client("current", false)]);
    expect((await screen.findByRole("article", { name: "old" })).textContent).toContain("Old tool list");
    expect(screen.getByRole("article", { name: "current" }).textContent).not.toContain("Old tool list");
  });
});
