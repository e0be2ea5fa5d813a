import { ActionMenu, type MenuAction } from "../components/ActionMenu";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import type { ServerActions } from "./useServerActions";

type Props = {
  view: ServerView;
  acts: ServerActions;
  /** What comes before the actions that every place offers. */
  first?: MenuAction;
  onRemove: () => void;
};

/** What is seldom done with a server. */
export function ServerMenu({ view: { config, status, signIn }, acts, first, onRemove }: Props) {
  const t = useMessages();
  return (
    <ActionMenu
      label={t("servers.more", { name: config.name })}
      groups={[
        [
          first ?? false,
          config.enabled && { label: t("servers.reconnect"), act: acts.reconnect },
          status.state === "connected" && { label: t("servers.stop"), act: acts.stop },
          signIn?.is === "in" && { label: t("servers.signIn.again"), act: acts.signIn.begin },
          { label: t("servers.duplicate"), act: acts.duplicate },
        ],
        [{ label: t("servers.remove"), isDanger: true, act: onRemove }],
      ]}
    />
  );
}
