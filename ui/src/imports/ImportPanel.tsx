import { useState } from "react";

import type { ImportOrigin } from "../generated/types";
import { ImportChecklist } from "./ImportChecklist";
import { ImportSources } from "./ImportSources";

type Props = {
  /** What is imported from first; the user picks where absent. */
  from: ImportOrigin | null;
  onClose: () => void;
};

/** Imports servers of another application: first which, then which servers. */
export function ImportPanel({ from: first, onClose }: Props) {
  const [from, setFrom] = useState(first);
  if (from === null) return <ImportSources onPick={setFrom} />;
  return (
    <ImportChecklist
      from={from}
      onBack={() => {
        setFrom(null);
      }}
      onDone={onClose}
    />
  );
}
