// Messages that were begun and not sent, by conversation.

import { keepPageState, pageStateOf } from "../core/pageState";
import type { ChatImage } from "../generated/types";

export type Draft = { text: string; images: readonly ChatImage[] };

// Apart, since images are large and seldom change.
const textName = (key: string) => `chat.text/${key}`;
const imagesName = (key: string) => `chat.images/${key}`;

export function draftOf(key: string): Draft {
  return { text: pageStateOf(textName(key), ""), images: pageStateOf<readonly ChatImage[]>(imagesName(key), []) };
}

export function keepDraft(key: string, { text, images }: Draft): void {
  keepPageState(textName(key), text === "" ? undefined : text);
  keepPageState(imagesName(key), images.length === 0 ? undefined : images);
}
