import { describe, expect, it } from "vitest";

import { toUserError } from "./userError";

describe("toUserError", () => {
  it("returns errors of the core unchanged", () => {
    const error = { code: "paused", message: "Everything is paused.", cause: null, hint: null };
    expect(toUserError(error)).toBe(error);
    const withMessage = { ...error, message: { key: "error.paused", params: {} } };
    expect(toUserError(withMessage)).toBe(withMessage);
  });

  it.each([
    ["a text of the framework", "status not allowed", "status not allowed"],
    ["an error", new Error("broken"), "broken"],
    ["anything else", { code: 7 }, null],
    ["nothing", undefined, null],
  ])("wraps %s", (_, thrown, cause) => {
    expect(toUserError(thrown)).toMatchObject({ code: "internal", cause });
  });
});
