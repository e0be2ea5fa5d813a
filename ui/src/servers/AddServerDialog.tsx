import { Modal } from "@mantine/core";
import { Suspense } from "react";

import { useMessages } from "../messages";
import { lazyWithPrefetch } from "../components/lazyWithPrefetch";
import { LoadingIndicator } from "../components/LoadingIndicator";

/** The form within the dialog. */
export const AddServerForm = lazyWithPrefetch(async () => (await import("./AddServerForm")).AddServerForm);

type Props = { opened: boolean; onClose: () => void };

/** The dialog that adds a server. Its content, secrets included, is dropped when it closes. */
export function AddServerDialog({ opened, onClose }: Props) {
  const t = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={t("servers.form.add")} size="lg" closeOnClickOutside={false}>
      {opened && (
        <Suspense fallback={<LoadingIndicator />}>
          <AddServerForm onClose={onClose} />
        </Suspense>
      )}
    </Modal>
  );
}
