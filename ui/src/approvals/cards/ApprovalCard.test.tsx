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
  { onTrustLabels = vi.fn(), awake = true } = {},
) {
  const pending = testApproval("a", differs);
  if (pending.request.kind !== "call") throw new Error("not a call");
  return (
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={awake}>
        <ApprovalCard
          pending={pending}
          call={pending.request}
          keys={false}
          veil={veil}
          onAnswer={onAnswer}
          onTrustLabels={onTrustLabels}
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

describe("arguments with parts", () => {
  const argument = (name: string, value: unknown) => ({
    name,
    text: JSON.stringify(value),
    masked: false,
    extra: false,
  });

  it("are open until they are folded, and have every value", () => {
    const options = { deep: [{ id: 1 }, "two"], json: '{"a":1}' };
    const { container } = render(card({ arguments: [argument("options", options)] }));
    const folds = [...container.querySelectorAll("details")];
    expect(folds.map((it) => it.open)).toEqual([true, true, true]);
    const text = container.textContent;
    for (const part of ['"deep":', "[0]", '"id": 1', '[1] "two"', String.raw`"json": "{\"a\":1}"`]) {
      expect(text).toContain(part);
    }
    expect(text).toContain("2 fields");
    expect(text).toContain("2 items");
  });

  it("are shown as a change where they are an edit, and as sent on request", async () => {
    const edits = [{ oldText: "let x = 1;", newText: "let y = 1;\u202e", note: "kept" }];
    const { container } = render(
      card({ arguments: [argument("path", "/a"), argument("edits", edits), argument("old_string", "alone")] }),
    );
    const change = screen.getByRole("group", { name: "Change from oldText to newText" });
    expect(change.querySelector("[data-kind=removed]")?.textContent).toContain("let x = 1;");
    expect(change.querySelector("[data-kind=added]")?.textContent).toContain("let y = 1;U+202E");
    expect([...change.querySelectorAll("strong")].map((it) => it.textContent)).toEqual(["x", "y", "U+202E"]);
    expect(container.textContent).toContain('"note": "kept"');
    expect(container.textContent).toContain('"alone"');
    await press("Show as sent");
    expect(screen.queryByRole("group", { name: /^Change/ })).toBeNull();
    expect(container.textContent).toContain('"oldText":"let x = 1;"');
    await press("Show formatted");
    expect(screen.getByRole("group", { name: "Change from oldText to newText" })).toBeTruthy();
  });

  it("keep the masks of both sides of a change", async () => {
    const masked = (name: string) => ({ ...argument(name, "••••"), masked: true });
    const onReveal = vi.fn((at: number) => Promise.resolve(at === 0 ? '"now"' : '"old"'));
    const { container } = render(card({ arguments: [masked("new_string"), masked("old_string")] }, 0, onReveal));
    await press("Show the secret in old_string");
    expect(onReveal.mock.calls).toEqual([[1]]);
    expect(container.querySelector("[data-kind=removed]")?.textContent).toContain("old");
    await press("Show the secret in new_string");
    expect(container.querySelector("[data-kind=added]")?.textContent).toContain("now");
  });

  it("are as they were where there is nothing to format", () => {
    render(card({ arguments: [argument("path", "/a"), argument("count", 7)] }));
    expect(screen.queryByRole("button", { name: "Show as sent" })).toBeNull();
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
      card({ client: { id: "c", name: "Claude Code", says: null, seenFrom, session: null, byUser: false } }),
    );
    const text = container.textContent;
    expect(text).toContain("My notes");
    expect(text).toContain("via claude");
    expect(text).toContain("/usr/bin/claude");
    expect(text).toContain("started by zsh ← gnomeU+202Eterm");
  });

  it.each<[CallApprovalRequest["class"], string, string | null, boolean]>([
    [
      { class: "write", reason: { by: "untrusted_label" }, reachesOutside: false },
      "May make changes · the server says it only reads, and you don't trust its labels",
      "Trust the read-only labels of files",
      true,
    ],
    [
      { class: "read", reason: { by: "trusted_label" }, reachesOutside: false },
      "Read-only · the server says so, and you trust its labels",
      "Stop trusting the read-only labels of files",
      false,
    ],
    [
      { class: "write", reason: { by: "annotation", hint: "destructiveHint" }, reachesOutside: false },
      "Can make changes · the server says so",
      null,
      false,
    ],
    [
      { class: "write", reason: { by: "default" }, reachesOutside: false },
      "Can make changes · nothing says that it only reads",
      null,
      false,
    ],
  ])("says what the class %j means, with its labels to trust", async (known, text, button, trusted) => {
    const onTrustLabels = vi.fn();
    const { container, rerender } = render(card({ class: known }, 0, undefined, undefined, { onTrustLabels }));
    expect(container.textContent).toContain(text);
    if (button === null) {
      expect(screen.queryByRole("button", { name: /read-only labels/ })).toBeNull();
      return;
    }
    await press(button);
    expect(onTrustLabels.mock.calls).toEqual([[trusted]]);
    rerender(card({ class: known }, 0, undefined, undefined, { onTrustLabels, awake: false }));
    await press(button);
    expect(onTrustLabels, "the guard of answers holds for labels").toHaveBeenCalledTimes(1);
  });

  it("says when the peer process is unknown", () => {
    const { container } = render(
      card({ client: { id: "c", name: "Claude Code", says: null, seenFrom: null, session: null, byUser: false } }),
    );
    expect(container.textContent).toContain("from an unidentified program");
  });

  it("approves a changed definition for good, beside what changed", async () => {
    const onAnswer = vi.fn();
    const changed: Partial<CallApprovalRequest> = {
      warnings: [{ warning: "definition_changed" }],
      changes: [{ pointer: "/inputSchema/a~1b", concern: "words", before: '"Acts kindly."', after: '"Acts badly."' }],
    };
    const { container, rerender } = render(card(changed, 0, undefined, onAnswer));
    const what = screen.getByRole("region", { name: "What changed" }).textContent;
    expect(what).toContain('inputSchema › "a/b"');
    expect(what).toContain("Acts badly.");
    expect(container.textContent).toContain("“Always” approves this definition.");
    expect(container.textContent).not.toContain("You can't choose “Always”");
    await press("More allow options");
    fireEvent.click(screen.getByLabelText("Always"));
    await press("Always allow files: Write file, for Claude Code");
    expect(onAnswer.mock.calls).toEqual([
      [{ answer: "allow", choice: { lifetime: "always", width: "tool", everyClient: false, conditions: [] } }],
    ]);

    rerender(card({ ...changed, choices: [] }));
    expect(container.textContent).toContain("You can't choose “Always” because of this.");
    expect(container.textContent).not.toContain("approves this definition");
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
