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

it("filters by clients, by those that are gone, and by what the user and Chat called", async () => {
  const clients = [{ id: "c1", name: "Claude Code" }];
  const platform = {
    command: (name: string) => Promise.resolve(name === "clients.list" ? clients : []),
    events: () => () => undefined,
  } as unknown as Platform;
  const onChange = vi.fn();
  const recorded = {
    servers: new Map([["s1", "Removed server"]]),
    clients: new Map([
      ["c1", "Claude Code"],
      ["c2", "Revoked client"],
    ]),
  };
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={platform}>
          <CallFilters choice={noChoice} onChange={onChange} of={null} shown={everyCall} recorded={recorded} />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  const filter = screen.getByRole("combobox", { name: "Client" });
  await within(filter).findByRole("option", { name: "Claude Code" });
  const names = within(filter)
    .getAllByRole("option")
    .map(({ textContent }) => textContent);
  expect(names).toEqual(["Client: Any", "Gatehouse", "Chat", "Claude Code", "Revoked client"]);
  fireEvent.change(screen.getByRole("combobox", { name: "Server" }), { target: { value: "s1" } });
  expect(onChange).toHaveBeenCalledWith({ ...noChoice, server: "s1" });
  fireEvent.change(filter, { target: { value: "c2" } });
  expect(onChange).toHaveBeenCalledWith({ ...noChoice, client: "c2" });
  fireEvent.change(filter, { target: { value: "chat" } });
  expect(onChange).toHaveBeenCalledWith({ ...noChoice, client: "chat" });
});
