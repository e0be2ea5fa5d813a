import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import { CopyButton } from "./CopyButton";

it("makes a long text only when it is copied", () => {
  const writeText = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const text = vi.fn(() => "long");
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CopyButton text={text} label="Copy events" />
      </SpeechContext>
    </MantineProvider>,
  );
  expect(text).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: "Copy events" }));
  expect(text).toHaveBeenCalledTimes(1);
  expect(writeText).toHaveBeenCalledWith("long");
});
