import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { AllowedHosts } from "./AllowedHosts";

const kept = { auditDays: null, activityDays: 90, activityCalls: 5, allowedHosts: ["devbox:8080"] };

function show(refusal: Error | null = null) {
  const sent: unknown[] = [];
  const platform = {
    command: (name: string, args: unknown) => {
      if (name !== "settings.show") sent.push(args);
      return name !== "settings.show" && refusal !== null ? Promise.reject(refusal) : Promise.resolve(kept);
    },
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <AllowedHosts />
      </CoreProvider>
    </ThemeProvider>,
  );
  return sent;
}

const type = async (text: string) => {
  fireEvent.change(await screen.findByLabelText("Further host names"), { target: { value: text } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
};

describe("further host names", () => {
  it("are sent as a list, and everything else stays", async () => {
    const sent = show();
    await type("devbox:8080,  host.docker.internal");
    await waitFor(() => {
      expect(sent).toEqual([
        {
          auditDays: null,
          activityDays: 90,
          activityCalls: 5,
          packages: null,
          registry: null,
          clientDocument: null,
          calls: null,
          toolNames: null,
          allowedHosts: ["devbox:8080", "host.docker.internal"],
        },
      ]);
    });
  });

  it("show what the core says is wrong", async () => {
    const message = { key: "error.app.badHost", params: { host: { text: "*" } } };
    show(Object.assign(new Error("refused"), { code: "bad_request", message, cause: null, hint: null }));
    await type("*");
    expect(await screen.findByText(/“\*” isn't a host name/)).toBeTruthy();
  });
});
