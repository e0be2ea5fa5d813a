import { useState } from "react";

import type { FilledSettings } from "../forms/composedSecrets";
import { RegistryEntryView } from "./RegistryEntryView";
import type { WantedEntry } from "./registryForm";
import { RegistryList } from "./RegistryList";

type Props = {
  /** The entry that is shown first, where one is wanted. */
  wanted?: WantedEntry | null;
  /** Takes the settings over into the form, where they can be tried and added. */
  onFill: (filled: FilledSettings) => void;
  /** Lets the user choose the file of a bundle, which must have this hash. */
  onBundle: (sha256: string | null) => void;
};

/** Looks for a server in the MCP registry and fills the form in with what it says. Nothing is added here. */
export function RegistryPanel({ wanted = null, onFill, onBundle }: Props) {
  const [entry, setEntry] = useState(wanted);
  const [text, setText] = useState("");
  return entry === null ? (
    <RegistryList text={text} onText={setText} onOpen={setEntry} />
  ) : (
    <RegistryEntryView
      wanted={entry}
      onBack={() => {
        setEntry(null);
      }}
      onFill={onFill}
      onBundle={onBundle}
    />
  );
}
