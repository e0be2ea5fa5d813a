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

/** The core as a page knows it, and what was read of it. */
export type CoreConnection = {
  core: Core;
  queries: QueryClient;
  /** Takes events, which invalidate what was read, until the returned function is called. */
  listen: () => () => void;
};

/** Connects a page with the core. Nothing is read or listened to yet. */
export function connectCore(platform: Platform): CoreConnection {
  const queries = new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: Infinity, refetchOnWindowFocus: false, networkMode: "always" },
      mutations: { retry: false, networkMode: "always" },
    },
  });
  const listeners = new Set<Listener>();
  const core: Core = {
    platform,
    readPendingApprovals: createPendingApprovalReader((known) => platform.command("approvals.list", { known })),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const listen = () => {
    const old = new Set<string>();
    let all = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refetch = () => {
      timer = undefined;
      const everything = all;
      const names = new Set(old);
      all = false;
      old.clear();
      void readAgain(queries, ({ queryKey }) => everything || names.has(String(queryKey[0])));
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
  };
  return { core, queries, listen };
}

type CoreProviderProps = { children: ReactNode } & (
  | { platform: Platform }
  /** A connection that listens already. */
  | { connection: CoreConnection }
);

/** Provides the core to the page: cached queries, invalidated by events. */
export function CoreProvider(props: CoreProviderProps) {
  const [connection] = useState(() => ("connection" in props ? props.connection : connectCore(props.platform)));
  const isOwn = "platform" in props;
  useEffect(() => (isOwn ? connection.listen() : undefined), [connection, isOwn]);
  return (
    <CoreContext value={connection.core}>
      <QueryClientProvider client={connection.queries}>{props.children}</QueryClientProvider>
    </CoreContext>
  );
}

/** The core, for what is neither a query nor an action. */
export function useCore(): Core {
  const core = useContext(CoreContext);
  if (!core) throw new Error("no CoreProvider above");
  return core;
}
