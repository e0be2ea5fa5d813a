import { Button } from "@mantine/core";
import { IconUserCheck } from "@tabler/icons-react";

import type { ServerView, SignInState } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { useNow } from "../components/useNow";
import { hostOf } from "./status";
import type { SignInActions } from "./useSignIn";
import styles from "./SignedIn.module.css";

/** The signed-in account, its issuer, and its expiry. */
export function SignedIn({ view: { config, status, signIn }, acts }: { view: ServerView; acts: SignInActions }) {
  const t = useMessages();
  const wantsAnother = status.state === "needs_auth" || status.state === "needs_client_registration";
  if (signIn?.is !== "in" || wantsAnother) return null;
  const host = hostOf(signIn.issuer);
  return (
    <div className={styles.signedIn}>
      <p className="dim selectable">
        <IconUserCheck size={15} aria-hidden />{" "}
        {signIn.account === null
          ? t("servers.signIn.in", { host })
          : t("servers.signIn.as", { host, account: signIn.account })}
        {signIn.expires !== null && <Expiry expires={signIn.expires} renews={signIn.renews} />}
      </p>
      <Button
        size="compact-xs"
        variant="subtle"
        color="gray"
        title={t("servers.signIn.outHint", { host, name: config.name })}
        onClick={acts.out}
      >
        {t("servers.signIn.out")}
      </Button>
    </div>
  );
}

type Granted = Extract<SignInState, { is: "in" }>;

function Expiry({ expires, renews }: { expires: number; renews: Granted["renews"] }) {
  const t = useMessages();
  const { fromNow } = useTimes();
  const now = useNow(10_000);
  const when = fromNow(expires, now);
  if (expires > now) return <> · {t(renews ? "servers.signIn.expiresRenews" : "servers.signIn.expires", { when })}</>;
  return <> · {renews ? t("servers.signIn.renewsNext") : t("servers.signIn.expired", { when })}</>;
}
