// The arguments of a call as one state that a form and a JSON editor show: the text is what is sent, and the value what the
// form shows of it. Neither takes anything from the other that it could not hold. Pure.

import { withoutEmpty } from "../forms/argumentsSchema";

export type ArgumentsState = {
  text: string;
  /** The text as a value; of a text that a form cannot hold, what stood there before. */
  value: unknown;
  /** Another one whenever the text does not come from the editor. */
  round: number;
  /** What the text comes from. */
  source: "start" | "form" | "json";
};

/** Why a form cannot hold a text: it is no JSON, no object, or has numbers that it would round. */
type FormLock = "broken" | "not_object" | "numbers";

/** The state with these arguments. */
export function startWith(value: unknown): ArgumentsState {
  return { text: pretty(value ?? {}), value: value ?? {}, round: 0, source: "start" };
}

/** Another text in place of the whole. */
export function withText(state: ArgumentsState, text: string): ArgumentsState {
  return { ...fromEditor(state, text), round: state.round + 1 };
}

/** The state once the editor has this text. */
export function fromEditor(state: ArgumentsState, text: string): ArgumentsState {
  const value: unknown = formLock(text) === null ? JSON.parse(text) : state.value;
  return { ...state, text, value, source: "json" };
}

/** The state once the form has this value. Defaults that a form fills in by itself do not change what was typed as JSON. */
export function fromForm(state: ArgumentsState, schema: unknown, value: unknown, isByUser: boolean): ArgumentsState {
  if (formLock(state.text) !== null || (!isByUser && state.source === "json")) return state;
  const next = withoutEmpty(schema, value) ?? {};
  if (JSON.stringify(next) === JSON.stringify(state.value)) return state;
  return { text: pretty(next), value: next, round: state.round + 1, source: "form" };
}

/** Why a form cannot hold a text; null if it can. */
export function formLock(text: string): FormLock | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "broken";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not_object";
  const withoutStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return /\d{16}|\d[eE]/.test(withoutStrings) ? "numbers" : null;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
