// Passphrases as they are entered. They are read from their fields once, and the fields are emptied at once:
// nothing on the page keeps one.

import type { RefObject } from "react";

/** Fewest characters of a new passphrase, as the vault has it. */
const LEAST = 8;

export type PassphraseFault = "short" | "different";

/** What is wrong with a new passphrase that was entered twice. */
export function validatePassphrase(first: string, second: string): PassphraseFault | null {
  if (Array.from(first).length < LEAST) return "short";
  return first === second ? null : "different";
}

export type Field = RefObject<HTMLInputElement | null>;

/** Takes the values of these fields and clears them. */
export function takeValues(...fields: readonly Field[]): string[] {
  return fields.map(({ current }) => {
    if (!current) return "";
    const text = current.value;
    current.value = "";
    return text;
  });
}
