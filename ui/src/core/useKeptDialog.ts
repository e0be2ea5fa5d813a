// A dialog that edits something. Closed with its window, it is open again in the next one, with what was entered in it.

import { useState } from "react";

import { keepPageState, usePageState } from "./pageState";

export type KeptDialog = {
  opened: boolean;
  /** Id of what is edited; `null` for something new. It stays the same while the dialog closes. */
  id: string | null;
  /** Name under which its form keeps what is entered, until the dialog closes. */
  formName: string;
  open: (id: string | null) => void;
  close: () => void;
};

/** The dialog with this name, which must stay the same. */
export function useKeptDialog(name: string): KeptDialog {
  const [about, setAbout] = usePageState<{ id: string | null } | null>(name, null);
  const [last, setLast] = useState(about);
  if (about !== null && about !== last) setLast(about);
  const formName = `${name}.form`;
  return {
    opened: about !== null,
    id: last?.id ?? null,
    formName,
    open: (id) => {
      // What was edited may be gone, and its dialog with it, without having been closed.
      keepPageState(formName, undefined);
      setAbout({ id });
    },
    close: () => {
      setAbout(null);
      keepPageState(formName, undefined);
    },
  };
}
