import { act, fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { SamplingDraft } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ApprovalModelsContext, type ApprovalModels } from "../ApprovalModelsContext";
import { SamplingCard } from "./SamplingCard";

const written: SamplingDraft = {
  content: '{"role":"assistant","content":{"type":"text","text":"In May."},"model":"gpt-x","stopReason":"maxTokens"}',
  text: "In May.",
  model: "OpenAI · gpt-x",
  toolsLeftOut: false,
};

function card(
  models: Partial<ApprovalModels> | null,
  { model = "OpenAI · gpt-x", awake = true }: { model?: string | null; awake?: boolean } = {},
) {
  const onAnswer = vi.fn();
  const all = models && {
    generate: () => Promise.resolve(written),
    stop: vi.fn(),
    opinion: () => Promise.resolve(null),
    ...models,
  };
  render(
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value={awake}>
        <ApprovalModelsContext value={all}>
          <SamplingCard
            id="ask-1"
            model={model}
            request={{
              server: { id: "srv-1", generation: 1, name: "wiki", description: "", icon: "" },
              client: null,
              system: "Be short.",
              messages: ["user: When is the party?"],
              request: "{}",
            }}
            keys={false}
            onAnswer={onAnswer}
          />
        </ApprovalModelsContext>
      </AnswerGuardContext>
    </SpeechContext>,
  );
  return { onAnswer, stop: all?.stop };
}

const press = async (name: string) => {
  await act(async () => {
    fireEvent.click(screen.getByRole("button", { name }));
    await Promise.resolve();
  });
};
const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");
const type = (value: string) => {
  fireEvent.change(field(), { target: { value } });
};

describe("a sampling request", () => {
  it("sends a model's answer as it was written, only when the user sends it", async () => {
    const { onAnswer } = card({});
    await press("Let a model answer");
    expect(field().value).toBe("In May.");
    expect(screen.getByText("Written by OpenAI · gpt-x. Please check it.")).toBeTruthy();
    expect(onAnswer).not.toHaveBeenCalled();
    await press("Send");
    expect(onAnswer.mock.calls).toEqual([[{ answer: "accept", content: written.content }]]);
  });

  it("sends what the user made of a model's answer", async () => {
    const { onAnswer } = card({});
    await press("Let a model answer");
    type("In June.");
    expect(screen.getByText("Written by OpenAI · gpt-x, edited by you.")).toBeTruthy();
    await press("Send");
    const [[{ content }]] = onAnswer.mock.calls as [[{ content: string }]];
    expect(JSON.parse(content)).toMatchObject({
      role: "assistant",
      content: { type: "text", text: "In June." },
      model: "OpenAI · gpt-x",
    });
  });

  it("does not write over what the user wrote", () => {
    card({});
    type("Mine");
    expect(screen.queryByRole("button", { name: "Let a model answer" })).toBeNull();
    type("");
    expect(screen.getByRole("button", { name: "Let a model answer" })).toBeTruthy();
  });

  it("can be stopped while a model writes, and takes nothing of it then", async () => {
    let finish: (draft: SamplingDraft) => void = () => undefined;
    const generate = vi.fn<ApprovalModels["generate"]>(() => new Promise((done) => (finish = done)));
    const { stop, onAnswer } = card({ generate });
    await press("Let a model answer");
    expect(field().readOnly).toBe(true);
    await press("Send");
    expect(onAnswer).not.toHaveBeenCalled();
    await press("Stop");
    expect(stop).toHaveBeenCalledWith(generate.mock.calls[0]?.[1]);
    await act(async () => {
      finish(written);
      await Promise.resolve();
    });
    expect(field().value).toBe("");
  });

  it("shows in words why a model did not answer", async () => {
    const error = { code: "model_failed", message: "OpenAI refused the key.", cause: null, hint: null };
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- user errors are data
    card({ generate: () => Promise.reject(error) });
    await press("Let a model answer");
    expect(screen.getByRole("alert").textContent).toContain("OpenAI refused the key.");
    expect(screen.getByRole("button", { name: "Let a model answer" })).toBeTruthy();
  });

  it("goes to no model while the answer guard is active", async () => {
    const generate = vi.fn(() => Promise.resolve(written));
    card({ generate }, { awake: false });
    await press("Let a model answer");
    expect(generate).not.toHaveBeenCalled();
  });

  it("offers no model where none is chosen", () => {
    card({}, { model: null });
    expect(screen.queryByRole("button", { name: "Let a model answer" })).toBeNull();
    expect(screen.getByText(/Gatehouse doesn't use a model/)).toBeTruthy();
  });
});
