import { describe, expect, it } from "vitest";

import { recordedArguments, recordedPromptValues, triedItem } from "./recordedArguments";

describe("recorded arguments", () => {
  it.each([
    ['{"a":1}', '{"a":1}', null],
    [null, null, "not_kept"],
    ['{"a":"lo…', null, "cut"],
    ['{"token":"••••••"}', '{"token":"••••••"}', "masked"],
  ])("of %j: %j, %j", (text, filled, gap) => {
    expect(recordedArguments({ arguments: text })).toEqual({ text: filled, gap });
  });

  it.each([
    ['{"name":"greet","arguments":{"name":"Ana","n":1}}', { name: "Ana" }],
    ['{"name":"greet"}', {}],
    ['{"arguments":null}', {}],
    [null, {}],
  ])("of a prompt %j: %j", (text, values) => {
    expect(recordedPromptValues({ arguments: text })).toEqual(values);
  });
});

describe("what was tried", () => {
  it.each([
    [{ kind: "tool", name: "t" } as const, { kind: "tool", item: "t" }],
    [{ kind: "resource", uri: "a://b" } as const, { kind: "resource", item: "a://b" }],
    [{ kind: "prompt", name: "p" } as const, { kind: "prompt", item: "p" }],
    [{ kind: "completion", reference: "p" } as const, null],
    [{ kind: "request", method: "m" } as const, null],
  ])("%j: %j", (subject, item) => {
    expect(triedItem(subject)).toEqual(item);
  });
});
