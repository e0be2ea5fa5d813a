import { Button } from "@mantine/core";

import { go } from "../app-shell/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { useTakeFocus } from "../components/useRestoreFocus";
import type { ServerActs } from "./useServerActions";

/** The one thing to do that fits the state; on a server's own page there is nothing to open. */
export function NextStep({ view, acts, own = false }: { view: ServerView; acts: ServerActs; own?: boolean }) {
  const t = useMessages();
  const { config, status, signIn } = view;
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
      if (signIn === null) return <ToSettings view={view} label={t("servers.openSettings")} />;
      return signIn.is === "waiting" ? null : <BeginSignIn acts={acts} />;
    case "needs_client_registration":
      return signIn?.is === "waiting" ? null : <ToSettings view={view} label={t("servers.signIn.enterId")} />;
    case "failed":
      return (
        <Button size="xs" onClick={acts.start}>
          {t("servers.again")}
        </Button>
      );
  }
}

function BeginSignIn({ acts: { signIn } }: { acts: ServerActs }) {
  const t = useMessages();
  return (
    <Button ref={useTakeFocus(signIn.touched)} size="xs" loading={signIn.busy} onClick={signIn.begin}>
      {t("servers.signIn")}
    </Button>
  );
}

/** To the part of the settings that says how the server is signed in to. */
function ToSettings({ view: { config }, label }: { view: ServerView; label: string }) {
  return (
    <Button
      size="xs"
      onClick={() => {
        go({ page: "server", id: config.id, tab: "settings", at: "sign-in" });
      }}
    >
      {label}
    </Button>
  );
}
