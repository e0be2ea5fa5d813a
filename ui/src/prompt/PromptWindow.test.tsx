import { act, fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";

import { testApproval } from "../approvals/testApprovals";
import type { PendingApproval } from "../generated/types";
import { defaultPreferences, toUserError, type PromptPlatform } from "../platform";
import { PromptWindow } from "./PromptWindow";

const pending = vi.fn<PromptPlatform["pending"]>();

/** Shows the prompt window; returns how it hears that the approvals changed. */
function show() {
  let signal: Parameters<PromptPlatform["signals"]>[0] = () => undefined;
  const platform = {
    pending,
    preferences: () => Promise.resolve({ ...defaultPreferences, language: "en" }),
    signals: (heard: typeof signal) => {
      signal = heard;
      return () => undefined;
    },
    fit: () => Promise.resolve(),
    openMain: () => Promise.resolve(),
    opinion: () => Promise.resolve(null),
  } as unknown as PromptPlatform;
  render(<PromptWindow platform={platform} />);
  return () => {
    act(() => {
      signal("changed");
    });
  };
}

beforeEach(() => {
  pending.mockReset();
});

it("says nothing before the pending approvals were read", async () => {
  let reply: (approvals: PendingApproval[]) => void = () => undefined;
  pending.mockReturnValue(new Promise((resolve) => (reply = resolve)));
  show();
  expect(screen.getByRole("main").textContent).toBe("");
  reply([]);
  expect(await screen.findByText("No pending approvals")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Open Gatehouse" })).toBeTruthy();
});

it("shows why the pending approvals could not be read, and tries again", async () => {
  pending.mockRejectedValueOnce({ ...toUserError(null), message: "No core" });
  show();
  expect((await screen.findByRole("alert")).textContent).toContain("No core");
  expect(screen.queryByText("No pending approvals")).toBeNull();

  pending.mockResolvedValueOnce([testApproval("ask-1")]);
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("heading", { name: /Write file/ })).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});

it("keeps a request that is shown while reading again fails", async () => {
  pending.mockResolvedValueOnce([testApproval("ask-1")]);
  const change = show();
  await screen.findByRole("heading", { name: /Write file/ });
  pending.mockRejectedValueOnce(toUserError("no core"));
  change();
  await vi.waitFor(() => {
    expect(pending).toHaveBeenCalledTimes(2);
  });
  expect(screen.getByRole("heading", { name: /Write file/ })).toBeTruthy();
});
