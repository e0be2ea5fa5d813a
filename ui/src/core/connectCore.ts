// Connects a page with the core: what was read of it, and the events that make that stale.

import { QueryClient } from "@tanstack/react-query";

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
