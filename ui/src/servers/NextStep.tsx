import { Button } from "@mantine/core";

import { go } from "../frame/route";
import type { ServerView } from "../gen/types";
import { useMessages } from "../messages";
import type { ServerActs } from "./useServerActs";

/** The one thing to do that fits the state; on a server's own page there is nothing to open. */
export function NextStep({ view: { config, status }, acts, own = false }: { view: ServerView; acts: ServerActs; own?: boolean }) {
  const t = useMessages();
  switch (status.state) {
    case "disabled":
    case "stopped":
      return (
        <Button size="xs" variant="default" onClick={acts.start}>
          {t("servers.start")}
        </Button>
      );
    case "connecting":
      return (
        <Button size="xs" variant="default" onClick={acts.stop}>
          {t("servers.cancel")}
        </Button>
      );
    case "connected":
      return own ? null : (
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            go({ page: "server", id: config.id, tab: "tools" });
          }}
        >
          {t("servers.open")}
        </Button>
      );
    case "needs_auth":
    case "needs_client_registration":
      return (
        <Button
          size="xs"
          onClick={() => {
            go({ page: "server", id: config.id, tab: "settings" });
          }}
        >
          {t("servers.openSettings")}
        </Button>
      );
    case "failed":
      return (
        <Button size="xs" onClick={acts.start}>
          {t("servers.again")}
        </Button>
      );
  }
}
