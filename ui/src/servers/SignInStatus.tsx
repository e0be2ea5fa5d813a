import { Button } from "@mantine/core";
import { IconAlertCircle, IconCircleDashed } from "@tabler/icons-react";
import { useState } from "react";

import { clock } from "../approvals/labels";
import type { UserError, ServerView, SignInState } from "../generated/types";
import { useMessages } from "../messages";
import { useNow } from "../components/useNow";
import { useTakeFocus } from "../components/useRestoreFocus";
import { PasteAddress } from "./PasteCallbackDialog";
import type { SignInActs } from "./useSignIn";

type Props = { view: ServerView; acts: SignInActs };

/** A sign-in that waits for the user, or why there is none. */
export function SignIn({ view, acts }: Props) {
  const { status, signIn } = view;
  return (
    <>
      {signIn?.is === "waiting" && <Waiting view={view} signIn={signIn} acts={acts} />}
      {acts.problem && <CameToNothing problem={acts.problem} />}
      {status.state === "needs_client_registration" && <p className="dim server-line selectable">{status.reason}</p>}
    </>
  );
}

/** Why the last attempt came to nothing, as quiet as the rest of a card. */
function CameToNothing({ problem: { message, cause, hint } }: { problem: UserError }) {
  return (
    <div className="sign-in" role="alert">
      <p className="status status-bad">
        <IconAlertCircle size={16} aria-hidden />
        <span className="selectable">{message}</span>
      </p>
      <p className="dim selectable">{[cause, hint].filter(Boolean).join(" ")}</p>
    </div>
  );
}

type WaitingProps = Props & { signIn: Extract<SignInState, { is: "waiting" }> };

/** The browser has it: which host to look for there, and how else to come to an end. */
function Waiting({ view: { config, status }, signIn: { host, until }, acts }: WaitingProps) {
  const t = useMessages();
  const [pasting, setPasting] = useState(false);
  const cancel = useTakeFocus(acts.touched);
  return (
    <div className="sign-in">
      {status.state !== "needs_auth" && (
        <p className="status status-wait">
          <IconCircleDashed size={16} aria-hidden />
          <span>{t("servers.signIn.waiting")}</span>
        </p>
      )}
      <div className="sign-in-waits">
        <p className="sign-in-host" title={t("servers.signIn.hostHint")}>
          <span className="dim">{t("servers.signIn.at")}</span> <strong className="mono selectable">{host}</strong>{" "}
          <span className="dim">
            · <Left until={until} />
          </span>
        </p>
        <Button ref={cancel} size="compact-sm" variant="default" onClick={acts.cancel}>
          {t("servers.cancel")}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          onClick={() => {
            setPasting(true);
          }}
        >
          {t("servers.signIn.paste")}
        </Button>
      </div>
      <PasteAddress
        opened={pasting}
        server={config.id}
        address={acts.address}
        onClose={() => {
          setPasting(false);
        }}
      />
    </div>
  );
}

function Left({ until }: { until: number }) {
  const t = useMessages();
  return t("servers.signIn.left", { time: clock(until - useNow(1000)) });
}
