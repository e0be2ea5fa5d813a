import { act, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { RiskOpinion } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ApprovalModelsContext, askOnce, type ApprovalModels } from "../ApprovalModelsContext";
import { testApproval } from "../testApprovals";
import { ApprovalCard } from "./ApprovalCard";

const opinion: RiskOpinion = { level: "high", sentence: "Overwrites todo\u202e.md.", model: "OpenAI · gpt-x" };
const nothing = () => undefined;

function card(
  models: ApprovalModels,
  { model = "OpenAI · gpt-x", hash = "hash-a" }: { model?: string | null; hash?: string } = {},
) {
  const pending = { ...testApproval("a", { hash }), model };
  if (pending.request.kind !== "call") throw new Error("not a call");
  return (
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value>
        <ApprovalModelsContext value={models}>
          <ApprovalCard
            pending={pending}
            call={pending.request}
            keys={false}
            veil={0}
            onAnswer={nothing}
            onTrustLabels={nothing}
            onReveal={() => Promise.resolve("")}
          />
        </ApprovalModelsContext>
      </AnswerGuardContext>
    </SpeechContext>
  );
}

function modelsWith(answer: () => Promise<RiskOpinion | null>) {
  const asked = vi.fn<ApprovalModels["opinion"]>(answer);
  return { asked, models: askOnce({ generate: () => Promise.reject(new Error()), stop: nothing, opinion: asked }) };
}

const buttons = () => screen.getAllByRole("button").map((it) => [it.textContent, it.getAttribute("aria-disabled")]);

describe("a model's opinion", () => {
  it("comes after the card, as an opinion, and changes no button", async () => {
    let answer: (opinion: RiskOpinion) => void = nothing;
    const { models } = modelsWith(() => new Promise((done) => (answer = done)));
    render(card(models));
    const line = screen.getByTestId("opinion");
    expect(line.textContent).toBe("Asking OpenAI · gpt-x for its opinion…");
    expect(line.getAttribute("role")).toBe("status");
    const before = buttons();
    await act(async () => {
      answer(opinion);
      await Promise.resolve();
    });
    // The same element, so that its height stays and its change is heard.
    expect(screen.getByTestId("opinion")).toBe(line);
    expect(line.textContent).toBe("Opinion of OpenAI · gpt-x; you decide:  High risk. Overwrites todoU+202E.md.");
    expect(buttons()).toEqual(before);
  });

  it("is asked for once for each call that is shown", async () => {
    const { models, asked } = modelsWith(() => Promise.resolve(opinion));
    const { rerender, unmount } = render(card(models));
    await act(async () => Promise.resolve());
    rerender(card(models, { hash: "hash-b" }));
    await act(async () => Promise.resolve());
    unmount();
    render(card(models));
    await act(async () => Promise.resolve());
    expect(asked.mock.calls).toEqual([[{ id: "a", hash: "hash-a" }], [{ id: "a", hash: "hash-b" }]]);
  });

  it.each<[string, () => Promise<RiskOpinion | null>]>([
    ["there is none", () => Promise.resolve(null)],
    ["the model fails", () => Promise.reject(new Error("no"))],
  ])("says so where %s", async (_, answer) => {
    render(card(modelsWith(answer).models));
    await act(async () => Promise.resolve());
    expect(screen.getByTestId("opinion").textContent).toBe("OpenAI · gpt-x gave no opinion.");
  });

  it("is neither shown nor asked for where it is off", () => {
    const { models, asked } = modelsWith(() => Promise.resolve(opinion));
    render(card(models, { model: null }));
    expect(screen.queryByTestId("opinion")).toBeNull();
    expect(asked).not.toHaveBeenCalled();
  });
});
