import { expect, it } from "vitest";

import { seen } from "./invisibleChars";

it("marks what cannot be seen", () => {
  expect(seen("a\u202eb\u200bc\n\u{e0041}")).toBe("a⟦U+202E⟧b⟦U+200B⟧c\n⟦U+E0041⟧");
});
