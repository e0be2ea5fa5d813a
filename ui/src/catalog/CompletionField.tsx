import { Autocomplete } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { CompletionTarget } from "../generated/types";

type Props = {
  server: string;
  of: CompletionTarget;
  name: string;
  label: string;
  description?: string | null;
  required?: boolean;
  /** Whether the server completes. */
  completes: boolean;
  /** All arguments as they stand. */
  values: Readonly<Record<string, string>>;
  error?: string | null;
  onChange: (value: string) => void;
};

const DEBOUNCE_MS = 150;

/** A field for one argument with the server's completions. */
export function CompletionField({
  server,
  of,
  name,
  label,
  description,
  required = false,
  completes,
  values,
  error,
  onChange,
}: Props) {
  const { platform } = useCore();
  const [focused, setFocused] = useState(false);
  const [proposed, setProposed] = useState<string[]>([]);
  const value = values[name] ?? "";
  const settled = Object.entries(values).filter(([other, text]) => other !== name && text !== "");
  const [wanted] = useDebouncedValue(
    JSON.stringify({ server, of, argument: name, value, others: Object.fromEntries(settled) }),
    DEBOUNCE_MS,
  );
  useEffect(() => {
    if (!completes || !focused) return;
    let gone = false;
    platform
      .command("servers.complete", JSON.parse(wanted) as Parameters<typeof platform.command<"servers.complete">>[1])
      .then(
        ({ values: all }) => {
          if (!gone) setProposed([...new Set(all)].filter((one) => one !== ""));
        },
        () => {
          // Without proposals one types it whole.
          if (!gone) setProposed([]);
        },
      );
    return () => {
      gone = true;
    };
  }, [platform, completes, focused, wanted]);
  return (
    <Autocomplete
      label={label}
      description={description}
      required={required}
      classNames={{ input: "mono" }}
      spellCheck={false}
      data={proposed}
      // The server has filtered already.
      filter={({ options }) => options}
      value={value}
      error={error}
      onFocus={() => {
        setFocused(true);
      }}
      onBlur={() => {
        setFocused(false);
      }}
      onChange={onChange}
    />
  );
}
