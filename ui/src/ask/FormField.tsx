import { useId, type ReactNode } from "react";

import { useMessages } from "../messages";
import { MarkedText } from "../approvals/arguments/MarkedText";
import { seen, type Fault, type Field, type Value } from "./fields";

type Props = { field: Field; value: Value; fault: Fault | undefined; onChange: (value: Value) => void };

const types = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" } as const;

/** One field, as its kind wants it. */
export function FormField({ field, value, fault, onChange }: Props) {
  const t = useMessages();
  const id = useId();
  const { kind, title, description, required } = field;
  const name = <MarkedText text={seen(title)} />;
  const star = required && (
    <span className="ask-required" title={t("ask.required")}>
      {" *"}
    </span>
  );
  const said = (
    <span id={`${id}-said`} className="ask-field-said">
      {description !== null && (
        <span className="ask-dim">
          <MarkedText text={seen(description)} />
        </span>
      )}
      {kind.is === "text" && kind.pattern !== null && (
        <span className="ask-dim">{t("ask.form.pattern", { pattern: seen(kind.pattern) })}</span>
      )}
      {fault && (
        <span className="ask-fault" role="alert">
          {t(fault.key, fault.values)}
        </span>
      )}
    </span>
  );
  const common = {
    id,
    className: "ask-input",
    "aria-describedby": `${id}-said`,
    "aria-required": required,
    "aria-invalid": fault !== undefined,
  };
  const labelled = (input: ReactNode) => (
    <div className="ask-field">
      <label htmlFor={id}>
        {name}
        {star}
      </label>
      {input}
      {said}
    </div>
  );
  switch (kind.is) {
    case "boolean":
      return (
        <div className="ask-field">
          <label className="ask-option">
            <input
              type="checkbox"
              aria-describedby={`${id}-said`}
              checked={value === true}
              onChange={(event) => {
                onChange(event.currentTarget.checked);
              }}
            />
            <span>{name}</span>
          </label>
          {said}
        </div>
      );
    case "one":
      return labelled(
        <select
          {...common}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => {
            onChange(event.currentTarget.value);
          }}
        >
          {(value === "" || !required) && <option value="">{t("ask.form.none")}</option>}
          {kind.options.map((option) => (
            <option key={option.value} value={option.value}>
              {seen(option.label)}
            </option>
          ))}
        </select>,
      );
    case "many": {
      const chosen: readonly string[] = Array.isArray(value) ? value : [];
      return (
        <fieldset className="ask-field ask-choice" aria-describedby={`${id}-said`}>
          <legend>
            {name}
            {star}
          </legend>
          {kind.options.map((option) => (
            <label key={option.value} className="ask-option">
              <input
                type="checkbox"
                checked={chosen.includes(option.value)}
                onChange={(event) => {
                  const on = event.currentTarget.checked;
                  onChange(
                    kind.options
                      .map((one) => one.value)
                      .filter((one) => (one === option.value ? on : chosen.includes(one))),
                  );
                }}
              />
              <MarkedText text={seen(option.label)} />
            </label>
          ))}
          {said}
        </fieldset>
      );
    }
    case "number":
      return labelled(
        <Typed {...common} type="number" step={kind.whole ? 1 : "any"} value={value} onChange={onChange} />,
      );
    case "text": {
      if (kind.format === null && kind.most !== null && kind.most > 200) {
        return labelled(
          <textarea
            {...common}
            rows={3}
            value={typeof value === "string" ? value : ""}
            onChange={(event) => {
              onChange(event.currentTarget.value);
            }}
          />,
        );
      }
      const type = kind.format === null ? "text" : types[kind.format];
      return labelled(
        <Typed
          {...common}
          type={type}
          step={kind.format === "date-time" ? 1 : undefined}
          value={value}
          onChange={onChange}
        />,
      );
    }
  }
}

type TypedProps = {
  id: string;
  className: string;
  type: string;
  step?: number | string | undefined;
  value: Value;
  onChange: (value: Value) => void;
};

function Typed({ value, onChange, ...rest }: TypedProps) {
  return (
    <input
      {...rest}
      // What is asked for here belongs to no other site.
      autoComplete="off"
      value={typeof value === "string" ? value : ""}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  );
}
