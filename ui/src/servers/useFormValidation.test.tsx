import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { describe, expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ServerConfig, ServerProblem, ValidationReport } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { AddServerForm } from "./AddServerForm";
import { emptyServerForm, toDraft } from "./serverForm";
import { SettingsTab } from "./SettingsTab";

/** A core whose validations end by hand. */
function core() {
  const waiting: ((report: ValidationReport) => void)[] = [];
  const asked: string[] = [];
  const platform = {
    command: (name: string) => {
      asked.push(name);
      if (name === "servers.list") return Promise.resolve([]);
      return new Promise((resolve) => {
        if (name === "servers.validate") waiting.push(resolve);
      });
    },
    events: () => () => undefined,
  } as unknown as Platform;
  const page = (children: ReactNode) => (
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>{children}</CoreProvider>
    </ThemeProvider>
  );
  return {
    page,
    /** How often a command was run. */
    count: (name: string) => asked.filter((one) => one === name).length,
    /** Waits until the core is asked, and answers all that wait. */
    answer: async (problems: ServerProblem[] = []) => {
      await waitFor(() => {
        expect(waiting).not.toEqual([]);
      });
      await act(async () => {
        for (const resolve of waiting.splice(0)) resolve({ draft: null, problems, changes: [] });
        // What waits for the answer runs within a few microtasks.
        await new Promise((resolve) => setTimeout(resolve, 0));
      });
    },
  };
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const submit = (name: string) => {
  const form = button(name).closest("form");
  if (form) fireEvent.submit(form);
};
const type = (label: string, value: string) => {
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
};
const problem = (pointer: string, key: string): ServerProblem => ({
  pointer,
  message: { key, params: {} },
  span: null,
});
const noName = problem("/name", "problem.name.empty");
const elsewhere = problem("/look/icon", "problem.text");
const elsewhereText = "In “look.icon”: This must be a string.";

describe("the form of a new server", () => {
  function show() {
    const onClose = vi.fn();
    const { page, ...rest } = core();
    const { unmount } = render(page(<AddServerForm onClose={onClose} onImport={vi.fn()} />));
    return { ...rest, unmount, onClose };
  }

  it.each([
    ["Add server", "servers.add"],
    ["Test connection", "servers.test"],
  ])("runs %s once, however often it is wanted meanwhile", async (name, command) => {
    const { answer, count } = show();
    const press = () => {
      if (name === "Add server") submit(name);
      else fireEvent.click(button(name));
    };
    press();
    press();
    expect(button(name).disabled).toBe(true);
    submit("Add server");
    await answer();
    expect(count(command)).toBe(1);
    expect(count("servers.add") + count("servers.test")).toBe(1);
  });

  it.each([
    ["Add server", "servers.add"],
    ["Test connection", "servers.test"],
  ])("does not run %s after it was closed or changed", async (name, command) => {
    const { answer, count, unmount } = show();
    fireEvent.click(button(name));
    type("Name", "other");
    await answer();
    expect(button(name).disabled).toBe(false);
    fireEvent.click(button(name));
    unmount();
    await answer();
    expect(count(command)).toBe(0);
  });

  it.each(["Stop test", "closing it"])("stops a test in the core by %s", async (by) => {
    const { answer, count, unmount } = show();
    fireEvent.click(button("Test connection"));
    await answer();
    expect([count("servers.test"), count("servers.stopRun")]).toEqual([1, 0]);
    if (by === "Stop test") fireEvent.click(button(by));
    unmount();
    expect(count("servers.stopRun")).toBe(1);
  });

  it("stops an addition in the core by Cancel, and then closes", async () => {
    const { answer, count, onClose } = show();
    submit("Add server");
    await answer();
    expect([count("servers.add"), count("servers.stopRun")]).toEqual([1, 0]);
    fireEvent.click(button("Cancel"));
    expect(count("servers.stopRun")).toBe(1);
    expect(onClose).not.toHaveBeenCalled();
    fireEvent.click(button("Cancel"));
    expect(onClose).toHaveBeenCalledOnce();
  });

  it("shows what is wrong, and can be tried again", async () => {
    const { answer, count } = show();
    submit("Add server");
    await answer([noName]);
    expect(screen.getByText("Enter a name.")).toBeDefined();
    expect(document.activeElement).toBe(screen.getByLabelText("Name"));
    type("Name", "files");
    submit("Add server");
    await answer();
    expect(count("servers.add")).toBe(1);
  });

  it("shows what is wrong elsewhere than in its fields", async () => {
    const { answer, count } = show();
    submit("Add server");
    await answer([elsewhere]);
    expect(screen.getByRole("alert").textContent).toContain(elsewhereText);
    expect(count("servers.add")).toBe(0);
  });
});

describe("the settings of a server", () => {
  const config: ServerConfig = {
    ...toDraft({ ...emptyServerForm, name: "files", command: "node x.js" }).draft,
    id: "srv-1",
    generation: 1,
    origin: "user",
  };

  it("are saved once, and not after Cancel", async () => {
    const { page, answer, count } = core();
    render(page(<SettingsTab config={config} onRemove={() => undefined} />));
    type("Name", "other");
    submit("Save");
    expect(button("Save").disabled).toBe(true);
    fireEvent.click(button("Cancel"));
    await answer();
    expect(count("servers.edit")).toBe(0);
    type("Name", "another");
    submit("Save");
    submit("Save");
    await answer();
    expect(count("servers.edit")).toBe(1);
  });

  it("show what is wrong elsewhere than in the fields", async () => {
    const { page, answer, count } = core();
    render(page(<SettingsTab config={config} onRemove={() => undefined} />));
    type("Name", "other");
    submit("Save");
    await answer([elsewhere]);
    expect(screen.getByRole("alert").textContent).toContain(elsewhereText);
    expect(count("servers.edit")).toBe(0);
  });
});
