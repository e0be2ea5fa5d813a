import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ToolView } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { ToolRow } from "./ToolRow";

const tool: ToolView = {
  exposedName: "search",
  server: "srv-1",
  generation: 1,
  serverName: "notes",
  name: "search",
  title: null,
  description: null,
  inputSchema: "{}",
  class: { class: "read", reason: { by: "annotation", hint: "readOnlyHint" }, reachesOutside: false },
  permission: { decision: "allow", ownRules: [], widerRule: null, changed: false },
  fingerprint: "a",
  approvedVersions: 0,
  flags: [],
};

function show(language: "en" | "zh-CN", approvedVersions: number) {
  const platform = {
    command: async () => Promise.resolve(null),
    events: () => () => undefined,
  } as unknown as Platform;
  const nothing = () => undefined;
  return render(
    <ThemeProvider preferences={{ ...defaultPreferences, language, theme: "light" }}>
      <CoreProvider platform={platform}>
        <ToolRow
          tool={{ ...tool, approvedVersions }}
          wider={undefined}
          own={undefined}
          whole={false}
          onWhole={nothing}
        />
      </CoreProvider>
    </ThemeProvider>,
  );
}

describe("a tool whose definition varies", () => {
  it.each([
    ["en", "3 approved versions of its definition"],
    ["zh-CN", "已批准 3 个定义版本"],
  ] as const)("says in %s how many versions are approved", (language, text) => {
    show(language, 3);
    expect(screen.getByText(text)).toBeDefined();
  });

  it("says nothing of a single version", () => {
    show("en", 1);
    expect(screen.queryByText(/approved version/)).toBeNull();
  });
});
