// The questions as they are shown. Pure: what happened goes in, what is to be seen comes out. A question
// that ends leaves a tombstone in its place, and nothing slides under the pointer: only the user moves on.

import type { ApprovalId, PendingApproval } from "../generated/types";

/** How a question ended. */
export type End = "allowed" | "denied" | "ended";

/** One place of the queue: a question, or what is left of one. */
export type Slot = { pending: PendingApproval; end: End | null };

export type Queue = {
  slots: readonly Slot[];
  /** Which one is shown. */
  at: number;
  /** Rises whenever what is shown is another thing: buttons sleep for a moment from then on. */
  change: number;
  /** The same for where all of them are shown. */
  anyChange: number;
};

export type Happening =
  /** These and no others wait. */
  | { is: "read"; pending: readonly PendingApproval[] }
  /** The user answered these. */
  | { is: "answered"; ids: readonly ApprovalId[]; end: "allowed" | "denied" }
  /** The user moves on, or back. */
  | { is: "moved"; by: 1 | -1 }
  /** The window came up or to the front. */
  | { is: "shown" };

export const emptyQueue: Queue = { slots: [], at: 0, change: 0, anyChange: 0 };

/** Questions of the queue that still wait. */
export function waiting({ slots }: Queue): readonly PendingApproval[] {
  return slots.filter(({ end }) => end === null).map(({ pending }) => pending);
}

export function next(queue: Queue, happening: Happening): Queue {
  const after = happened(queue, happening);
  const same = queue.slots.length === after.slots.length && queue.slots.every((slot, at) => looksLike(slot, after.slots[at]));
  return same ? after : { ...after, anyChange: queue.anyChange + 1 };
}

function happened(queue: Queue, happening: Happening): Queue {
  switch (happening.is) {
    case "read":
      return read(queue, happening.pending);
    case "answered": {
      // That a question is over may be read before it is known that this very answer ended it.
      const open = ({ end }: Slot) => end === null || end === "ended";
      const slots = queue.slots.map((slot) =>
        open(slot) && happening.ids.includes(slot.pending.id) ? { ...slot, end: happening.end } : slot,
      );
      return { ...queue, slots, change: queue.change + 1 };
    }
    case "moved":
      return moved(queue, happening.by);
    case "shown":
      return settled({ ...queue, change: queue.change + 1 });
  }
}

function read(queue: Queue, pending: readonly PendingApproval[]): Queue {
  const now = new Map(pending.map((one) => [one.id, one]));
  const kept = queue.slots.map((slot): Slot => {
    const still = now.get(slot.pending.id);
    now.delete(slot.pending.id);
    if (still) return renewed(slot, still);
    return slot.end === null ? { ...slot, end: "ended" } : slot;
  });
  const slots = [...kept, ...[...now.values()].map((one): Slot => ({ pending: one, end: null }))];
  if (slots.length === queue.slots.length && slots.every((slot, at) => slot === queue.slots[at])) return queue;
  const before = queue.slots[queue.at];
  return { ...queue, slots, change: looksLike(before, slots[queue.at]) ? queue.change : queue.change + 1 };
}

/** The slot of a question that waits. What did not change stays the same object, so that nothing is drawn or cut anew. */
function renewed(slot: Slot, still: PendingApproval): Slot {
  if (slot.end === null && alike(slot.pending, still)) return slot;
  const ask = alike(slot.pending.ask, still.ask) ? slot.pending.ask : still.ask;
  return { pending: { ...still, ask }, end: null };
}

/** Whether two slots show the same, apart from the passing of time. */
function looksLike(one: Slot | undefined, other: Slot | undefined): boolean {
  if (!one || !other) return false;
  return one.end === other.end && one.pending.waiting === other.pending.waiting && one.pending.ask === other.pending.ask;
}

/** Whether two readings say the same. Texts are compared as they are, and never written out anew. */
function alike(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const [own, others] = [Object.entries(one), Object.entries(other)];
  return own.length === others.length && own.every(([name, value]) => alike(value, (other as Record<string, unknown>)[name]));
}

/** Moves to the next question that waits, and takes the tombstones away that are left behind. */
function moved(queue: Queue, by: 1 | -1): Queue {
  const { slots, at } = queue;
  for (let step = at + by; step >= 0 && step < slots.length; step += by) {
    const slot = slots[step];
    if (slot?.end === null) return clean({ ...queue, at: step, change: queue.change + 1 });
  }
  // Nothing further that way: around, where the shown one is over.
  return slots[at]?.end === null ? queue : settled({ ...queue, change: queue.change + 1 });
}

/** Without tombstones but for the one that is shown. */
function clean(queue: Queue): Queue {
  const shown = queue.slots[queue.at];
  const slots = queue.slots.filter((slot) => slot.end === null || slot === shown);
  return { ...queue, slots, at: shown ? slots.indexOf(shown) : 0 };
}

/** Without any tombstone; at the question that was shown if it waits, else at the first one. */
function settled(queue: Queue): Queue {
  const shown = queue.slots[queue.at];
  const slots = queue.slots.filter(({ end }) => end === null);
  return { ...queue, slots, at: Math.max(0, shown ? slots.indexOf(shown) : 0) };
}

/** The questions that can be answered together with this one: of one client, tool and class. */
export function groupOf(all: readonly PendingApproval[], one: PendingApproval): readonly PendingApproval[] {
  const mark = groupMark(one);
  return mark === null ? [one] : all.filter((other) => groupMark(other) === mark);
}

/** What calls that can be answered together have in common; nothing for what is not a call. */
export function groupMark({ ask }: PendingApproval): string | null {
  if (ask.ask !== "call") return null;
  return JSON.stringify([ask.client.id, ask.server.id, ask.server.generation, ask.subject, ask.class.class]);
}
