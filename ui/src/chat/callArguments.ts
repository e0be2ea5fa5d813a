// Arguments of a call in a conversation, as requests for approval show them. Pure.

import type { ShownArgument } from "../generated/types";
import { seen } from "../components/invisibleChars";

/** The members of a JSON object, each with its text as it was written; `null` for a text that is no JSON object. */
export function shownArguments(text: string): ShownArgument[] | null {
  if (text.trim() === "") return [];
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof whole !== "object" || whole === null || Array.isArray(whole)) return null;
  return memberTexts(text).map(({ name, value }) => ({
    name: seen(name),
    text: seen(value),
    masked: false,
    extra: false,
  }));
}

/** A string, a bracket, a comma or a colon, or another scalar. */
const TOKEN = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+)/gy;

/** The members of an object, whose text is valid JSON. */
function memberTexts(text: string): { name: string; value: string }[] {
  const members: { name: string; value: string }[] = [];
  let depth = 0;
  let name: string | null = null;
  let start = 0;
  let end = 0;
  const finish = () => {
    if (name !== null) members.push({ name, value: text.slice(start, end).trim() });
    name = null;
  };
  for (const { 0: whole, 1: token = "", index } of text.matchAll(TOKEN)) {
    const after = index + whole.length;
    if (depth === 1 && (token === "," || token === "}")) finish();
    if (depth === 1 && name === null && token.startsWith('"')) {
      name = JSON.parse(token) as string;
      start = after;
    } else if (depth === 1 && token === ":") start = after;
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    end = after;
  }
  return members;
}
