import { IconServer2 } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { AskServer } from "../gen/types";

/** Which server it is about, and what that one is for. */
export function ServerLine({ server, children }: { server: AskServer; children: ReactNode }) {
  return (
    <div className="ask-where">
      <IconServer2 size={14} aria-hidden /> {children}
      {server.description !== null && <span className="ask-small ask-description">{server.description}</span>}
    </div>
  );
}
