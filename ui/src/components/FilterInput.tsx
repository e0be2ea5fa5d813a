import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";

type Props = { label: string; text: string; onChange: (text: string) => void };

/** A text field that filters a list. */
export function FilterInput({ label, text, onChange }: Props) {
  return (
    <TextInput
      size="sm"
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
