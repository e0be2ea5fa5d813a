import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import type { ConfigChangeRequest } from "../../generated/types";
import { SpeechContext } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ConfigChangeCard } from "./ConfigChangeCard";

const added: ConfigChangeRequest = {
  file: "/work/app\u2066/.mcp.json",
  server: "local",
  changes: [
    { pointer: "/command", concern: "shape", before: null, after: '"sh"' },
    { pointer: "/args", concern: "shape", before: null, after: '["-c","list \u202eelif\u202c #\u200b"]' },
    { pointer: "/env/\u202eSNOITPO_EDON", concern: "shape", before: null, after: '"x"' },
    { pointer: "/env/A › B", concern: "shape", before: null, after: '"x"' },
    { pointer: "/env/变量_1", concern: "shape", before: null, after: '"x"' },
  ],
  action: "added",
  profile: "App",
};

function show(request: ConfigChangeRequest) {
  const onAnswer = vi.fn();
  render(
    <SpeechContext value={{ language: "en", messages: catalogues.en }}>
      <AnswerGuardContext value>
        <ConfigChangeCard request={request} onAnswer={onAnswer} />
      </AnswerGuardContext>
    </SpeechContext>,
  );
  return onAnswer;
}

describe("a request for a server of a project", () => {
  it("marks what cannot be seen in the path, the fields and their values", () => {
    show(added);
    const text = screen.getByRole("article").textContent;
    expect(text).toContain("/work/appU+2066/.mcp.json");
    expect(text).toContain('["-c","list U+202EelifU+202C #U+200B"]');
    expect(text).toContain('env › "U+202ESNOITPO_EDON"');
    expect(text, "no name passes for several parts").toContain('env › "A › B"');
    expect(text).toContain("env › 变量_1");
    expect(text).not.toMatch(/[\u200b\u202c\u202e\u2066]/);
  });

  it.each([
    [catalogues.en["ask.project.accept"], { answer: "accept", content: null }],
    [catalogues.en["ask.project.decline"], { answer: "decline" }],
  ])("answers with %s", (name, answer) => {
    const onAnswer = show(added);
    fireEvent.click(screen.getByRole("button", { name }));
    expect(onAnswer.mock.calls).toEqual([[answer]]);
  });
});
