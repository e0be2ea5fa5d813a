import { Suspense, useState } from "react";

import { lazyWithPrefetch } from "../components/lazyWithPrefetch";
import type { AddServerModalProps } from "./AddServerModal";

const AddServerModal = lazyWithPrefetch(async () => (await import("./AddServerModal")).AddServerModal);

/** The dialog that adds a server. It is loaded when it first opens. */
export function AddServerDialog(props: AddServerModalProps) {
  const [wasOpened, setWasOpened] = useState(false);
  if (props.opened && !wasOpened) setWasOpened(true);
  return (
    wasOpened && (
      <Suspense>
        <AddServerModal {...props} />
      </Suspense>
    )
  );
}
