import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { ClientAccessRequest, PeerProcess } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ClientAccessCard } from "./ClientAccessCard";

const program = (name: string): PeerProcess => ({
  program: { name, path: `/usr/bin/${name}`, isKnown: true },
  parents: [],
});

const unknown: ClientAccessRequest = {
  says: "Agent\u202e",
  clientId: "https://agent.example/client.json",
  redirectUri: "http://127.0.0.1:51000/callback",
  server: null,
  knownAs: null,
  resembles: null,
  seenFrom: program("firefox"),
  receiver: program("agent"),
};

function show(request: ClientAccessRequest, awake = true) {
  const onAnswer = vi.fn();
  render(
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={awake}>
        <ClientAccessCard request={request} keys onAnswer={onAnswer} />
      </AnswerGuardContext>
    </SpeechContext>,
  );
  return onAnswer;
}

describe("a request for access", () => {
  it("shows who asks, where the answer goes, and that nothing is verified", () => {
    show(unknown);
    expect(screen.getByRole("heading").textContent).toMatch(/^Agent.*U\+202E.* asks for access$/);
    const text = screen.getByRole("article").textContent;
    for (const part of [unknown.clientId, unknown.redirectUri, "firefox", "agent", "All servers", "not verified"]) {
      expect(text).toContain(part);
    }
    expect(screen.queryByRole("list")).toBeNull();
  });

  it("warns of a client that has permissions, and of a receiver that isn't known", () => {
    show({ ...unknown, knownAs: "My agent", receiver: null, server: "files" });
    const warnings = screen.getAllByRole("listitem").map(({ textContent }) => textContent);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain("My agent");
    expect(screen.getByRole("article").textContent).toContain("files");
  });

  it("warns of a name like that of another client", () => {
    show({ ...unknown, resembles: "Agent" });
    expect(screen.getByRole("listitem").textContent).toContain("“Agent”, but it is another client");
  });

  it.each([
    ["Allow", { answer: "accept", content: null }],
    ["Deny", { answer: "decline" }],
  ])("answers with %s", (name, answer) => {
    const onAnswer = show(unknown);
    fireEvent.click(screen.getByRole("button", { name }));
    expect(onAnswer.mock.calls).toEqual([[answer]]);
  });

  it("takes no answer while the guard is on", () => {
    const onAnswer = show(unknown, false);
    fireEvent.click(screen.getByRole("button", { name: "Allow" }));
    fireEvent.keyDown(window, { key: "Enter", ctrlKey: true });
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
