import { Button } from "@mantine/core";
import { IconAlertCircle, IconCircleDashed } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { formatCountdown } from "../messages/countdown";
import type { UserError, ServerView, SignInState } from "../generated/types";
import { useMessages } from "../messages";
import { textLine, userErrorText } from "../messages/userError";
import { lazyDialog } from "../components/lazyDialog";
import { useNow } from "../components/useNow";
import { useRestoreFocus } from "../components/useRestoreFocus";
import type { SignInActions } from "./useSignIn";
import serverCardStyles from "./ServerCard.module.css";
import statusMarkStyles from "./StatusMark.module.css";
import styles from "./SignInStatus.module.css";

const PasteCallbackDialog = lazyDialog(async () => (await import("./PasteCallbackDialog")).PasteCallbackDialog);

type Props = { view: ServerView; acts: SignInActions };

/** A pending sign-in, or why the last attempt failed. */
export function SignInStatus({ view, acts }: Props) {
  const t = useMessages();
  const { status, signIn } = view;
  return (
    <>
      {signIn?.is === "waiting" && <SignInPending view={view} signIn={signIn} acts={acts} />}
      {acts.error && <SignInError error={acts.error} />}
      {status.state === "needs_client_registration" && (
        <p className={clsx("dim", serverCardStyles.line, "selectable")}>{textLine(t, status.reason)}</p>
      )}
    </>
  );
}

/** The error of the last attempt, in the style of a card. */
function SignInError({ error }: { error: UserError }) {
  const { title, details } = userErrorText(useMessages(), error);
  return (
    <div className={styles.signIn} role="alert">
      <p className={clsx(statusMarkStyles.status, statusMarkStyles.bad)}>
        <IconAlertCircle size={16} aria-hidden />
        <span className="selectable">{title}</span>
      </p>
      <p className="dim selectable">{details.join(" ")}</p>
    </div>
  );
}

type WaitingProps = Props & { signIn: Extract<SignInState, { is: "waiting" }> };

/** A sign-in that waits for the browser: host, time left, and other ways to finish. */
function SignInPending({ view: { config, status }, signIn: { host, until }, acts }: WaitingProps) {
  const t = useMessages();
  const [pasting, setPasting] = useState(false);
  const cancel = useRestoreFocus(acts.touched);
  return (
    <div className={styles.signIn}>
      {status.state !== "needs_auth" && (
        <p className={clsx(statusMarkStyles.status, statusMarkStyles.wait)}>
          <IconCircleDashed size={16} aria-hidden />
          <span>{t("servers.signIn.waiting")}</span>
        </p>
      )}
      <div className={styles.pending}>
        <p className={styles.host} title={t("servers.signIn.hostHint")}>
          <span className="dim">{t("servers.signIn.at")}</span> <strong className="mono selectable">{host}</strong>{" "}
          <span className="dim">
            · <TimeLeft until={until} />
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
      <PasteCallbackDialog
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

function TimeLeft({ until }: { until: number }) {
  const t = useMessages();
  return t("servers.signIn.left", { time: formatCountdown(until - useNow(1000)) });
}
