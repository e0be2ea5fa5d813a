// The approval queue as it is shown, as a pure reducer. A request that
// ends stays in its place as resolved, so nothing moves under the pointer: only the user moves on.

import type { ApprovalId, PendingApproval, ServerId } from "../generated/types";

/** How an approval request ended. */
export type Resolution = "allowed" | "denied" | "ended";

/** One place of the queue: a pending request (`end` is null) or a resolved one. */
export type QueueSlot = { pending: PendingApproval; end: Resolution | null };

export type ApprovalQueue = {
  slots: readonly QueueSlot[];
  /** Index of the slot that is shown. */
  at: number;
  /** Counts changes of the shown slot; each restarts the answer guard. */
  change: number;
  /** The same for a view of all slots. */
  anyChange: number;
  /** Servers whose labels the user has just trusted, or ceased to; their calls are judged again. */
  relabelled: readonly ServerId[];
};

export type QueueEvent =
  /** Exactly these are pending. */
  | { is: "read"; pending: readonly PendingApproval[] }
  /** The user answered these. */
  | { is: "answered"; ids: readonly ApprovalId[]; end: "allowed" | "denied" }
  /** The user trusts the labels of a server, or ceases to. */
  | { is: "relabelled"; server: ServerId }
  /** The user moves on, or back. */
  | { is: "moved"; by: 1 | -1 }
  /** The user wants to see this one. */
  | { is: "opened"; id: ApprovalId }
  /** The window came up or to the front. */
  | { is: "shown" };

export const emptyQueue: ApprovalQueue = { slots: [], at: 0, change: 0, anyChange: 0, relabelled: [] };

/** The pending requests of the queue. */
export function pendingIn({ slots }: ApprovalQueue): readonly PendingApproval[] {
  return slots.filter(({ end }) => end === null).map(({ pending }) => pending);
}

export function reduceQueue(queue: ApprovalQueue, happening: QueueEvent): ApprovalQueue {
  const after = applyEvent(queue, happening);
  const same =
    queue.slots.length === after.slots.length && queue.slots.every((slot, at) => isSameView(slot, after.slots[at]));
  return same ? after : { ...after, anyChange: queue.anyChange + 1 };
}

function applyEvent(queue: ApprovalQueue, happening: QueueEvent): ApprovalQueue {
  switch (happening.is) {
    case "read":
      return read(queue, happening.pending);
    case "answered": {
      // The end of a request may be read before the reply to the answer that ended it.
      const open = ({ end }: QueueSlot) => end === null || end === "ended";
      const slots = queue.slots.map((slot) =>
        open(slot) && happening.ids.includes(slot.pending.id) ? { ...slot, end: happening.end } : slot,
      );
      return { ...queue, slots, change: queue.change + 1 };
    }
    case "relabelled":
      return { ...queue, relabelled: [...queue.relabelled, happening.server] };
    case "moved":
      return moved(queue.relabelled.length === 0 ? queue : { ...queue, relabelled: [] }, happening.by);
    case "opened": {
      const at = queue.slots.findIndex(({ pending, end }) => pending.id === happening.id && end === null);
      return at === -1 ? queue : withoutResolvedExceptShown({ ...queue, at, change: queue.change + 1, relabelled: [] });
    }
    case "shown":
      // The guard of the window starts again when the last pending request ended and its call asks again.
      return withoutResolved({ ...queue, change: queue.change + 1 });
  }
}

function read(queue: ApprovalQueue, pending: readonly PendingApproval[]): ApprovalQueue {
  const now = new Map(pending.map((one) => [one.id, one]));
  const known = new Set(queue.slots.map(({ pending: { id } }) => id));
  const kept = queue.slots.map((slot): QueueSlot => {
    const still = now.get(slot.pending.id);
    now.delete(slot.pending.id);
    if (still) return refreshSlot(slot, still);
    const again = judgedAgain(
      queue,
      slot,
      [...now.values()].filter(({ id }) => !known.has(id)),
    );
    if (again) {
      now.delete(again.id);
      return { pending: again, end: null };
    }
    return slot.end === null ? { ...slot, end: "ended" } : slot;
  });
  const slots = [...kept, ...[...now.values()].map((one): QueueSlot => ({ pending: one, end: null }))];
  if (slots.length === queue.slots.length && slots.every((slot, at) => slot === queue.slots[at])) return queue;
  const before = queue.slots[queue.at];
  return { ...queue, slots, change: isSameView(before, slots[queue.at]) ? queue.change : queue.change + 1 };
}

/**
 * The new request for the call of a slot, where the user's own trust in labels made the core judge the call again:
 * it takes the slot's place. Every other request that ends leaves its place to nobody.
 */
function judgedAgain(
  { relabelled }: ApprovalQueue,
  { pending: { request }, end }: QueueSlot,
  fresh: readonly PendingApproval[],
): PendingApproval | undefined {
  if (request.kind !== "call" || end === "allowed" || end === "denied") return undefined;
  if (!relabelled.includes(request.server.id)) return undefined;
  return fresh.find(({ request: other }) => other.kind === "call" && other.hash === request.hash);
}

/** The slot of a pending request. Unchanged parts stay the same objects, so that nothing is rendered again. */
function refreshSlot(slot: QueueSlot, still: PendingApproval): QueueSlot {
  if (slot.end === null && deepEqual(slot.pending, still)) return slot;
  const request = deepEqual(slot.pending.request, still.request) ? slot.pending.request : still.request;
  return { pending: { ...still, request }, end: null };
}

/** Whether two slots look the same, apart from times. */
function isSameView(one: QueueSlot | undefined, other: QueueSlot | undefined): boolean {
  if (!one || !other) return false;
  return (
    one.end === other.end &&
    one.pending.waiting === other.pending.waiting &&
    one.pending.model === other.pending.model &&
    one.pending.request === other.pending.request
  );
}

/** Deep equality of JSON values, without serialising large texts. */
function deepEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const [own, others] = [Object.entries(one), Object.entries(other)];
  return (
    own.length === others.length &&
    own.every(([name, value]) => deepEqual(value, (other as Record<string, unknown>)[name]))
  );
}

/** Moves to the next pending request and removes resolved ones that are left behind. */
function moved(queue: ApprovalQueue, by: 1 | -1): ApprovalQueue {
  const { slots, at } = queue;
  for (let step = at + by; step >= 0 && step < slots.length; step += by) {
    const slot = slots[step];
    if (slot?.end === null) return withoutResolvedExceptShown({ ...queue, at: step, change: queue.change + 1 });
  }
  // No further one in that direction: wrap around if the shown one is resolved.
  return slots[at]?.end === null ? queue : withoutResolved({ ...queue, change: queue.change + 1 });
}

/** Without resolved slots, except the shown one. */
function withoutResolvedExceptShown(queue: ApprovalQueue): ApprovalQueue {
  const shown = queue.slots[queue.at];
  const slots = queue.slots.filter((slot) => slot.end === null || slot === shown);
  return { ...queue, slots, at: shown ? slots.indexOf(shown) : 0 };
}

/** Without resolved slots; shows the same request if it is pending, else the first. */
function withoutResolved(queue: ApprovalQueue): ApprovalQueue {
  const shown = queue.slots[queue.at];
  const slots = queue.slots.filter(({ end }) => end === null);
  return { ...queue, slots, at: Math.max(0, shown ? slots.indexOf(shown) : 0) };
}

/** The requests that can be answered together with this one: same client, tool and access class. */
export function answeredTogether(all: readonly PendingApproval[], one: PendingApproval): readonly PendingApproval[] {
  const mark = groupKey(one);
  return mark === null ? [one] : all.filter((other) => groupKey(other) === mark);
}

/** The key of calls that can be answered together; null for other requests. */
export function groupKey({ request }: PendingApproval): string | null {
  if (request.kind !== "call") return null;
  return JSON.stringify([
    request.client.id,
    request.server.id,
    request.server.generation,
    request.subject,
    request.class.class,
  ]);
}
