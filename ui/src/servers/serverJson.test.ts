import { describe, expect, it } from "vitest";

import type { ServerDraft } from "../generated/types";
import entries from "./server-entries.json";
import { entryText } from "./serverJson";

/** Drafts and their texts; a test of the store reads each text back into its draft. */
const cases = entries as unknown as { text: string; draft: ServerDraft }[];

describe("a servers.json entry", () => {
  it.each(cases)("contains only what differs from the defaults: $draft.name", ({ text, draft }) => {
    expect(entryText(draft)).toBe(text);
  });
});
