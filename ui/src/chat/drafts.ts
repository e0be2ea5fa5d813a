// Messages that were begun and not sent, by conversation, for as long as the window is open.

import type { ChatImage } from "../generated/types";

export type Draft = { text: string; images: readonly ChatImage[] };

const empty: Draft = { text: "", images: [] };
const drafts = new Map<string, Draft>();

export function draftOf(key: string): Draft {
  return drafts.get(key) ?? empty;
}

export function keepDraft(key: string, draft: Draft): void {
  if (draft.text === "" && draft.images.length === 0) drafts.delete(key);
  else drafts.set(key, draft);
}
