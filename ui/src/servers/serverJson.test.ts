import { describe, expect, it } from "vitest";

import type { ServerDraft } from "../generated/types";
import entries from "./server-entries.json";
import { entryText, withoutTypedSecrets } from "./serverJson";

/** Drafts and their texts; a test of the store reads each text back into its draft. */
const cases = entries as unknown as { text: string; draft: ServerDraft }[];

describe("a servers.json entry", () => {
  it.each(cases)("contains only what differs from the defaults: $draft.name", ({ text, draft }) => {
    expect(entryText(draft)).toBe(text);
  });
});

describe("what is typed as JSON", () => {
  const saved = '{"mail": {"env": {"API_TOKEN": "in the file", "REGION": "eu"}}}';
  it.each([
    ["a value in the file", saved, saved],
    ["another setting", '{"REGION": "us"}', '{"REGION": "us"}'],
    ["a secret", '{"API_TOKEN": "s3cr3t", "REGION": "us"}', '{"API_TOKEN": "", "REGION": "us"}'],
    ["a key", '{"MAIL_KEY": "s3cr3t"}', '{"MAIL_KEY": ""}'],
    ["a secret with quotes", String.raw`{"API_TOKEN" : "s3\"cr3t"}`, '{"API_TOKEN" : ""}'],
    ["a secret that is not typed to its end", '{"API_TOKEN": "s3cr\n}', '{"API_TOKEN": ""\n}'],
    ["a secret without quotes", '{"API_TOKEN": s3cr3t, "REGION": 1}', '{"API_TOKEN": "", "REGION": 1}'],
    ["a header", '{"Authorization": "Bearer s3cr3t"}', '{"Authorization": ""}'],
    ["a stored secret", '{"Authorization": "Bearer ${secret:T}"}', '{"Authorization": "Bearer ${secret:T}"}'],
    ["a secret beside a reference", '{"API_TOKEN": "s3cr3t ${x:"}', '{"API_TOKEN": ""}'],
    ["an address", '{"token": "https://as.example/token"}', '{"token": "https://as.example/token"}'],
    ["no text", '{"oauth": {"token": null}, "key": [true]}', '{"oauth": {"token": null}, "key": [true]}'],
  ])("is kept without a typed secret: %s", (_, text, kept) => {
    expect(withoutTypedSecrets(text, saved)).toBe(kept);
  });
});
