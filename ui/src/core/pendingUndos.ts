// What can be undone now, for the keyboard shortcut: the same as the notifications with Undo that are shown.

type Undo = () => void;

const undos: Undo[] = [];

/** Adds something that can be undone. Returns what withdraws it. */
export function offerUndo(undo: Undo): () => void {
  undos.push(undo);
  return () => {
    const at = undos.indexOf(undo);
    if (at !== -1) undos.splice(at, 1);
  };
}

/** Undoes what was offered last. Returns whether there was anything. */
export function undoLast(): boolean {
  const undo = undos.pop();
  undo?.();
  return undo !== undefined;
}
