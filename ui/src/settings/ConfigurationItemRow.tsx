import { PasswordInput } from "@mantine/core";

import type { ConfigurationItem } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { ConflictChoice, ImportNote, ImportProblems, ImportRow, ImportSettings } from "../imports/ImportRow";
import {
  askedSecrets,
  canBeImported,
  itemChoice,
  secretKey,
  withItemChoice,
  withItemTick,
  type ConfigurationDecisions,
} from "./configurationChoices";
import styles from "./ConfigurationItemRow.module.css";

type Props = {
  item: ConfigurationItem;
  decisions: ConfigurationDecisions;
  onDecisions: (decisions: ConfigurationDecisions) => void;
};

/** One part of a configuration, with what there is to decide about it. */
export function ConfigurationItemRow({ item, decisions, onDecisions }: Props) {
  const t = useMessages();
  const render = useRender();
  const { kind, name, summary, details, problems } = item;
  const words = summary === null ? null : render(summary);
  const title = kind === "permission" ? (words ?? "") : kind === "settings" ? t("settings.title") : name;
  return (
    <ImportRow
      title={title}
      summary={kind === "server" && words !== null ? words : undefined}
      isPicked={itemChoice(decisions, item).plan !== "skip"}
      canBePicked={canBeImported(item)}
      onPick={(picked) => {
        onDecisions(withItemTick(decisions, item, picked));
      }}
    >
      <ImportProblems problems={problems} />
      <ImportSettings label={t("transfer.detailsOf", { name: title })} settings={details} />
      <Conflict item={item} title={title} decisions={decisions} onDecisions={onDecisions} />
      {askedSecrets(decisions, item).map((field) => {
        const key = secretKey(item, field);
        return (
          <PasswordInput
            key={key}
            size="xs"
            className={styles.secret}
            label={t("transfer.secret", { field })}
            description={t(kind === "modelProvider" ? "transfer.keyHint" : "transfer.secretHint")}
            autoComplete="off"
            value={decisions.secrets.get(key) ?? ""}
            onChange={(event) => {
              const secrets = new Map(decisions.secrets).set(key, event.currentTarget.value);
              onDecisions({ ...decisions, secrets });
            }}
          />
        );
      })}
    </ImportRow>
  );
}

/** What is here already, and what is done about it. */
function Conflict({ item, title, decisions, onDecisions }: Props & { title: string }) {
  const t = useMessages();
  const { conflict } = item;
  if (conflict === null) return null;
  if (conflict.isSame) return <ImportNote>{t("transfer.same")}</ImportNote>;
  const { plan, newName } = itemChoice(decisions, item);
  const isOnlyOne = conflict.freeName === null;
  return (
    <>
      <ImportNote>{t(isOnlyOne ? "transfer.differs" : "transfer.taken")}</ImportNote>
      <ConflictChoice
        name={title}
        labels={{ skip: t("imports.plan.skip"), overwrite: t("transfer.replace"), rename: t("transfer.keepBoth") }}
        plan={plan}
        newName={newName}
        canChoose={!isOnlyOne && canBeImported(item)}
        onChange={(choice) => {
          onDecisions(withItemChoice(decisions, item, choice));
        }}
      />
    </>
  );
}
