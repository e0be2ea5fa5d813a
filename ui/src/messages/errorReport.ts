// An error as text to paste into a report: in English, with its code and everything that is known about its cause. Errors
// of the core contain no secrets.

import type { UserError } from "../generated/types";
import { translator } from ".";
import { loadCatalogue } from "./loadCatalogue";
import { textLine } from "./userError";

/** Of this application; set by the build. */
declare const APP_VERSION: string;

export async function errorReport(
  { code, message, cause, hint }: UserError,
  system = navigator.userAgent,
): Promise<string> {
  const english = translator({ language: "en", messages: await loadCatalogue("en") });
  const line = (label: string, text: typeof cause) =>
    text === null || text === "" ? [] : [`${label}: ${textLine(english, text)}`];
  return [
    `Gatehouse ${APP_VERSION}, ${system}`,
    `Code: ${code}`,
    ...line("Error", message),
    ...line("Cause", cause),
    ...line("Hint", hint),
  ].join("\n");
}
