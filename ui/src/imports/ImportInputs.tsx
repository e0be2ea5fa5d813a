import { NativeSelect, PasswordInput, Stack, TextInput } from "@mantine/core";

import type { ImportInput } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import { hasHiddenValue, inputValue, type ImportDecisions } from "./importChoices";
import styles from "./ImportInputs.module.css";

type Props = {
  inputs: readonly ImportInput[];
  decisions: ImportDecisions;
  onDecisions: (decisions: ImportDecisions) => void;
};

/** The values that the other application asks for, or takes from where Gatehouse can't. */
export function ImportInputs({ inputs, decisions, onDecisions }: Props) {
  const t = useMessages();
  return (
    <fieldset className={styles.inputs}>
      <legend>{t("imports.inputs")}</legend>
      <Stack gap="xs">
        {inputs.map((input) => {
          const field = {
            label: input.description ?? input.id,
            description: describeInput(t, input),
            required: !hasHiddenValue(input),
            value: inputValue(decisions, input),
            onChange: (event: { currentTarget: { value: string } }) => {
              const values = new Map(decisions.inputs).set(input.id, event.currentTarget.value);
              onDecisions({ ...decisions, inputs: values });
            },
          };
          if (input.isSecret) return <PasswordInput key={input.id} autoComplete="off" {...field} />;
          if (input.options.length > 0) {
            return <NativeSelect key={input.id} data={["", ...input.options]} {...field} />;
          }
          return <TextInput key={input.id} spellCheck={false} {...field} />;
        })}
      </Stack>
    </fieldset>
  );
}

function describeInput(t: Translate, input: ImportInput): string {
  if (hasHiddenValue(input)) return t("imports.keptSecretInput", { id: input.id });
  return input.isSecret ? t("imports.secretInput", { id: input.id }) : input.id;
}
