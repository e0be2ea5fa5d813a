import { Button } from "@mantine/core";

import { navigate } from "../navigation/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { useRestoreFocus } from "../components/useRestoreFocus";
import type { ServerActions } from "./useServerActions";

/** The one action that fits the state; on the server's own page there is no Open. */
export function PrimaryAction({ view, acts, own = false }: { view: ServerView; acts: ServerActions; own?: boolean }) {
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
            navigate({ page: "server", id: config.id, tab: "tools" });
          }}
        >
          {t("servers.open")}
        </Button>
      );
    case "needs_auth":
      if (signIn === null) return <SettingsLink view={view} label={t("servers.openSettings")} />;
      return signIn.is === "waiting" ? null : <SignInButton acts={acts} />;
    case "needs_client_registration":
      return signIn?.is === "waiting" ? null : <SettingsLink view={view} label={t("servers.signIn.enterId")} />;
    case "failed":
      return (
        <Button size="xs" onClick={acts.start}>
          {t("servers.again")}
        </Button>
      );
  }
}

function SignInButton({ acts: { signIn } }: { acts: ServerActions }) {
  const t = useMessages();
  return (
    <Button ref={useRestoreFocus(signIn.touched)} size="xs" loading={signIn.busy} onClick={signIn.begin}>
      {t("servers.signIn")}
    </Button>
  );
}

/** A link to the sign-in settings. */
function SettingsLink({ view: { config }, label }: { view: ServerView; label: string }) {
  return (
    <Button
      size="xs"
      onClick={() => {
        navigate({ page: "server", id: config.id, tab: "settings", at: "sign-in" });
      }}
    >
      {label}
    </Button>
  );
}
