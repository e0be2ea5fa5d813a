import { Button, Group, Modal, Text } from "@mantine/core";

import { useMessages } from "../messages";
import type { Question } from "./useConfirm";

type Props = { question: Question | null; opened: boolean; onClose: () => void };

/** A question before something is done; Cancel has the initial focus. */
export function ConfirmDialog({ question, opened, onClose }: Props) {
  const t = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={question?.title} centered>
      <Text mb="lg">{question?.text}</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose} data-autofocus>
          {t("appShell.cancel")}
        </Button>
        <Button
          {...(question?.harmless ? {} : { color: "red" })}
          onClick={() => {
            onClose();
            question?.onOk();
          }}
        >
          {question?.ok}
        </Button>
      </Group>
    </Modal>
  );
}
