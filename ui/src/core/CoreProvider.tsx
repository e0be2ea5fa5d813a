import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";

import { questionReader } from "../approvals/pendingApprovals";
import type { EventEnvelope, PendingApproval } from "../generated/types";
import type { Platform } from "../platform";
import { affected } from "./invalidation";

/** How long events are gathered before what they made old is read again, in milliseconds. */
const GATHER = 60;

type Listener = (envelope: EventEnvelope | null) => void;

export type Core = {
  platform: Platform;
  /** Reads the questions that wait, with the arguments that are known already in their places. */
  questions: () => Promise<PendingApproval[]>;
  /** Hears every event; `null` says that some were missed. */
  hear: (listener: Listener) => () => void;
};

const CoreContext = createContext<Core | null>(null);

/** What the page knows of the core: readings that are kept until an event makes them old. */
export function CoreProvider({ platform, children }: { platform: Platform; children: ReactNode }) {
  const [client] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          queries: { retry: false, staleTime: Infinity, refetchOnWindowFocus: false, networkMode: "always" },
          mutations: { retry: false, networkMode: "always" },
        },
      }),
  );
  const [listeners] = useState(() => new Set<Listener>());
  const [core] = useState<Core>(() => ({
    platform,
    questions: questionReader((known) => platform.command("approvals.list", { known })),
    hear: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  }));

  useEffect(() => {
    const old = new Set<string>();
    let all = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readAgain = () => {
      timer = undefined;
      const everything = all;
      const names = new Set(old);
      all = false;
      old.clear();
      void client.invalidateQueries({
        predicate: ({ queryKey }) => everything || names.has(String(queryKey[0])),
      });
    };
    const stop = platform.events((envelope) => {
      if (envelope) {
        for (const name of affected(envelope.event)) old.add(name);
      } else all = true;
      if (all || old.size > 0) timer ??= setTimeout(readAgain, GATHER);
      for (const listener of listeners) listener(envelope);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [client, listeners, platform]);

  return (
    <CoreContext value={core}>
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    </CoreContext>
  );
}

/** The core, for what is neither a reading nor an act. */
export function useCore(): Core {
  const core = useContext(CoreContext);
  if (!core) throw new Error("no CoreProvider above");
  return core;
}
