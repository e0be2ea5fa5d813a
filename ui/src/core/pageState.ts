// What the user has begun in this window and not finished, such as filters and drafts. The page ends with its window: the
// shell keeps this in memory, and the next page begins with it. Secrets must not be among it.

import { useEffect, useState, type Dispatch, type SetStateAction } from "react";

import { toUserError, type Platform } from "../platform";

type Shell = Pick<Platform, "pageState" | "setPageState">;

/** How long changes are gathered before the shell is told, in milliseconds. */
const BATCH_MS = 100;

const values = new Map<string, unknown>();
const untold = new Set<string>();
let shell: Shell | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Takes over what the page before left, before anything is rendered. From then on the shell is told of changes. */
export async function restorePageState(from: Shell): Promise<void> {
  shell = from;
  window.addEventListener("pagehide", flushPageState);
  const left = await from.pageState().catch(() => ({}));
  for (const [name, text] of Object.entries(left)) {
    try {
      values.set(name, JSON.parse(text));
    } catch {
      // What cannot be read must not keep the window from opening: it begins without it.
    }
  }
}

/** The value with this name, which must be used with one type only; the first value where there is none. */
export function pageStateOf<Value>(name: string, first: Value): Value {
  return values.has(name) ? (values.get(name) as Value) : first;
}

/** Keeps a value of plain data; removes it where undefined. */
export function keepPageState(name: string, value: unknown): void {
  if (values.get(name) === value) return;
  if (value === undefined) values.delete(name);
  else values.set(name, value);
  if (shell === null) return;
  untold.add(name);
  timer ??= setTimeout(flushPageState, BATCH_MS);
}

/**
 * A state that outlives its component and the window, as long as it differs from the first value. It begins with `given`,
 * where there is one, in place of what was kept. The name must stay the same.
 */
export function usePageState<Value>(
  name: string,
  first: Value,
  given?: Value,
): [Value, Dispatch<SetStateAction<Value>>] {
  const [value, set] = useState(() => given ?? pageStateOf(name, first));
  const [initial] = useState(first);
  useEffect(() => {
    keepPageState(name, value === initial ? undefined : value);
  }, [name, value, initial]);
  return [value, set];
}

/** Tells the shell at once what it has not been told. */
export function flushPageState() {
  clearTimeout(timer);
  timer = undefined;
  for (const name of untold) {
    const value = values.get(name);
    shell?.setPageState(name, value === undefined ? null : JSON.stringify(value)).catch(async (thrown: unknown) => {
      const { showError } = await import("./useAction");
      showError(toUserError(thrown));
    });
  }
  untold.clear();
}
