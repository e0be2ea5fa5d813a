import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useReading } from "../core/useCoreQuery";
import type { RunningCall } from "../generated/types";
import { runningAfter } from "./callRecords";

const none: readonly RunningCall[] = [];

/** The calls that have begun and not ended, oldest first, with their progress as it comes. */
export function useRunning(): readonly RunningCall[] {
  const { hear } = useCore();
  const read = useReading("calls.running", {}).data ?? none;
  const [known, setKnown] = useState({ read, running: read });
  // What was read last counts; progress comes on top of it.
  if (known.read !== read) setKnown({ read, running: read });
  useEffect(
    () =>
      hear((envelope) => {
        if (envelope) setKnown((before) => ({ read: before.read, running: runningAfter(before.running, envelope) }));
      }),
    [hear],
  );
  return known.running;
}
