import { MantineProvider } from "@mantine/core";
import { render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { SpeechContext, type Language } from "../messages";
import { catalogues } from "../messages/catalogues";
import { ShortcutList } from "./ShortcutList";

it.each<[Language, string, string[]]>([
  ["en", "In the approval window", ["Allow once", "Deny"]],
  ["zh-CN", "在审批窗口中", ["允许一次", "拒绝"]],
])("says in %s that answers have keys in the approval window only", (language, name, answers) => {
  render(
    <MantineProvider>
      <SpeechContext value={{ language, messages: catalogues[language] }}>
        <ShortcutList />
      </SpeechContext>
    </MantineProvider>,
  );
  const region = screen.getByRole("region", { name });
  for (const answer of answers) expect(within(region).getByText(answer)).toBeTruthy();
});
