// What was handed over from outside the page for a new server, and what the dialog for one has not shown yet.

import { useSyncExternalStore } from "react";

/** A `gatehouse://` link that was opened, or the path of a bundle file that was dropped on the window. */
export type ServerOffer = { link: string } | { bundle: string };

let offer: ServerOffer | null = null;
const listeners = new Set<() => void>();

function set(next: ServerOffer | null) {
  offer = next;
  for (const changed of listeners) changed();
}

/** Puts an offer up, in the place of an earlier one. */
export function offerServer(next: ServerOffer) {
  set(next);
}

/** The offer is done with. */
export function dropServerOffer() {
  set(null);
}

/** The offer that waits. */
export function useServerOffer(): ServerOffer | null {
  return useSyncExternalStore(subscribe, () => offer);
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => {
    listeners.delete(changed);
  };
}
