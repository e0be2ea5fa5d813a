import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ScopeUpgradeCard } from "./ScopeUpgradeCard";

const server = { id: "srv-1", generation: 0, name: "notes", description: null, icon: "notes" };

function show(awake: boolean) {
  const onAnswer = vi.fn();
  render(
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={awake}>
        <ScopeUpgradeCard request={{ server, scopes: ["notes.write", "email", "email"] }} keys onAnswer={onAnswer} />
      </AnswerGuardContext>
    </SpeechContext>,
  );
  return onAnswer;
}

describe("a scope upgrade card", () => {
  it("names the server and every scope, and describes only standard scopes", () => {
    show(true);
    expect(screen.getByRole("heading").textContent).toBe("notes needs more permissions");
    expect(screen.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
      "notes.write",
      "emailyour email address",
    ]);
  });

  it.each([
    ["Allow", { answer: "accept", content: null }],
    ["Decline", { answer: "decline" }],
    ["Close without answering", { answer: "cancel" }],
  ])("answers with %s", (name, answer) => {
    const onAnswer = show(true);
    fireEvent.click(screen.getByRole("button", { name }));
    expect(onAnswer.mock.calls).toEqual([[answer]]);
  });

  it("answers by keyboard only with Ctrl", () => {
    const onAnswer = show(true);
    fireEvent.keyDown(window, { key: "Enter" });
    fireEvent.keyDown(window, { key: "Enter", ctrlKey: true });
    fireEvent.keyDown(window, { key: "Backspace", ctrlKey: true });
    expect(onAnswer.mock.calls).toEqual([[{ answer: "accept", content: null }], [{ answer: "decline" }]]);
  });

  it("ignores answers while the guard is active", () => {
    const onAnswer = show(false);
    for (const one of screen.getAllByRole("button")) fireEvent.click(one);
    fireEvent.keyDown(window, { key: "Enter", ctrlKey: true });
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
