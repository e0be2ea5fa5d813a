import { useCallback, useEffect, useRef, useState } from "react";

import { everyCall } from "../core/callFilter";
import { useCore } from "../core/CoreProvider";
import type { CallFilter, CallRecord, UserError } from "../generated/types";
import { toUserError } from "../platform";
import { around, endedBefore, mergeRecords, withLate, type EndedCall } from "./callRecords";

/** Calls of one page. */
const PAGE = 200;
/** How long ended calls are gathered before the newest page is read, in milliseconds. */
const GATHER = 80;

/** What to show of the calls, whatever the page of the list. */
type CallQuery = Omit<CallFilter, "byUser" | "call" | "olderThan" | "limit">;
type CallHistory = { records: readonly CallRecord[]; oldest: boolean; loading: boolean; error: UserError | null };

const nothing: CallHistory = { records: [], oldest: false, loading: true, error: null };

/** Matching call records, newest first: the newest page, older pages on demand, and new records as calls end. */
export function useCallHistory({ client, server, tool, decision, outcome, text, since, until }: CallQuery) {
  const { platform, subscribe } = useCore();
  const [calls, setCalls] = useState(nothing);
  const round = useRef(0);
  const asked = useRef(false);

  useEffect(() => {
    const mine = ++round.current;
    const query = { client, server, tool, decision, outcome, text, since, until };
    const filter = { ...everyCall, ...query, limit: PAGE };
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Events that came since the page was last asked for, and whether some of them were missed.
    let due = true;
    let missed = true;
    let reading = false;
    let ended: EndedCall[] = [];
    asked.current = false;
    const settled = () => {
      reading = false;
      if (round.current === mine && due) gather();
    };
    // A call that took long may have begun before the newest page.
    const readLate = async (call: EndedCall) => {
      const near = await platform.command("calls.list", { filter: around(call, filter) });
      const late = near.find(({ id }) => id === call.id);
      if (round.current !== mine || late === undefined) return;
      setCalls((before) => ({ ...before, records: withLate(before.records, late, before.oldest) }));
    };
    // One page at a time, so that none comes after a newer one.
    const read = () => {
      const anew = missed;
      const since = ended;
      ended = [];
      [due, missed, reading] = [false, false, true];
      platform
        .command("calls.list", { filter })
        .then(async (newest) => {
          if (round.current === mine) {
            setCalls((before) => {
              const merged = anew ? null : mergeRecords(newest, before.records, PAGE);
              const oldest = merged === null ? newest.length < PAGE : before.oldest;
              return { records: merged ?? newest, oldest, loading: false, error: null };
            });
          }
          await Promise.all(endedBefore(newest, since, PAGE).map(readLate));
        })
        .catch((thrown: unknown) => {
          missed ||= anew;
          if (round.current === mine) setCalls((before) => ({ ...before, loading: false, error: toUserError(thrown) }));
        })
        .finally(settled);
    };
    const gather = () => {
      if (reading) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        read();
      }, GATHER);
    };
    read();
    const stop = subscribe((envelope) => {
      if (envelope !== null) {
        if (envelope.event.event !== "call_finished") return;
        ended.push({ id: envelope.event.call, began: envelope.at - envelope.event.durationMs });
      }
      due = true;
      missed ||= envelope === null;
      gather();
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [platform, subscribe, client, server, tool, decision, outcome, text, since, until]);

  const { records, oldest } = calls;
  const older = useCallback(() => {
    const last = records.at(-1);
    if (!last || oldest || asked.current) return;
    asked.current = true;
    const mine = round.current;
    const olderThan = { at: last.at, id: last.id };
    const query = { client, server, tool, decision, outcome, text, since, until };
    const filter = { ...everyCall, ...query, olderThan, limit: PAGE };
    platform.command("calls.list", { filter }).then(
      (page) => {
        asked.current = false;
        if (round.current !== mine) return;
        setCalls((before) => ({
          ...before,
          records: page.length === 0 ? before.records : [...before.records, ...page],
          oldest: page.length < PAGE,
        }));
      },
      () => {
        // The next scroll asks again.
        asked.current = false;
      },
    );
  }, [platform, records, oldest, client, server, tool, decision, outcome, text, since, until]);

  return { ...calls, older };
}
