import "./arguments.css";

// The package as a whole names a validator that this page must not have.
import Form from "@rjsf/core/lib/components/Form.js";
import { replaceStringParameters, TranslatableString, type RJSFSchema } from "@rjsf/utils";
import { useMemo, useState } from "react";

import { useMessages, type MessageKey } from "../messages";
import { templates, TextWidget } from "./templates";
import { validatorIn } from "./validator";

type Props = {
  schema: RJSFSchema;
  value: unknown;
  onChange: (value: unknown) => void;
  onSend: (value: unknown) => void;
  id: string;
};

/** Files are entered as the addresses that they are. */
const widgets = { TextWidget, FileWidget: TextWidget };

const words: Partial<Record<TranslatableString, MessageKey>> = {
  [TranslatableString.ArrayItemTitle]: "try.form.item",
  [TranslatableString.MissingItems]: "try.form.cannot",
  [TranslatableString.YesLabel]: "try.form.yes",
  [TranslatableString.NoLabel]: "try.form.no",
  [TranslatableString.NewStringDefault]: "try.form.newValue",
  [TranslatableString.AddButton]: "try.form.add",
  [TranslatableString.AddItemButton]: "try.form.add",
  [TranslatableString.CopyButton]: "try.form.copy",
  [TranslatableString.MoveUpButton]: "try.form.up",
  [TranslatableString.MoveDownButton]: "try.form.down",
  [TranslatableString.RemoveButton]: "try.form.remove",
  [TranslatableString.ExpandButton]: "try.form.add",
  [TranslatableString.CycleDetected]: "try.form.cycle",
  [TranslatableString.OptionPrefix]: "try.form.option",
  [TranslatableString.TitleOptionPrefix]: "try.form.titleOption",
  [TranslatableString.Type]: "try.form.type",
  [TranslatableString.KeyLabel]: "try.form.key",
  [TranslatableString.UnknownFieldType]: "try.form.cannot",
  [TranslatableString.InvalidObjectField]: "try.form.cannot",
  [TranslatableString.UnsupportedField]: "try.form.cannot",
  [TranslatableString.UnsupportedFieldWithId]: "try.form.cannot",
  [TranslatableString.UnsupportedFieldWithReason]: "try.form.cannot",
  [TranslatableString.UnsupportedFieldWithIdAndReason]: "try.form.cannot",
};

/** The arguments of a tool as a form made from its schema. Its button is elsewhere: it names this form by `id`. */
export function ArgumentsForm({ schema, value, onChange, onSend, id }: Props) {
  const t = useMessages();
  const [tried, setTried] = useState(false);
  const validator = useMemo(() => validatorIn(t), [t]);
  const say = useMemo(
    () =>
      (text: TranslatableString, values: string[] = []) => {
        const key = words[text];
        if (key === undefined) return replaceStringParameters(text, values);
        return t(key, { a: values[0] ?? "", b: values[1] ?? "" });
      },
    [t],
  );
  return (
    <Form
      id={id}
      className="args"
      schema={schema}
      validator={validator}
      templates={templates}
      widgets={widgets}
      translateString={say}
      formData={value}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      liveValidate={tried ? "onChange" : false}
      experimental_defaultFormStateBehavior={{
        emptyObjectFields: "skipEmptyDefaults",
        arrayMinItems: { populate: "requiredOnly" },
      }}
      onChange={(event) => {
        onChange(event.formData);
      }}
      onError={() => {
        setTried(true);
      }}
      onSubmit={(event) => {
        onSend(event.formData);
      }}
    />
  );
}
