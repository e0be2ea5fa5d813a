import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";

import { createPendingApprovalReader } from "./pendingApprovals";
import type { EventEnvelope, PendingApproval } from "../generated/types";
import type { Platform } from "../platform";
import { invalidatedQueries } from "./invalidation";
import { readAgain } from "./readAgain";

/** How long events are collected before queries are invalidated, in milliseconds. */
const GATHER = 60;

type Listener = (envelope: EventEnvelope | null) => void;

export type Core = {
  platform: Platform;
  /** Reads pending approvals, with cached details filled in. */
  readPendingApprovals: () => Promise<PendingApproval[]>;
  /** Subscribes to events; `null` means that some were missed. */
  subscribe: (listener: Listener) => () => void;
};

const CoreContext = createContext<Core | null>(null);

/** Provides the core to the page: cached queries, invalidated by events. */
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
    readPendingApprovals: createPendingApprovalReader((known) => platform.command("approvals.list", { known })),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  }));

  useEffect(() => {
    const old = new Set<string>();
    let all = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refetch = () => {
      timer = undefined;
      const everything = all;
      const names = new Set(old);
      all = false;
      old.clear();
      void readAgain(client, ({ queryKey }) => everything || names.has(String(queryKey[0])));
    };
    const stop = platform.events((envelope) => {
      if (envelope) {
        for (const name of invalidatedQueries(envelope.event)) old.add(name);
      } else all = true;
      if (all || old.size > 0) timer ??= setTimeout(refetch, GATHER);
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

/** The core, for what is neither a query nor an action. */
export function useCore(): Core {
  const core = useContext(CoreContext);
  if (!core) throw new Error("no CoreProvider above");
  return core;
}
