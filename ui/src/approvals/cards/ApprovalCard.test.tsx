import { act, fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { CallApprovalRequest } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { ApprovalCard } from "./ApprovalCard";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { testApproval } from "../testApprovals";

const secret = { name: "api_key", text: '"••••"', masked: true, extra: false };

function card(
  differs: Partial<CallApprovalRequest>,
  veil = 0,
  onReveal: (argument: number) => Promise<string> = () => Promise.resolve('"sk-1"'),
  onAnswer = vi.fn(),
) {
  const pending = testApproval("a", differs);
  if (pending.request.kind !== "call") throw new Error("not a call");
  return (
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={true}>
        <ApprovalCard
          pending={pending}
          call={pending.request}
          keys={false}
          veil={veil}
          onAnswer={onAnswer}
          onReveal={onReveal}
        />
      </AnswerGuardContext>
    </SpeechContext>
  );
}

const press = async (name: string) => {
  await act(async () => {
    fireEvent.click(screen.getByRole("button", { name }));
    await Promise.resolve();
  });
};

describe("a grant that is not bound to a program yet", () => {
  it.each<[CallApprovalRequest["warnings"][number] & { warning: "unbound_grant" }, string]>([
    [
      { warning: "unbound_grant", grant: "g", what: { key: "rule.all", params: {} }, program: "/usr/bin/agent" },
      "allows this client everything on this server",
    ],
    [
      {
        warning: "unbound_grant",
        grant: "g",
        what: { key: "rule.prompt", params: { name: { text: "review" } } },
        program: "/usr/bin/agent",
      },
      "allows this client the prompt review on this server",
    ],
  ])("is shown with the program that it would be bound to", (warning, what) => {
    render(card({ warnings: [warning] }));
    const said = screen.getByText(/From now on from \/usr\/bin\/agent\?/);
    expect(said.textContent).toContain(what);
  });
});

describe("a masked argument", () => {
  const masked = { arguments: [secret] };

  it("is revealed on request and hidden again", async () => {
    const onReveal = vi.fn(() => Promise.resolve('"sk-1"'));
    render(card(masked, 0, onReveal));
    expect(screen.queryByText('"sk-1"')).toBeNull();
    await press("Show the secret in api_key");
    expect(onReveal.mock.calls).toEqual([[0]]);
    expect(screen.getByText('"sk-1"')).toBeTruthy();
    await press("Hide the secret in api_key");
    expect(screen.queryByText('"sk-1"')).toBeNull();
  });

  it.each<[string, Partial<CallApprovalRequest>, number]>([
    ["the window was put away or came up", masked, 1],
    ["the request changes", { ...masked, hash: "other" }, 0],
  ])("is hidden when %s", async (_, differs, veil) => {
    const { rerender } = render(card(masked));
    await press("Show the secret in api_key");
    expect(screen.getByText('"sk-1"')).toBeTruthy();
    rerender(card(differs, veil));
    expect(screen.queryByText('"sk-1"')).toBeNull();
    expect(screen.getByText("A secret is hidden")).toBeTruthy();
  });

  it("stays hidden if the reply arrives after it was hidden", async () => {
    let answer: (text: string) => void = () => undefined;
    const onReveal = () => new Promise<string>((done) => (answer = done));
    const { rerender } = render(card(masked, 0, onReveal));
    await press("Show the secret in api_key");
    rerender(card(masked, 1, onReveal));
    await act(async () => {
      answer('"sk-1"');
      await Promise.resolve();
    });
    expect(screen.queryByText('"sk-1"')).toBeNull();
  });

  it("shows why it cannot be revealed", async () => {
    const error = { code: "stale_answer", message: "The approval request has ended.", cause: null, hint: null };
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- user errors are data
    render(card(masked, 0, () => Promise.reject(error)));
    await press("Show the secret in api_key");
    expect(screen.getByRole("alert").textContent).toContain("The approval request has ended.");
  });
});

describe("an approval card", () => {
  it("shows the server's description and the peer process", () => {
    const seenFrom = {
      program: { name: "claude", path: "/usr/bin/claude", isKnown: true },
      parents: [
        { name: "zsh", path: "/bin/zsh", isKnown: false },
        { name: "gnome\u202eterm", path: "/x", isKnown: true },
      ],
    };
    const { container } = render(
      card({ client: { id: "c", name: "Claude Code", says: null, seenFrom, session: null } }),
    );
    const text = container.textContent;
    expect(text).toContain("My notes");
    expect(text).toContain("via claude");
    expect(text).toContain("/usr/bin/claude");
    expect(text).toContain("started by zsh ← gnomeU+202Eterm");
  });

  it("says when the peer process is unknown", () => {
    const { container } = render(
      card({ client: { id: "c", name: "Claude Code", says: null, seenFrom: null, session: null } }),
    );
    expect(container.textContent).toContain("from an unidentified program");
  });

  it("denies permanently with a button that names the whole rule", async () => {
    const onAnswer = vi.fn();
    render(card({}, 0, undefined, onAnswer));
    await press("More deny options");
    fireEvent.change(screen.getByLabelText("Reason (the model will see this)"), {
      target: { value: " Not that one " },
    });
    fireEvent.click(screen.getByLabelText("files: Write file"));
    fireEvent.click(screen.getByLabelText("Always"));
    fireEvent.click(screen.getByLabelText("For every client, not just Claude Code"));
    await press("Always deny files: Write file, for every client");
    expect(onAnswer.mock.calls).toEqual([
      [
        {
          answer: "deny",
          choice: { lifetime: "always", width: "tool", everyClient: true, conditions: [] },
          reason: "Not that one",
        },
      ],
    ]);
  });
});
