import { ActionIcon, Menu, Switch } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";

import clsx from "clsx";
import { formatRoute, navigate } from "../navigation/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorCount } from "./ErrorCount";
import { OwnServerIcon } from "./OwnServerIcon";
import { ServerFailure } from "./ServerFailure";
import { PrimaryAction } from "./PrimaryAction";
import { SignInStatus } from "./SignInStatus";
import { StatusMark } from "./StatusMark";
import { useServerActions } from "./useServerActions";
import styles from "./ServerCard.module.css";

/** One server: what it is, how it is, and the one thing to do next. */
export function ServerCard({ view, taken }: { view: ServerView; taken: readonly string[] }) {
  const t = useMessages();
  const acts = useServerActions(view, taken);
  const { config, status, signIn } = view;
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
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={t("servers.more", { name: config.name })}>
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={open}>{t("servers.open")}</Menu.Item>
            {config.enabled && <Menu.Item onClick={acts.reconnect}>{t("servers.reconnect")}</Menu.Item>}
            {status.state === "connected" && <Menu.Item onClick={acts.stop}>{t("servers.stop")}</Menu.Item>}
            {signIn?.is === "in" && <Menu.Item onClick={acts.signIn.begin}>{t("servers.signIn.again")}</Menu.Item>}
            <Menu.Item onClick={acts.duplicate}>{t("servers.duplicate")}</Menu.Item>
            <Menu.Divider />
            <Menu.Item
              color="red"
              onClick={() => {
                acts.remove();
              }}
            >
              {t("servers.remove")}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </article>
  );
}
