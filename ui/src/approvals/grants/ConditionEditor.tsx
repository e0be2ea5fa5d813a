import { useId } from "react";

import type { OfferedCondition } from "../../generated/types";
import { useMessages } from "../../messages";
import {
  initialDraft,
  conditionKindsFor,
  type ConditionArgument,
  type ConditionDraft,
  type ConditionKind,
} from "./conditionDraft";
import styles from "./ConditionEditor.module.css";

type Props = {
  choosable: readonly ConditionArgument[];
  proposals: readonly OfferedCondition[];
  draft: ConditionDraft;
  /** Whether the condition is complete. */
  isWhole: boolean;
  onChange: (draft: ConditionDraft) => void;
};

/** Edits a condition: argument, kind, and value. */
export function ConditionEditor({ choosable, proposals, draft, isWhole, onChange }: Props) {
  const t = useMessages();
  const id = useId();
  const value = choosable.find(({ name }) => name === draft.argument)?.value;
  const kinds = conditionKindsFor(value);
  const pick = (argument: string, wanted: ConditionKind) => {
    const found = choosable.find(({ name }) => name === argument);
    if (found) onChange(initialDraft(found, wanted, proposals));
  };
  const field = {
    id: `${id}-value`,
    className: styles.value,
    value: draft.text,
    spellCheck: false,
    autoComplete: "off",
    "aria-invalid": !isWhole,
    "aria-describedby": `${id}-hint`,
  };
  return (
    <fieldset className={styles.condition}>
      <legend className={styles.legend}>{t("ask.condition")}</legend>
      <label htmlFor={`${id}-argument`}>{t("ask.condition.argument")}</label>
      <select
        id={`${id}-argument`}
        value={draft.argument}
        onChange={(event) => {
          pick(event.currentTarget.value, draft.kind);
        }}
      >
        {choosable.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-kind`}>{t("ask.condition.kind")}</label>
      <select
        id={`${id}-kind`}
        value={draft.kind}
        onChange={(event) => {
          pick(draft.argument, kinds.find((one) => one === event.currentTarget.value) ?? draft.kind);
        }}
      >
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {t(`ask.condition.kind.${kind}`)}
          </option>
        ))}
      </select>
      <label htmlFor={field.id}>{t(draft.kind === "one_of" ? "ask.condition.values" : "ask.condition.value")}</label>
      {draft.kind === "one_of" ? (
        <textarea
          {...field}
          rows={3}
          onChange={(event) => {
            onChange({ ...draft, text: event.currentTarget.value });
          }}
        />
      ) : (
        <input
          {...field}
          type="text"
          onChange={(event) => {
            onChange({ ...draft, text: event.currentTarget.value });
          }}
        />
      )}
      <p id={`${id}-hint`} className={styles.hint}>
        {isWhole ? t(`ask.condition.hint.${draft.kind}`) : t("ask.condition.incomplete")}
      </p>
    </fieldset>
  );
}
