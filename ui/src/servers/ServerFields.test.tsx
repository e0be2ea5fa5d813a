import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { defaultPreferences } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { ServerFields } from "./ServerFields";
import { emptyServerForm, fromConfig, toDraft, type FormFaults, type ServerForm } from "./serverForm";

describe("the switch for starting with Gatehouse", () => {
  it.each([
    ["en", "Start with Gatehouse", "When off, the server starts when it's needed"],
    ["zh-CN", "随 Gatehouse 启动", "关闭后，服务器只在需要时启动"],
  ] as const)("is a setting of its own with its help (%s)", (language, label, help) => {
    const changes: Partial<ServerForm>[] = [];
    render(
      <ThemeProvider preferences={{ ...defaultPreferences, language, theme: "light" }}>
        <ServerFields
          form={{ ...emptyServerForm, name: "files", command: "node x.js" }}
          faults={{}}
          onChange={(change) => changes.push(change)}
        />
      </ThemeProvider>,
    );
    const toggle = screen.getByRole<HTMLInputElement>("switch", { name: new RegExp(label, "u") });
    expect(toggle.checked).toBe(true);
    expect(screen.getByText(new RegExp(help, "u"))).toBeDefined();
    fireEvent.click(toggle);
    expect(changes).toEqual([{ autostart: false }]);
  });

  it("leaves it to another setting whether the server runs at all", () => {
    const { draft } = toDraft({ ...emptyServerForm, name: "files", command: "node x.js", autostart: false });
    expect([draft.autostart, draft.enabled]).toEqual([false, true]);
  });
});

const label = "Protocol version";

function show(form: Partial<ServerForm>, faults: FormFaults = {}) {
  const onChange = vi.fn();
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <ServerFields form={{ ...emptyServerForm, ...form }} faults={faults} onChange={onChange} />
    </ThemeProvider>,
  );
  return onChange;
}

const more = () => {
  fireEvent.click(screen.getByRole("button", { name: "More settings" }));
};

describe("storing arguments and results", () => {
  it("is on, and is switched off for one server", () => {
    const onChange = show({ kind: "builtin" });
    more();
    const stored = screen.getByRole<HTMLInputElement>("checkbox", { name: /Store arguments and results of calls/ });
    expect(stored.checked).toBe(true);
    fireEvent.click(stored);
    expect(onChange).toHaveBeenLastCalledWith({ recordBodies: false });
    const { draft } = toDraft({ ...emptyServerForm, name: "files", command: "node x.js", recordBodies: false });
    expect(draft.recordBodies).toBe(false);
    expect(fromConfig(draft).recordBodies).toBe(false);
  });
});

describe("the protocol version of a server", () => {
  it.each(["stdio", "http"] as const)("is chosen for a server of the kind %s", (kind) => {
    const onChange = show({ kind });
    more();
    fireEvent.change(screen.getByLabelText(label), { target: { value: "2025-11-25" } });
    expect(onChange).toHaveBeenLastCalledWith({ protocolVersion: "2025-11-25" });
  });

  it("is none of a built-in server", () => {
    show({ kind: "builtin" });
    more();
    expect(screen.queryByLabelText(label)).toBeNull();
  });

  it("is shown when it is refused", () => {
    const fault = { key: "problem.statelessSse", params: {} };
    show({ kind: "http", remote: "sse", protocolVersion: "2026-07-28" }, { protocolVersion: fault });
    expect(screen.getByRole("button", { name: "More settings", expanded: true })).toBeDefined();
    expect(screen.getByText(/SSE supports only older protocol versions/)).toBeDefined();
  });
});
