import { useId } from "react";
import styles from "./RadioChoice.module.css";

type Props<Value extends string> = {
  label: string;
  options: readonly (readonly [Value, string])[];
  value: Value;
  onChange: (value: Value) => void;
};

/** A group of radio buttons. */
export function RadioChoice<Value extends string>({ label, options, value, onChange }: Props<Value>) {
  const name = useId();
  return (
    <fieldset className={styles.choice}>
      <legend>{label}</legend>
      {options.map(([option, text]) => (
        <label key={option} className={styles.option}>
          <input
            type="radio"
            name={name}
            checked={option === value}
            onChange={() => {
              onChange(option);
            }}
          />
          <span className={styles.text}>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
