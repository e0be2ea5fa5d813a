import { Button, Group, Modal, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useMessages } from "../messages";

type Question = {
  title: string;
  text: string;
  ok: string;
  /** What is done can be undone easily. */ harmless?: boolean;
  onOk: () => void;
};

/** A confirmation dialog; Cancel has the initial focus. */
export function useConfirm(): [(question: Question) => void, ReactNode] {
  const t = useMessages();
  const [question, setQuestion] = useState<Question | null>(null);
  const [opened, setOpened] = useState(false);
  const close = () => {
    setOpened(false);
  };
  const dialog = (
    <Modal opened={opened} onClose={close} title={question?.title} centered>
      <Text mb="lg">{question?.text}</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={close} data-autofocus>
          {t("appShell.cancel")}
        </Button>
        <Button
          {...(question?.harmless ? {} : { color: "red" })}
          onClick={() => {
            close();
            question?.onOk();
          }}
        >
          {question?.ok}
        </Button>
      </Group>
    </Modal>
  );
  return [
    (wanted) => {
      setQuestion(wanted);
      setOpened(true);
    },
    dialog,
  ];
}
