import { IconAlertTriangle } from "@tabler/icons-react";

import { format } from "../app-shell/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";

/** How many errors a server had within the last hour; nothing where it had none. */
export function ErrorCount({ view: { config, errorsLastHour } }: { view: ServerView }) {
  const t = useMessages();
  if (errorsLastHour === 0) return null;
  const words = t("servers.errors", { count: errorsLastHour });
  return (
    <a className="error-count" href={format({ page: "server", id: config.id, tab: "logs" })}>
      <IconAlertTriangle size={15} aria-hidden />
      {words}
    </a>
  );
}
