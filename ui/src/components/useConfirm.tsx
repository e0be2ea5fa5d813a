import { useState, type ReactNode } from "react";

import { lazyDialog } from "./lazyDialog";

export type Question = {
  title: string;
  text: string;
  ok: string;
  /** What is done can be undone easily. */
  harmless?: boolean;
  onOk: () => void;
};

export const ConfirmDialog = lazyDialog(async () => (await import("./ConfirmDialog")).ConfirmDialog);

/** A confirmation dialog. */
export function useConfirm(): [(question: Question) => void, ReactNode] {
  const [question, setQuestion] = useState<Question | null>(null);
  const [opened, setOpened] = useState(false);
  const dialog = (
    <ConfirmDialog
      question={question}
      opened={opened}
      onClose={() => {
        setOpened(false);
      }}
    />
  );
  return [
    (wanted) => {
      setQuestion(wanted);
      setOpened(true);
    },
    dialog,
  ];
}
