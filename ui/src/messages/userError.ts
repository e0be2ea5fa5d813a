// Errors of the core in words. The core writes its sentences in English; in other languages the text of the error's code
// comes first and the core's sentences are the details.

import type { UserError } from "../generated/types";
import type { Translate } from ".";

export type UserErrorText = {
  /** What happened. */
  title: string;
  /** Why, and what to do. */
  details: readonly string[];
};

/** An error with a title in the reader's language. */
export function userErrorText(t: Translate, { code, message, cause, hint }: UserError): UserErrorText {
  const more = [cause, hint].filter((text) => text !== null && text !== "") as string[];
  return t.language === "en"
    ? { title: message, details: more }
    : { title: t(`error.${code}`), details: [message, ...more] };
}

/** An error in one line. */
export function userErrorLine(t: Translate, error: UserError): string {
  const { title, details } = userErrorText(t, error);
  return [title, ...details].join(" ");
}
