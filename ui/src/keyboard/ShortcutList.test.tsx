import { MantineProvider } from "@mantine/core";
import { render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { SpeechContext, type Language } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { ShortcutList } from "./ShortcutList";

function show(language: Language, hasPauseShortcut: boolean | null) {
  const platform = {
    hasPauseShortcut: () => Promise.resolve(hasPauseShortcut),
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <MantineProvider>
      <SpeechContext value={{ language, messages: catalogues[language] }}>
        <CoreProvider platform={platform}>
          <ShortcutList />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
}

it.each<[Language, string, string[]]>([
  ["en", "In the approval window", ["Allow once", "Deny"]],
  ["zh-CN", "在审批窗口中", ["允许一次", "拒绝"]],
])("says in %s that answers have keys in the approval window only", async (language, name, answers) => {
  show(language, true);
  const region = await screen.findByRole("region", { name });
  for (const answer of answers) expect(within(region).getByText(answer)).toBeTruthy();
});

it.each([
  ["works", true, "CtrlAltShiftP"],
  ["is not registered yet", null, "CtrlAltShiftP"],
  ["does not work here", false, "Not available on this desktop"],
])("says of the shortcut for all applications that it %s", async (_, has, said) => {
  show("en", has);
  const region = screen.getByRole("region", { name: "Everywhere" });
  await expect.poll(() => within(region).getByRole("definition").textContent).toBe(said);
});
