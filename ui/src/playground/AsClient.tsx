import { NativeSelect } from "@mantine/core";
import { useId } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import styles from "./AsClient.module.css";

type Props = { client: string | null; onClient: (client: string | null) => void };

/** In whose name something is tried: the user's, or that of a client. */
export function AsClient({ client, onClient }: Props) {
  const t = useMessages();
  const label = useId();
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  const known = clients.find(({ id }) => id === client);
  return (
    <div className={styles.as}>
      <span id={label}>{t("playground.as")}</span>
      <NativeSelect
        size="xs"
        aria-labelledby={label}
        data={[
          { value: "", label: t("playground.you") },
          ...clients.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={known?.id ?? ""}
        onChange={(event) => {
          onClient(event.currentTarget.value || null);
        }}
      />
      <span className="dim">
        {known ? t("playground.asClient", { client: known.name }) : t("playground.noApproval")}
      </span>
    </div>
  );
}
