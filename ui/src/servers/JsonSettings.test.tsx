import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ServerConfig } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import JsonSettings from "./JsonSettings";
import { emptyServerForm, toDraft } from "./serverForm";

vi.mock("../components/JsonEditor", () => ({
  default: ({ text, onChange }: { text: string; onChange: (text: string) => void }) => (
    <textarea
      value={text}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  ),
}));

const { draft } = toDraft({ ...emptyServerForm, name: "files", command: "node x.js" });
const config: ServerConfig = { ...draft, id: "srv-1", generation: 1, origin: "user" };
const save = () => screen.getByRole<HTMLButtonElement>("button", { name: "Save" });

describe("the settings of a server as JSON", () => {
  it("show why they cannot be validated, and can be validated again", async () => {
    let isReachable = false;
    const edited: unknown[] = [];
    const platform = {
      command: (name: string, args: unknown) => {
        if (name === "servers.edit") edited.push(args);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the core refuses
        if (!isReachable) return Promise.reject({ code: "timed_out", message: "No answer.", cause: null, hint: null });
        return Promise.resolve({ draft, problems: [], changes: [] });
      },
      events: () => () => undefined,
    } as unknown as Platform;
    render(
      <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
        <CoreProvider platform={platform}>
          <JsonSettings config={config} onEdited={() => undefined} onSaved={() => undefined} />
        </CoreProvider>
      </ThemeProvider>,
    );
    fireEvent.change(screen.getByRole("textbox"), { target: { value: "{}" } });
    expect((await screen.findByRole("alert")).textContent).toContain("No answer.");
    expect(save().disabled).toBe(true);

    isReachable = true;
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => {
      expect(save().disabled).toBe(false);
    });
    expect(screen.queryByRole("alert")).toBeNull();
    await act(async () => {
      fireEvent.click(save());
      await Promise.resolve();
    });
    expect(edited).toEqual([{ server: "srv-1", draft, secrets: [] }]);
  });
});
