import { Modal } from "@mantine/core";
import { Suspense } from "react";

import { useMessages } from "../messages";
import { later } from "../components/lazyWithPrefetch";
import { Waiting } from "../components/LoadingIndicator";

/** The form within the dialog. */
export const AddForm = later(async () => (await import("./AddServerForm")).AddForm);

type Props = { opened: boolean; taken: readonly string[]; onClose: () => void };

/** The dialog that adds a server. What is in it is gone when it is closed, secrets first of all. */
export function AddServer({ opened, taken, onClose }: Props) {
  const t = useMessages();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("servers.form.add")}
      size="lg"
      closeOnClickOutside={false}
    >
      {opened && (
        <Suspense fallback={<Waiting />}>
          <AddForm taken={taken} onClose={onClose} />
        </Suspense>
      )}
    </Modal>
  );
}
