import { NativeSelect, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";

import styles from "./FilterBar.module.css";

/** Filters above a list, and actions on what is shown. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <div className={styles.bar}>{children}</div>;
}

type InputProps = { label: string; text: string; onChange: (text: string) => void };

/** A text field that filters a list. */
export function FilterInput({ label, text, onChange }: InputProps) {
  return (
    <TextInput
      size="sm"
      className={styles.text}
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={15} aria-hidden />}
      value={text}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  );
}

type SelectProps<Value extends string> = {
  label: string;
  /** Text of the option that filters nothing. */
  all: string;
  options: readonly (readonly [Value, string])[];
  /** Empty if it filters nothing. */
  value: Value | "";
  onChange: (value: Value | "") => void;
};

/** A choice that filters a list. */
export function FilterSelect<Value extends string>({ label, all, options, value, onChange }: SelectProps<Value>) {
  return (
    <NativeSelect
      size="sm"
      aria-label={label}
      data={[{ value: "", label: all }, ...options.map(([option, text]) => ({ value: option, label: text }))]}
      value={value}
      onChange={(event) => {
        const wanted = event.currentTarget.value;
        onChange(options.find(([option]) => option === wanted)?.[0] ?? "");
      }}
    />
  );
}
