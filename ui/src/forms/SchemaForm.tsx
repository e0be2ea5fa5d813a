import "./forms.css";

// The package as a whole names a validator that this page must not have.
import Form from "@rjsf/core/lib/components/Form.js";
import {
  replaceStringParameters,
  TranslatableString,
  type RJSFSchema,
  type TemplatesType,
  type UiSchema,
} from "@rjsf/utils";
import { useImperativeHandle, useMemo, useRef, useState, type Ref } from "react";

import { useMessages, type MessageKey } from "../messages";
import { templates } from "./templates";
import { validatorIn } from "./validator";
import { CheckboxesWidget, CheckboxWidget, SelectWidget, TextareaWidget, TextWidget } from "./widgets";

/** What can be done with a form from outside. */
export type FormHandle = {
  /** Checks the form. Where something is wrong, the form says so and focuses the first such field. */
  validate: () => boolean;
};

type Props = {
  schema: RJSFSchema;
  uiSchema?: UiSchema;
  value: unknown;
  /** `isByUser`: not because the form has filled in defaults by itself. */
  onChange: (value: unknown, isByUser: boolean) => void;
  /** Makes it a form that submits: by Enter, and by a button elsewhere that names its `id`. */
  submit?: { id: string; onSubmit: (value: unknown) => void };
  /** Tells the fields of several forms of a page apart. */
  idPrefix?: string;
  buttons?: Partial<TemplatesType["ButtonTemplates"]>;
  handle?: Ref<FormHandle>;
};

/** Files are entered as the addresses that they are. */
const widgets = { TextWidget, TextareaWidget, SelectWidget, CheckboxWidget, CheckboxesWidget, FileWidget: TextWidget };

const texts: Partial<Record<TranslatableString, MessageKey>> = {
  [TranslatableString.ArrayItemTitle]: "form.item",
  [TranslatableString.MissingItems]: "form.cannot",
  [TranslatableString.YesLabel]: "form.yes",
  [TranslatableString.NoLabel]: "form.no",
  [TranslatableString.NewStringDefault]: "form.newValue",
  [TranslatableString.AddButton]: "form.add",
  [TranslatableString.AddItemButton]: "form.add",
  [TranslatableString.CopyButton]: "form.copy",
  [TranslatableString.MoveUpButton]: "form.up",
  [TranslatableString.MoveDownButton]: "form.down",
  [TranslatableString.RemoveButton]: "form.remove",
  [TranslatableString.ExpandButton]: "form.add",
  [TranslatableString.CycleDetected]: "form.cycle",
  [TranslatableString.OptionPrefix]: "form.option",
  [TranslatableString.TitleOptionPrefix]: "form.titleOption",
  [TranslatableString.Type]: "form.type",
  [TranslatableString.KeyLabel]: "form.key",
  [TranslatableString.UnknownFieldType]: "form.cannot",
  [TranslatableString.InvalidObjectField]: "form.cannot",
  [TranslatableString.UnsupportedField]: "form.cannot",
  [TranslatableString.UnsupportedFieldWithId]: "form.cannot",
  [TranslatableString.UnsupportedFieldWithReason]: "form.cannot",
  [TranslatableString.UnsupportedFieldWithIdAndReason]: "form.cannot",
};

/** A form made of a schema. Errors appear with the first try to send it, and follow what is typed from then on. */
export function SchemaForm({ schema, uiSchema = {}, value, onChange, submit, idPrefix, buttons, handle }: Props) {
  const t = useMessages();
  const [tried, setTried] = useState(false);
  const form = useRef<Form>(null);
  const area = useRef<HTMLDivElement>(null);
  const validator = useMemo(() => validatorIn(t), [t]);
  const translateString = useMemo(
    () =>
      (text: TranslatableString, values: string[] = []) => {
        const key = texts[text];
        return key === undefined
          ? replaceStringParameters(text, values)
          : t(key, { a: values[0] ?? "", b: values[1] ?? "" });
      },
    [t],
  );
  const all = useMemo(() => ({ ...templates, ButtonTemplates: { SubmitButton: () => null, ...buttons } }), [buttons]);
  useImperativeHandle(handle, () => ({ validate: () => form.current?.validateForm() ?? false }), []);
  return (
    <div ref={area} className="form-area">
      <Form
        ref={form}
        className="form"
        // Only a form element submits.
        {...(submit ? { id: submit.id } : { tagName: "div" })}
        {...(idPrefix !== undefined && { idPrefix })}
        schema={schema}
        uiSchema={uiSchema}
        validator={validator}
        templates={all}
        widgets={widgets}
        translateString={translateString}
        formData={value}
        noHtml5Validate
        showErrorList={false}
        liveValidate={tried ? "onChange" : false}
        experimental_defaultFormStateBehavior={{
          emptyObjectFields: "skipEmptyDefaults",
          arrayMinItems: { populate: "requiredOnly" },
        }}
        // What no field has caused comes without the argument for its id.
        onChange={(event, ...id) => {
          onChange(event.formData, id.length > 0);
        }}
        onError={() => {
          setTried(true);
          area.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
        }}
        onSubmit={(event) => {
          submit?.onSubmit(event.formData);
        }}
      />
    </div>
  );
}
