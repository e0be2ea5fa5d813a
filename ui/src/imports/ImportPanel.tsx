import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { ImportOrigin } from "../generated/types";
import { ImportChecklist } from "./ImportChecklist";
import { ImportSources } from "./ImportSources";

type Props = {
  /** What is imported from first; the user picks where absent. */
  from: ImportOrigin | null;
  onClose: () => void;
};

/**
 * Imports servers of another application: first which, then which servers. Where only one has any, it is opened at once;
 * the user can go back to all of them.
 */
export function ImportPanel({ from: first, onClose }: Props) {
  const [from, setFrom] = useState(first);
  const { data } = useCoreQuery("imports.sources", {});
  const queries = useQueryClient();
  const [isRead, setRead] = useState(false);
  // No event says that a file of another application has changed.
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ["imports.sources"] }).then(() => {
      setRead(true);
    });
  }, [queries]);
  // Only what is found first opens something: later the user may be typing.
  const [isSettled, setSettled] = useState(first !== null);
  if (!isSettled && isRead && data) {
    setSettled(true);
    const [only, second] = data.filter(({ servers }) => servers > 0);
    if (from === null && only && !second) setFrom({ file: only.file });
  }
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
