// Settings of a server that were filled in elsewhere than in its form, and their secrets, put together of what was
// entered. Pure.

import type { ComposedSecret, FieldSecret, ServerDraft } from "../generated/types";

/** Settings that are taken over into the form, where they can be tried and added. */
export type FilledSettings = { draft: ServerDraft; secrets: FieldSecret[] };

/** Each field with what it consists of; `entered` are values by the ids of their inputs. */
export function composedSecrets(
  secrets: readonly ComposedSecret[],
  entered: Readonly<Record<string, string>>,
): FieldSecret[] {
  return secrets.map(({ field, parts }) => ({
    field,
    value: parts.map((part) => ("text" in part ? part.text : (entered[part.input] ?? ""))).join(""),
  }));
}
