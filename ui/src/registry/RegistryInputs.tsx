import { Checkbox, NativeSelect, PasswordInput, Textarea, TextInput } from "@mantine/core";

import type { RegistryInput } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import type { EnteredValues } from "./registryForm";

type Props = {
  inputs: readonly RegistryInput[];
  values: EnteredValues;
  /** Ids of the inputs that lack a value. */
  missing: readonly string[];
  onChange: (id: string, value: string) => void;
};

/** The fields for what an entry of the registry asks for. */
export function RegistryInputs({ inputs, values, missing, onChange }: Props) {
  const t = useMessages();
  return inputs.map((input) => (
    <Field
      key={input.id}
      input={input}
      value={values[input.id] ?? ""}
      error={missing.includes(input.id) ? t("registry.required") : null}
      onChange={(value) => {
        onChange(input.id, value);
      }}
    />
  ));
}

type FieldProps = { input: RegistryInput; value: string; error: string | null; onChange: (value: string) => void };

function Field({ input, value, error, onChange }: FieldProps) {
  const t = useMessages();
  const common = { label: input.id, description: about(t, input), required: input.required, error };
  const typed = { ...common, value, placeholder: input.placeholder ?? "", spellCheck: false } as const;
  if (input.secret || input.plainSecret) {
    return (
      <PasswordInput
        {...typed}
        autoComplete="off"
        onChange={(event) => {
          onChange(event.currentTarget.value);
        }}
      />
    );
  }
  if (input.choices.length > 0) {
    return (
      <NativeSelect
        {...common}
        data={input.choices.includes(value) && input.required ? input.choices : ["", ...input.choices]}
        value={value}
        onChange={(event) => {
          onChange(event.currentTarget.value);
        }}
      />
    );
  }
  if (input.format === "boolean") {
    return (
      <Checkbox
        label={input.id}
        description={common.description}
        error={error}
        checked={value === "true"}
        onChange={(event) => {
          onChange(event.currentTarget.checked ? "true" : "false");
        }}
      />
    );
  }
  return input.repeated ? (
    <Textarea
      {...typed}
      rows={3}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  ) : (
    <TextInput
      {...typed}
      inputMode={input.format === "number" ? "decimal" : "text"}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  );
}

/** What the publisher says about it, and what else there is to know. */
function about(t: Translate, { description, repeated, plainSecret, format }: RegistryInput): string | null {
  const texts = [
    description,
    repeated ? t("registry.onePerLine") : null,
    format === "filepath" ? t("registry.path") : null,
    plainSecret ? t("registry.plainSecret") : null,
  ].filter((text) => text !== null);
  return texts.length === 0 ? null : texts.join(" ");
}
