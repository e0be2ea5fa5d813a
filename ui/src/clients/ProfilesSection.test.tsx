import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ProfileSettings, ProfileView } from "../generated/types";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { ProfilesSection } from "./ProfilesSection";
import { newProfile } from "./profileDraft";

const toolList = { tools: 207, listed: 3, bytes: 2400, tokens: 600 };

function view(id: string, settings: Partial<ProfileSettings>, clients: string[]): ProfileView {
  return { profile: { id, settings: { ...newProfile, ...settings } }, clients, toolList };
}

const replies: Record<string, unknown> = {
  "profiles.list": [view("p-1", { name: "Work", toolList: "search" }, ["cli-1"]), view("p-2", { name: "Play" }, [])],
  "clients.list": [{ id: "cli-1", name: "Claude Code" }],
  "servers.list": [{ config: { id: "srv-1", name: "Files" } }, { config: { id: "srv-2", name: "Notes" } }],
  "tools.list": [
    { server: "srv-1", name: "read_file" },
    { server: "srv-1", name: "write_file" },
  ],
};

function show() {
  const sent: [string, unknown][] = [];
  const platform = {
    command: (name: string, args: unknown) => {
      if (name in replies) return Promise.resolve(structuredClone(replies[name]));
      sent.push([name, args]);
      return Promise.resolve(null);
    },
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={platform}>
          <ProfilesSection />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  return sent;
}

const tick = (name: string) => {
  fireEvent.click(screen.getByRole("checkbox", { name }));
};

describe("the profiles", () => {
  it("say who uses them and what their tool list costs", async () => {
    show();
    const work = await screen.findByRole("article", { name: "Work" });
    await within(work).findByText("Used by Claude Code");
    expect(within(work).getByText("207 tools, 3 listed, about 600 tokens")).toBeTruthy();
    // A client would see everything if its profile went.
    expect(within(work).getByRole("button", { name: "Remove" })).toHaveProperty("disabled", true);
    const play = screen.getByRole("article", { name: "Play" });
    expect(within(play).getByRole("button", { name: "Remove" })).toHaveProperty("disabled", false);
  });

  it("are edited server by server and tool by tool", async () => {
    const sent = show();
    fireEvent.click(await screen.findByRole("button", { name: "Add profile" }));
    fireEvent.change(await screen.findByRole("textbox", { name: "Name" }), { target: { value: "Small" } });
    await screen.findByRole("checkbox", { name: "Files" });
    tick("Notes");
    fireEvent.click(await screen.findByRole("button", { name: "Files: 2 of 2 tools" }));
    tick("write_file");
    await screen.findByRole("button", { name: "Files: 1 of 2 tools" });
    tick("Also show tools that the server adds later");
    fireEvent.click(screen.getByRole("switch", { name: /^Only the servers of this profile/ }));
    fireEvent.click(screen.getByRole("radio", { name: "Search" }));
    fireEvent.change(screen.getByRole("textbox", { name: /^Calls per minute/ }), { target: { value: "30" } });
    fireEvent.change(screen.getByRole("textbox", { name: "Project folders, one per line" }), {
      target: { value: "/work/a\n\n/work/b \n" },
    });
    fireEvent.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => {
      expect(sent).toHaveLength(1);
    });
    expect(sent[0]).toEqual([
      "profiles.add",
      {
        settings: {
          ...newProfile,
          name: "Small",
          servers: [
            { server: "srv-2", tools: { shows: "nothing" } },
            { server: "srv-1", tools: { shows: "only", tools: ["read_file"] } },
          ],
          otherServers: "hidden",
          toolList: "search",
          callsPerMinute: 30,
          folders: ["/work/a", "/work/b"],
        },
      },
    ]);
  });

  it("ask about the servers of their projects", async () => {
    const play = view("p-2", { name: "Play", folders: ["/work/app"] }, []);
    replies["profiles.list"] = [play, view("p-3", { name: "Strict", folders: ["/x"], otherServers: "hidden" }, [])];
    const problem = { code: "bad_config", message: "broken", cause: null, hint: null };
    replies["profiles.addServers"] = [{ file: "/work/app/.mcp.json", asked: ["db"], problems: [problem] }];
    show();
    const card = await screen.findByRole("article", { name: "Play" });
    expect(within(card).getByText("Project folder /work/app")).toBeTruthy();
    const strict = screen.getByRole("article", { name: "Strict" });
    expect(within(strict).queryByRole("button", { name: "Add servers from .mcp.json" })).toBeNull();
    fireEvent.click(within(card).getByRole("button", { name: "Add servers from .mcp.json" }));
    await within(card).findByText("/work/app/.mcp.json: see Approvals for db.");
    expect(within(card).getByText("broken")).toBeTruthy();
  });
});
