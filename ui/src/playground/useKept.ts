import { useState } from "react";

/** A value by its key; what it was last, while the same key has none. */
export function useKept<Value>(key: string | null, value: Value | undefined): Value | undefined {
  const [kept, setKept] = useState<{ key: string | null; value: Value } | null>(null);
  if (value !== undefined && (kept?.key !== key || kept.value !== value)) setKept({ key, value });
  return value ?? (kept !== null && kept.key === key ? kept.value : undefined);
}
