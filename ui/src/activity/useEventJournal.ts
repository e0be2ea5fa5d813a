import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { Event, EventEnvelope, UserError } from "../generated/types";
import { toUserError } from "../platform";

/** How many events are kept, the newest; the core keeps as many. */
const CAPACITY = 5_000;

/** How long events are gathered before they are shown, in milliseconds. */
const GATHER = 60;

/** Kinds of events that the journal leaves out, because they would push everything else out. */
const frequent: readonly Event["event"][] = ["log_line", "call_progress", "conversation_delta", "conversation_changed"];

type Journal = {
  /** Oldest first; absent before the first reply. */
  events: readonly EventEnvelope[] | undefined;
  error: UserError | null;
};

/** The journal, and what comes after it; read again where something was missed. */
export function useEventJournal(): Journal {
  const { platform, subscribe } = useCore();
  const [events, setEvents] = useState<readonly EventEnvelope[]>();
  const [error, setError] = useState<UserError | null>(null);
  useEffect(() => {
    let gone = false;
    let known: readonly EventEnvelope[] | undefined;
    let gathered: EventEnvelope[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (journal: readonly EventEnvelope[]) => {
      known = withNewer(journal, gathered);
      gathered = [];
      setEvents(known);
    };
    const showGathered = () => {
      timer = undefined;
      if (known) show(known);
      // They wait for the journal.
      else gathered = gathered.slice(-CAPACITY);
    };
    const read = () => {
      platform.command("events.list", {}).then(
        (journal) => {
          if (gone) return;
          show(withNewer(journal, known ?? []));
          setError(null);
        },
        (thrown: unknown) => {
          if (!gone) setError(toUserError(thrown));
        },
      );
    };
    read();
    const stop = subscribe((envelope) => {
      if (!envelope) read();
      else if (!frequent.includes(envelope.event.event)) {
        gathered.push(envelope);
        timer ??= setTimeout(showGathered, GATHER);
      }
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      stop();
    };
  }, [platform, subscribe]);
  return { events, error };
}

/** Events with those of others that came after the last of them; only the newest. */
function withNewer(events: readonly EventEnvelope[], others: readonly EventEnvelope[]): readonly EventEnvelope[] {
  const last = events.at(-1)?.seq ?? 0;
  const newer = others.filter(({ seq }) => seq > last);
  return newer.length === 0 ? events : [...events, ...newer].slice(-CAPACITY);
}
