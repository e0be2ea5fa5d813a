import { fireEvent, render, screen, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { CommandRequest } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { CommandRequestCard } from "./CommandRequestCard";

const added: CommandRequest = {
  command: "servers.add",
  what: { key: "proposal.servers.add", params: { server: { text: "local\u202e" } } },
  notes: [{ key: "proposal.servers.addTrusts", params: {} }],
  changes: [
    { pointer: "/command", concern: "shape", before: null, after: '"sh"' },
    { pointer: "/secrets/env/TOKEN", concern: "shape", before: null, after: '"••••••"' },
  ],
  files: [],
  seenFrom: {
    program: { name: "gatehousectl", path: "/usr/bin/gatehousectl", isKnown: true },
    parents: [{ name: "agent", path: "/usr/bin/agent", isKnown: true }],
  },
};

function show(request: CommandRequest, isAwake = true) {
  const onAnswer = vi.fn();
  render(
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={isAwake}>
        <CommandRequestCard request={request} onAnswer={onAnswer} />
      </AnswerGuardContext>
    </SpeechContext>,
  );
  return onAnswer;
}

describe("a proposed command", () => {
  it("says what it does, what it sets, and where it comes from", () => {
    show(added);
    const card = screen.getByRole("article", { name: "A program wants to run servers.add" });
    expect(card.textContent).toContain("Adds the server localU+202E.");
    expect(card.textContent).toContain("Trusts its read-only labels: its reads run without asking.");
    expect(card.textContent).toContain("via gatehousectl");
    expect(card.textContent).toContain("started by agent");
    const fields = within(card).getByRole("region", { name: "What it sets" });
    expect(fields.textContent).toContain('command"sh"');
    expect(fields.textContent).toContain("secrets › env › TOKEN");
    expect(fields.textContent).not.toContain("before");
  });

  it("shows what a change replaces, and what is written to files", () => {
    show({
      ...added,
      seenFrom: null,
      changes: [{ pointer: "/command", concern: "shape", before: '"npx"', after: '"sh"' }],
      files: [
        {
          path: "/home/me/.cursor/mcp.json",
          isNew: false,
          lines: [{ kind: "added", text: '"gatehouse": {\u200b', old: null, new: 3 }],
        },
      ],
    });
    const card = screen.getByRole("article");
    expect(card.textContent).toContain("from an unidentified program");
    expect(within(card).getByRole("region", { name: "What it sets" }).textContent).toContain('before "npx"');
    const diff = within(card).getByRole("region", { name: "Change of /home/me/.cursor/mcp.json" });
    expect(diff.textContent).toContain('"gatehouse": {U+200B');
  });

  it.each([
    [catalogues.en["ask.command.accept"], { answer: "accept", content: null }],
    [catalogues.en["ask.command.decline"], { answer: "decline" }],
  ])("answers with %s", (name, answer) => {
    const onAnswer = show(added);
    fireEvent.click(screen.getByRole("button", { name }));
    expect(onAnswer.mock.calls).toEqual([[answer]]);
  });

  it("takes no answer before its buttons are awake, and none by Enter", () => {
    const onAnswer = show(added, false);
    fireEvent.click(screen.getByRole("button", { name: catalogues.en["ask.command.accept"] }));
    fireEvent.keyDown(screen.getByRole("article"), { key: "Enter" });
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
