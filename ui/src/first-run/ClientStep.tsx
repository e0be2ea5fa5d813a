import { Button } from "@mantine/core";
import { useState } from "react";

import { AddClientForm } from "../clients/AddClientForm";
import { AppConnections } from "../clients/AppConnections";
import { NewTokenPanel } from "../clients/NewTokenPanel";
import { Collapse } from "../components/Collapse";
import { useCoreQuery } from "../core/useCoreQuery";
import type { MintedClient } from "../generated/types";
import { useMessages } from "../messages";
import type { StepProps } from "./FirstRunPage";
import styles from "./FirstRunPage.module.css";

/** Connects an AI client: an application of this computer with one click, or another one by a token. */
export function ClientStep({ onDone }: StepProps) {
  const t = useMessages();
  const { data: clients, refetch } = useCoreQuery("clients.list", {});
  const apps = useCoreQuery("clients.apps", {}, undefined, { fresh: true });
  const [opened, setOpened] = useState(false);
  const [minted, setMinted] = useState<MintedClient | null>(null);
  if (minted) {
    return (
      <div className={styles.wide}>
        <NewTokenPanel minted={minted} onDone={onDone} />
      </div>
    );
  }
  return (
    <>
      <p>{t("firstRun.clientText")}</p>
      <div className={styles.wide}>
        <AppConnections
          apps={apps}
          onChanged={() => {
            void refetch();
            void apps.refetch();
          }}
        />
      </div>
      <Collapse label={t("firstRun.otherClient")} opened={opened} onOpened={setOpened}>
        <AddClientForm formName="first-run.client" onMinted={setMinted} />
      </Collapse>
      <Button onClick={onDone}>{t(clients?.length ? "firstRun.next" : "firstRun.later")}</Button>
    </>
  );
}
