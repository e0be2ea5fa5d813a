import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import { ImportOffer } from "../imports/ImportOffer";
import { AddServerDialog } from "../servers/AddServerDialog";
import type { StepProps } from "./FirstRunPage";
import styles from "./FirstRunPage.module.css";

/** The servers that there are, and adding more. */
export function ServersStep({ onDone }: StepProps) {
  const t = useMessages();
  const [adding, setAdding] = useState<"form" | "import" | null>(null);
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  return (
    <>
      <p>{t("firstRun.serversText")}</p>
      {servers.length > 0 && <p>{t("firstRun.serversNow", { names: servers.map(({ config }) => config.name) })}</p>}
      <ImportOffer
        onImport={() => {
          setAdding("import");
        }}
      />
      <div className={styles.actions}>
        <Button onClick={onDone}>{t("firstRun.next")}</Button>
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => {
            setAdding("form");
          }}
        >
          {t("servers.form.add")}
        </Button>
      </div>
      <AddServerDialog
        opened={adding !== null}
        start={adding ?? "form"}
        onClose={() => {
          setAdding(null);
        }}
      />
    </>
  );
}
