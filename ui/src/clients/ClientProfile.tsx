import { Select } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ClientView } from "../generated/types";
import { useMessages } from "../messages";
import styles from "./Profiles.module.css";
import { ToolListText } from "./ToolListText";

/** The profile of one client, and what its list of tools costs. */
export function ClientProfile({ client: { id, name, profile, toolList } }: { client: ClientView }) {
  const t = useMessages();
  const profiles = useCoreQuery("profiles.list", {}).data ?? [];
  const set = useAction("clients.set");
  return (
    <div className={styles.choice}>
      <span aria-hidden>{t("profiles.one")}</span>
      <Select
        size="xs"
        w={260}
        aria-label={t("profiles.of", { client: name })}
        disabled={set.busy}
        placeholder={t("profiles.none")}
        clearable
        data={profiles.map((view) => ({ value: view.profile.id, label: view.profile.settings.name }))}
        value={profile}
        onChange={(wanted) => void set.run({ client: id, profile: wanted })}
      />
      <ToolListText cost={toolList} />
    </div>
  );
}
