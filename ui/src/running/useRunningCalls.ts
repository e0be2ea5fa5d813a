import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import type { RunningCall } from "../generated/types";
import { applyCallEvent } from "./runningCalls";

const none: readonly RunningCall[] = [];

/** The running calls, oldest first, with live progress. */
export function useRunningCalls(): readonly RunningCall[] {
  const { subscribe } = useCore();
  const read = useCoreQuery("calls.running", {}).data ?? none;
  const [known, setKnown] = useState({ read, running: read });
  // What was read last counts; progress comes on top of it.
  if (known.read !== read) setKnown({ read, running: read });
  useEffect(
    () =>
      subscribe((envelope) => {
        if (envelope) setKnown((before) => ({ read: before.read, running: applyCallEvent(before.running, envelope) }));
      }),
    [subscribe],
  );
  return known.running;
}
