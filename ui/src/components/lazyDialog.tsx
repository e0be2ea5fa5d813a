import { useMounted } from "@mantine/hooks";
import { Suspense, useState, type ComponentType } from "react";

import { lazyWithPrefetch, type LazyComponent } from "./lazyWithPrefetch";

/** A dialog that is loaded when it first opens, and stays from then on: it also closes before one's eyes. */
export function lazyDialog<Props extends { opened: boolean }>(
  load: () => Promise<ComponentType<Props>>,
): LazyComponent<Props> {
  const Dialog = lazyWithPrefetch(load);
  /** A dialog gives the focus back to what had it before, which it only knows if it opens after it was mounted. */
  function Mounted(props: Props) {
    const mounted = useMounted();
    return <Dialog {...props} opened={mounted && props.opened} />;
  }
  function Later(props: Props) {
    const [wasOpened, setWasOpened] = useState(false);
    if (props.opened && !wasOpened) setWasOpened(true);
    return (
      wasOpened && (
        <Suspense>
          <Mounted {...props} />
        </Suspense>
      )
    );
  }
  return Object.assign(Later, { prefetch: Dialog.prefetch });
}
