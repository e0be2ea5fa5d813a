import { describe, expect, it } from "vitest";

import { asProblem } from "./userError";

describe("what was thrown", () => {
  it("is a problem already when the core answers", () => {
    const problem = { code: "paused", message: "Everything is paused.", cause: null, hint: null };
    expect(asProblem(problem)).toBe(problem);
  });

  it.each([
    ["a text of the framework", "status not allowed", "status not allowed"],
    ["an error", new Error("broken"), "broken"],
    ["anything else", { code: 7 }, null],
    ["nothing", undefined, null],
  ])("becomes one when it is %s", (_, thrown, cause) => {
    expect(asProblem(thrown)).toMatchObject({ code: "internal", cause });
  });
});
