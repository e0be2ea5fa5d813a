import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ResultPart } from "../generated/types";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { ContentPart } from "./ContentPart";

const link: ResultPart = {
  role: null,
  content: { kind: "link", uri: "note://1", title: "Note", mimeType: null },
};

it("cancels the reading of a linked resource, also in the core", async () => {
  let run: string | undefined;
  const command = vi.fn((name: string, args: unknown) => {
    if (name === "servers.readResource") ({ run } = args as { run: string });
    const call = { call: "1", at: 0, client: "gatehouse", server: "s", tool: "note://1", sent: true, task: null };
    const replies: Record<string, unknown> = {
      "servers.catalog": { resources: [{ uri: "note://1" }], templates: [], prompts: [], watched: [], declared: {} },
      "calls.running": [{ ...call, run, progress: null }],
    };
    return name === "servers.readResource" ? new Promise(() => undefined) : Promise.resolve(replies[name]);
  });
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={{ command, events: () => () => undefined } as unknown as Platform}>
          <ContentPart part={link} at={0} result="r" server="s" renderResult={() => null} />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  fireEvent.click(await screen.findByRole("button", { name: "Read" }));
  expect(await screen.findByText(/^Running for/)).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
  expect(run).toBeDefined();
  expect(command).toHaveBeenCalledWith("servers.stopRun", { run });
});
