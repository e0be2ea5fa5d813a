import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { ActionMenu } from "./ActionMenu";

describe("a menu", () => {
  it("opens with its actions, does one, and gives the focus back to its button", async () => {
    const act = vi.fn();
    const groups = [[{ label: "Stop", act }, false as const], [{ label: "Remove", isDanger: true, act: vi.fn() }]];
    render(
      <MantineProvider env="test">
        <ActionMenu label="More" groups={groups} />
      </MantineProvider>,
    );
    expect(screen.getByRole("button", { name: "More" }).getAttribute("aria-expanded")).toBe("false");

    fireEvent.click(screen.getByRole("button", { name: "More" }));
    const items = await screen.findAllByRole("menuitem");
    expect(items.map(({ textContent }) => textContent)).toEqual(["Stop", "Remove"]);
    expect(screen.getByRole("button", { name: "More", hidden: true }).getAttribute("aria-expanded")).toBe("true");

    fireEvent.click(screen.getByRole("menuitem", { name: "Stop" }));
    expect(act).toHaveBeenCalledOnce();
    await waitFor(() => {
      expect(screen.queryByRole("menuitem")).toBeNull();
      expect(document.activeElement).toBe(screen.getByRole("button", { name: "More" }));
    });
  });
});
