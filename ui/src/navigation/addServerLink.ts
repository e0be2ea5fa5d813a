// A `gatehouse://` link that was opened and that the dialog for a new server has not shown yet.

import { useSyncExternalStore } from "react";

let link: string | null = null;
const listeners = new Set<() => void>();

function set(next: string | null) {
  link = next;
  for (const changed of listeners) changed();
}

/** Puts a link up, in the place of an earlier one. */
export function offerAddServerLink(next: string) {
  set(next);
}

/** The link is done with. */
export function dropAddServerLink() {
  set(null);
}

/** The link that waits. */
export function useAddServerLink(): string | null {
  return useSyncExternalStore(subscribe, () => link);
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => {
    listeners.delete(changed);
  };
}
