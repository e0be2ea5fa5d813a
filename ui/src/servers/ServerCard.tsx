import { Switch } from "@mantine/core";

import clsx from "clsx";
import { formatRoute, navigate } from "../navigation/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorCount } from "./ErrorCount";
import { OwnServerIcon } from "./OwnServerIcon";
import { ServerFailure } from "./ServerFailure";
import { PrimaryAction } from "./PrimaryAction";
import { ServerMenu } from "./ServerMenu";
import { SignInStatus } from "./SignInStatus";
import { StatusMark } from "./StatusMark";
import { useServerActions } from "./useServerActions";
import styles from "./ServerCard.module.css";

/** One server: what it is, how it is, and the one thing to do next. */
export function ServerCard({ view, taken }: { view: ServerView; taken: readonly string[] }) {
  const t = useMessages();
  const acts = useServerActions(view, taken);
  const { config, status } = view;
  const open = () => {
    navigate({ page: "server", id: config.id, tab: "tools" });
  };
  return (
    <article className={clsx("card", styles.server)} aria-label={config.name}>
      <span className={styles.icon}>
        <OwnServerIcon view={view} size={20} />
      </span>
      <div className={styles.text}>
        <div className={styles.name}>
          <a href={formatRoute({ page: "server", id: config.id, tab: "tools" })}>{config.name}</a>
          <span className="dim">{t(`servers.kind.${config.transport.type}`)}</span>
        </div>
        {config.look.description !== null && <p className={clsx("dim", styles.line)}>{config.look.description}</p>}
        <StatusMark view={view} />
        <ErrorCount view={view} />
        {status.state === "failed" && <ServerFailure view={view} status={status} />}
        <SignInStatus view={view} acts={acts.signIn} />
      </div>
      <div className={styles.actions}>
        <PrimaryAction view={view} acts={acts} />
        <Switch
          aria-label={t("servers.on", { name: config.name })}
          checked={config.enabled}
          onChange={(event) => {
            acts.toggle(event.currentTarget.checked);
          }}
        />
        <ServerMenu
          view={view}
          acts={acts}
          first={{ label: t("servers.open"), act: open }}
          onRemove={() => {
            acts.remove();
          }}
        />
      </div>
    </article>
  );
}
