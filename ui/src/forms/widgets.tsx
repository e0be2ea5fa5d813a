import {
  descriptionId,
  enumOptionsIndexForValue,
  enumOptionsValueForIndex,
  errorId,
  getInputProps,
  helpId,
  optionId,
  type BaseInputTemplateProps,
  type WidgetProps,
} from "@rjsf/utils";

import { MarkedText } from "../components/MarkedText";
import { useMessages } from "../messages";
import { seen } from "../components/invisibleChars";

/** What an input says of itself: the texts around it, and whether it has to be filled in or is wrong. */
function aria({
  id,
  required,
  rawErrors,
}: {
  id: string;
  required?: boolean | undefined;
  rawErrors?: string[] | undefined;
}) {
  return {
    "aria-describedby": `${errorId(id)} ${descriptionId(id)} ${helpId(id)}`,
    "aria-required": required,
    "aria-invalid": rawErrors !== undefined && rawErrors.length > 0,
  };
}

/** The name of a field as its server gives it. */
export function FieldName({ name, required }: { name: string; required: boolean | undefined }) {
  const t = useMessages();
  return (
    <>
      <MarkedText text={seen(name)} />
      {required && (
        <span className="form-required" title={t("form.required")}>
          {" *"}
        </span>
      )}
    </>
  );
}

/** An input of one line, of the type that its schema wants. */
export function Input({
  id,
  htmlName,
  schema,
  options,
  required,
  disabled,
  readonly,
  autofocus,
  rawErrors,
  type,
  onChange,
  ...rest
}: BaseInputTemplateProps) {
  const value: unknown = rest.value;
  const { type: kind, min, max, step } = getInputProps(schema, typeof type === "string" ? type : undefined, options);
  return (
    <input
      id={id}
      name={htmlName ?? id}
      className="form-control"
      type={kind}
      min={min}
      max={max}
      // Moments have seconds.
      step={kind === "datetime-local" ? 1 : step}
      {...aria({ id, required, rawErrors })}
      // What is asked for in a form belongs to no other site.
      autoComplete="off"
      autoFocus={autofocus}
      disabled={disabled}
      readOnly={readonly}
      value={typeof value === "string" || typeof value === "number" ? value : ""}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        onChange(typed === "" ? options.emptyValue : typed);
      }}
    />
  );
}

/** How much of a text decides about the height of its field, which has a limit. */
const MEASURED_CHARS = 4000;

/** A text that grows with what is typed, or stays in one line where the form says so; everything else is as its type wants it. */
export function TextWidget(props: WidgetProps) {
  const { schema, options, registry } = props;
  const { BaseInputTemplate } = registry.templates;
  if (schema.type !== "string" || schema.format !== undefined || options.oneLine === true)
    return <BaseInputTemplate {...props} />;
  return <TextareaWidget {...props} least={1} />;
}

export function TextareaWidget({
  id,
  options,
  disabled,
  readonly,
  onChange,
  least = 3,
  ...rest
}: WidgetProps & { least?: number }) {
  const text = typeof rest.value === "string" ? rest.value : "";
  return (
    // The text once more, unseen: it makes the field as high as it is with its lines broken.
    <div className="form-text" data-text={text.slice(0, MEASURED_CHARS)}>
      <textarea
        id={id}
        className="form-control"
        rows={least}
        spellCheck={false}
        {...aria({ id, ...rest })}
        disabled={disabled}
        readOnly={readonly}
        value={text}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          onChange(typed === "" ? options.emptyValue : typed);
        }}
      />
    </div>
  );
}

/** One of several options; several of them are boxes. */
export function SelectWidget(props: WidgetProps) {
  const t = useMessages();
  if (props.multiple) return <CheckboxesWidget {...props} />;
  const { id, options, required, disabled, readonly, onChange } = props;
  const { enumOptions = [] } = options;
  const at = enumOptionsIndexForValue(props.value, enumOptions);
  const chosen = typeof at === "string" ? at : "";
  return (
    <select
      id={id}
      className="form-control"
      {...aria(props)}
      disabled={[disabled, readonly].includes(true)}
      value={chosen}
      onChange={(event) => {
        onChange(enumOptionsValueForIndex(event.currentTarget.value, enumOptions, options.emptyValue));
      }}
    >
      {(chosen === "" || !required) && <option value="">{t("form.none")}</option>}
      {enumOptions.map(({ label }, index) => (
        <option key={index} value={String(index)}>
          {seen(label)}
        </option>
      ))}
    </select>
  );
}

/** Any of several options. The values keep the order of the options; none at all is left out where it may be. */
export function CheckboxesWidget(props: WidgetProps) {
  const { id, label, options, required, disabled, readonly, onChange } = props;
  const { enumOptions = [] } = options;
  const chosen: readonly unknown[] = Array.isArray(props.value) ? (props.value as unknown[]) : [];
  const { "aria-invalid": isWrong, "aria-describedby": describedBy } = aria(props);
  return (
    <fieldset id={id} className="form-choices" aria-describedby={describedBy}>
      <legend>
        <FieldName name={label} required={required} />
      </legend>
      {enumOptions.map((option, index) => (
        <label key={index} className="form-option">
          <input
            type="checkbox"
            id={optionId(id, index)}
            aria-invalid={isWrong}
            disabled={[disabled, readonly].includes(true)}
            checked={chosen.includes(option.value)}
            onChange={(event) => {
              const isOn = event.currentTarget.checked;
              const next = enumOptions
                .map(({ value }: { value: unknown }) => value)
                .filter((value) => (value === option.value ? isOn : chosen.includes(value)));
              onChange(next.length > 0 || required ? next : undefined);
            }}
          />
          <span>
            <MarkedText text={seen(option.label)} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Yes or no. */
export function CheckboxWidget(props: WidgetProps) {
  const { id, label, hideLabel, schema, uiSchema, options, disabled, readonly, registry, onChange } = props;
  const { DescriptionFieldTemplate } = registry.templates;
  return (
    <>
      <label className="form-option">
        <input
          type="checkbox"
          id={id}
          {...aria({ ...props, required: false })}
          disabled={[disabled, readonly].includes(true)}
          checked={props.value === true}
          onChange={(event) => {
            onChange(event.currentTarget.checked);
          }}
        />
        {!hideLabel && (
          <span>
            <MarkedText text={seen(label)} />
          </span>
        )}
      </label>
      <DescriptionFieldTemplate
        id={descriptionId(id)}
        description={options.description ?? schema.description ?? ""}
        schema={schema}
        uiSchema={uiSchema ?? {}}
        registry={registry}
      />
    </>
  );
}
