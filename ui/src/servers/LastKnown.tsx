import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { isLastKnown } from "./status";

/** Says that a list is what the server offered when it was last connected, if it is. */
export function LastKnown({ view, what }: { view: ServerView; what: "tools" | "resources" | "prompts" }) {
  const t = useMessages();
  if (!isLastKnown(view, what)) return null;
  return (
    <p className="dim" role="note">
      {t("servers.lastKnown", { name: view.config.name })}
    </p>
  );
}
