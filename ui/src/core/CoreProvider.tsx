import { QueryClientProvider } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";

import type { Platform } from "../platform";
import { connectCore, type Core, type CoreConnection } from "./connectCore";

const CoreContext = createContext<Core | null>(null);

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
