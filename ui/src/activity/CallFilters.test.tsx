import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, within } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { everyCall } from "../core/callFilter";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { noChoice } from "./callFilter";
import { CallFilters } from "./CallFilters";

it("filters by clients, and by what the user and Chat called", async () => {
  const clients = [{ id: "c1", name: "Claude Code" }];
  const platform = {
    command: (name: string) => Promise.resolve(name === "clients.list" ? clients : []),
    events: () => () => undefined,
  } as unknown as Platform;
  const onChange = vi.fn();
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={platform}>
          <CallFilters choice={noChoice} onChange={onChange} of={null} shown={everyCall} />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  const filter = screen.getByRole("combobox", { name: "Client" });
  await within(filter).findByRole("option", { name: "Claude Code" });
  const names = within(filter)
    .getAllByRole("option")
    .map(({ textContent }) => textContent);
  expect(names).toEqual(["Client: Any", "Gatehouse", "Chat", "Claude Code"]);
  fireEvent.change(filter, { target: { value: "chat" } });
  expect(onChange).toHaveBeenCalledWith({ ...noChoice, client: "chat" });
});
