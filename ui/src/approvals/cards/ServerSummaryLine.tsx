import type { ReactNode } from "react";

import type { ServerSummary } from "../../generated/types";
import { ServerIcon } from "../../components/ServerIcon";

/** Which server it is about, and what that one is for. */
export function ServerSummaryLine({ server, children }: { server: ServerSummary; children: ReactNode }) {
  return (
    <div className="ask-where">
      <ServerIcon name={server.icon} size={16} /> {children}
      {server.description !== null && <span className="ask-small ask-description">{server.description}</span>}
    </div>
  );
}
