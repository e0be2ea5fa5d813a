import { Checkbox, PasswordInput, SegmentedControl, TextInput } from "@mantine/core";

import type { ConfigurationItem } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { MarkedText } from "../components/MarkedText";
import {
  askedSecrets,
  canBeImported,
  itemChoice,
  secretKey,
  withItemChoice,
  withItemTick,
  type ConfigurationDecisions,
  type ItemPlan,
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
    <li className={styles.item}>
      <Checkbox
        label={<MarkedText text={title} />}
        description={kind === "server" && words !== null ? <MarkedText text={words} /> : undefined}
        classNames={{ description: styles.summary }}
        checked={itemChoice(decisions, item).plan !== "skip"}
        disabled={!canBeImported(item)}
        onChange={(event) => {
          onDecisions(withItemTick(decisions, item, event.currentTarget.checked));
        }}
      />
      <div className={styles.details}>
        {problems.map((problem, at) => (
          <p key={at} className={styles.problem}>
            <MarkedText text={render(problem)} />
          </p>
        ))}
        {details.length > 0 && (
          <ul className={styles.settings} aria-label={t("transfer.detailsOf", { name: title })}>
            {details.map((detail, at) => (
              <li key={at}>
                <MarkedText text={`${detail.name}: ${detail.value}`} />
              </li>
            ))}
          </ul>
        )}
        <Conflict item={item} title={title} decisions={decisions} onDecisions={onDecisions} />
        {askedSecrets(decisions, item).map((field) => {
          const key = secretKey(item, field);
          return (
            <PasswordInput
              key={key}
              size="xs"
              className={styles.secret}
              label={t("transfer.secret", { field })}
              description={t("transfer.secretHint")}
              autoComplete="off"
              value={decisions.secrets.get(key) ?? ""}
              onChange={(event) => {
                const secrets = new Map(decisions.secrets).set(key, event.currentTarget.value);
                onDecisions({ ...decisions, secrets });
              }}
            />
          );
        })}
      </div>
    </li>
  );
}

/** What is here already, and what is done about it. */
function Conflict({ item, title, decisions, onDecisions }: Props & { title: string }) {
  const t = useMessages();
  const { conflict } = item;
  if (conflict === null) return null;
  if (conflict.isSame) return <p className={styles.note}>{t("transfer.same")}</p>;
  const { plan, newName } = itemChoice(decisions, item);
  const plans: readonly ItemPlan[] = conflict.freeName === null ? [] : ["skip", "overwrite", "rename"];
  return (
    <>
      <p className={styles.note}>{t(conflict.freeName === null ? "transfer.differs" : "transfer.taken")}</p>
      {plans.length > 0 && canBeImported(item) && (
        <SegmentedControl
          size="xs"
          aria-label={t("imports.conflict", { name: title })}
          data={[
            { value: "skip", label: t("imports.plan.skip") },
            { value: "overwrite", label: t("transfer.replace") },
            { value: "rename", label: t("transfer.keepBoth") },
          ]}
          value={plan}
          onChange={(value) => {
            onDecisions(withItemChoice(decisions, item, { plan: plans.find((one) => one === value) ?? "skip" }));
          }}
        />
      )}
      {plan === "rename" && (
        <TextInput
          size="xs"
          label={t("imports.newName")}
          value={newName}
          onChange={(event) => {
            onDecisions(withItemChoice(decisions, item, { newName: event.currentTarget.value }));
          }}
        />
      )}
    </>
  );
}
