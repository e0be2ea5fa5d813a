import { NativeSelect, PasswordInput, Stack, TextInput } from "@mantine/core";

import type { ImportInput } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import { hasHiddenValue, inputValue } from "./importChoices";
import styles from "./ImportInputs.module.css";

type Props = {
  inputs: readonly ImportInput[];
  /** What was entered, by the ids of inputs. */
  values: ReadonlyMap<string, string>;
  onValues: (values: ReadonlyMap<string, string>) => void;
};

/** The values that imported settings ask for, or that came from where Gatehouse can't look. */
export function ImportInputs({ inputs, values, onValues }: Props) {
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
            value: inputValue(values, input),
            onChange: (event: { currentTarget: { value: string } }) => {
              onValues(new Map(values).set(input.id, event.currentTarget.value));
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
