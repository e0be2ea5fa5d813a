import { useId, useImperativeHandle, useMemo, useRef, useState, type Ref } from "react";

import { useMessages } from "../messages";
import { contentOf, type Elicitation, type FormValue } from "./elicitationSchema";
import { SchemaForm, type FormHandle } from "./SchemaForm";

export type ElicitationHandle = {
  /** The answer as JSON text; nothing while something is wrong, which the form then shows. */
  content: () => string | null;
};

/** What a server asks for, as a form. Nothing in it sends the answer. */
export default function ElicitationForm({
  elicitation,
  handle,
}: {
  elicitation: Elicitation;
  handle: Ref<ElicitationHandle>;
}) {
  const t = useMessages();
  const idPrefix = useId();
  const form = useRef<FormHandle>(null);
  const [value, setValue] = useState(elicitation.value);
  const { schema, patterns } = elicitation;
  const uiSchema = useMemo(() => {
    const helped = Object.entries(patterns).map(([name, pattern]) => [
      name,
      { ...(elicitation.uiSchema[name] as object), "ui:help": t("form.pattern", { pattern }) },
    ]);
    return { ...elicitation.uiSchema, ...(Object.fromEntries(helped) as object) };
  }, [elicitation, patterns, t]);
  useImperativeHandle(
    handle,
    () => ({ content: () => (form.current?.validate() ? contentOf(elicitation, value) : null) }),
    [elicitation, value],
  );
  return (
    <SchemaForm
      schema={schema}
      uiSchema={uiSchema}
      value={value}
      idPrefix={idPrefix}
      handle={form}
      onChange={(next) => {
        setValue(next as FormValue);
      }}
    />
  );
}
