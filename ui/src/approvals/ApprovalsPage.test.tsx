import { MantineProvider } from "@mantine/core";
import { render, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { testApproval } from "./testApprovals";
import { CoreProvider } from "../core/CoreProvider";
import type { EventEnvelope, PendingApproval } from "../generated/types";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Platform } from "../platform";
import { ApprovalsPage } from "./ApprovalsPage";

const drawn = vi.hoisted(() => new Map<string, number>());
vi.mock("./cards/ApprovalCard", () => ({
  ApprovalCard: ({ pending }: { pending: { id: string } }) => {
    drawn.set(pending.id, (drawn.get(pending.id) ?? 0) + 1);
    return <article>{pending.id}</article>;
  },
}));

const many = Array.from({ length: 64 }, (_, at) => testApproval(`ask-${String(at)}`));

function show() {
  let waiting: readonly PendingApproval[] = many;
  let tell: (envelope: EventEnvelope | null) => void = () => undefined;
  const platform = {
    command: () => Promise.resolve(structuredClone(waiting)),
    events: (heard: typeof tell) => {
      tell = heard;
      return () => undefined;
    },
  } as unknown as Platform;
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <CoreProvider platform={platform}>
          <ApprovalsPage />
        </CoreProvider>
      </SpeechContext>
    </MantineProvider>,
  );
  return (now: readonly PendingApproval[]) => {
    waiting = now;
    tell(null);
  };
}

describe("a page of 64 approval requests", () => {
  beforeEach(() => {
    drawn.clear();
  });

  it("renders each card once, whatever happens to the others", { timeout: 40_000 }, async () => {
    const happens = show();
    // A few with every frame, and frames are slow where much else runs.
    await waitFor(
      () => {
        expect(screen.getAllByRole("article")).toHaveLength(64);
      },
      { timeout: 30_000 },
    );
    expect([...drawn.values()].every((times) => times === 1)).toBe(true);

    const zed = { id: "cli-2", name: "Zed", says: null, seenFrom: null, session: null, byUser: false };
    happens([...many.slice(1), testApproval("new", { client: zed })]);
    await screen.findByText("new");
    expect(screen.getByText("Pending approvals: 64")).toBeTruthy();
    // The guard falls asleep with what changed, and wakes again.
    const deny = screen.getByRole("button", { name: "Deny all 63: Write file" });
    expect(deny.getAttribute("aria-disabled")).toBe("true");
    await waitFor(() => {
      expect(deny.getAttribute("aria-disabled")).toBe("false");
    });
    expect([...drawn].filter(([, times]) => times !== 1)).toEqual([]);
    expect(drawn.size).toBe(65);
  });
});
