import { render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import type { PendingApproval } from "../generated/types";
import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import { ApprovalGroupSection } from "./ApprovalGroupSection";
import { groupApprovals } from "./groups";
import type { QueueSlot } from "./queue";
import { testApproval } from "./testApprovals";

vi.mock("./cards/ApprovalCard", () => ({
  ApprovalCard: ({ pending }: { pending: PendingApproval }) => <button>{pending.id}</button>,
}));

const approvals = ["one", "two"].map((id) => testApproval(id));

/** Shows two requests; returns how one of them ends. */
function show() {
  const section = (ended?: string) => {
    const slots = approvals.map((pending): QueueSlot => ({ pending, end: pending.id === ended ? "allowed" : null }));
    const [group] = groupApprovals(slots);
    if (!group) throw new Error("no group");
    const never = () => Promise.reject(new Error("not called"));
    return (
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <ApprovalGroupSection
          group={group}
          onAnswer={() => undefined}
          onTrustLabels={() => undefined}
          onLink={never}
          onReveal={never}
        />
      </SpeechContext>
    );
  };
  const { rerender } = render(section());
  return (id: string) => {
    rerender(section(id));
  };
}

const focused = () => document.activeElement?.textContent;

it("moves the focus from an answered request to what remains of it", () => {
  const end = show();
  screen.getByRole("button", { name: "one" }).focus();
  end("one");
  expect(focused()).toBe("Allowed");
});

it("moves the focus from an answer to several requests to what remains of the first", () => {
  const end = show();
  const together = screen.getAllByRole("button").find(({ textContent }) => textContent.includes("Deny all"));
  if (!together) throw new Error("no answer to several");
  together.focus();
  end("two");
  expect(focused()).toBe("Allowed");
});

it("leaves the focus elsewhere alone", () => {
  const end = show();
  screen.getByRole("button", { name: "two" }).focus();
  end("one");
  expect(focused()).toBe("two");
  screen.getByRole("button", { name: "two" }).blur();
  end("two");
  expect(document.activeElement).toBe(document.body);
});
