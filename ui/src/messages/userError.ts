// Errors of the core in words. Messages are rendered in the reader's language. A plain text is the same in every language,
// so readers of other languages than English get the text of the error's code first if the error's message is plain.

import type { UserError, UserText } from "../generated/types";
import type { Translate } from ".";

export type UserErrorText = {
  /** What happened. */
  title: string;
  /** Why, and what to do. */
  details: readonly string[];
};

/** An error with a title in the reader's language. */
export function userErrorText(t: Translate, { code, message, cause, hint }: UserError): UserErrorText {
  const more = [cause, hint].flatMap((text) => (text === null || text === "" ? [] : [textLine(t, text)]));
  return t.language === "en" || typeof message !== "string"
    ? { title: textLine(t, message), details: more }
    : { title: t(`error.${code}`), details: [message, ...more] };
}

/** A text of the core in the reader's language. */
export function textLine(t: Translate, text: UserText): string {
  return typeof text === "string" ? text : t.render(text);
}

/** What tells one error from another. */
export function userErrorId({ code, message }: UserError): string {
  return JSON.stringify([code, message]);
}

/** Errors with how often each is among them, in the order in which they come first. */
export function countErrors(errors: readonly UserError[]): { error: UserError; count: number }[] {
  const counted = new Map<string, { error: UserError; count: number }>();
  for (const error of errors) {
    const id = userErrorId(error);
    counted.set(id, { error, count: (counted.get(id)?.count ?? 0) + 1 });
  }
  return [...counted.values()];
}

/** An error in one line. */
export function userErrorLine(t: Translate, error: UserError): string {
  const { title, details } = userErrorText(t, error);
  return [title, ...details].join(" ");
}
