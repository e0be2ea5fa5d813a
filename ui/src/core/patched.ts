import type { Event, PendingAsk } from "../gen/types";

/**
 * The questions that wait after an event, which carries all that there is to know: they can be huge, so they are
 * not read again for each. Nothing for what is no event of a question.
 */
export function patched(waiting: readonly PendingAsk[], event: Event): readonly PendingAsk[] | null {
  if (event.event === "approval_requested" || event.event === "approval_changed") {
    const { pending } = event;
    const there = waiting.some(({ id }) => id === pending.id);
    return there ? waiting.map((one) => (one.id === pending.id ? pending : one)) : [...waiting, pending];
  }
  if (event.event === "approval_resolved" || event.event === "approval_expired") {
    return waiting.filter(({ id }) => id !== event.ask);
  }
  return null;
}
