import { ServerIcon } from "../components/ServerIcon";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerView } from "../generated/types";
import styles from "./OwnServerIcon.module.css";

type Props = { view: ServerView; size: number };

/**
 * The icon of a server in lists: what the user chose, else the image that the server names as its icon, else the usual
 * one. Not for places where a person decides about calls: the image can be that of another server.
 */
export function OwnServerIcon({ view, size }: Props) {
  const { look, transport } = view.config;
  const isChosen = look.icon !== null && look.icon !== "auto";
  if (isChosen || transport.type === "builtin") return <ServerIcon name={view.icon} size={size} />;
  return <FetchedIcon view={view} size={size} />;
}

function FetchedIcon({ view, size }: Props) {
  const { data } = useCoreQuery("servers.icon", { server: view.config.id });
  const image = data?.image ?? null;
  if (image === null) return <ServerIcon name={view.icon} size={size} />;
  return <img className={styles.image} src={image} width={size} height={size} alt="" data-icon="own" />;
}
