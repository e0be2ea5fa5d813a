import clsx from "clsx";
import { useMemo, useRef, useSyncExternalStore, type ReactNode } from "react";

import { VirtualList } from "../../components/VirtualList";
import { useMessages } from "../../messages";
import { MarkedText } from "../../components/MarkedText";
import { BLOCK_CHARS, blockText, createBlockStore, emptyBlockStore, type ArgumentText, type Block } from "./textBlocks";
import { useNearViewport } from "./useNearViewport";
import callArgumentsStyles from "./CallArguments.module.css";
import styles from "./LargeArguments.module.css";

/** Estimated height of a full block in pixels, until it is measured. */
const HEIGHT = 648;
const NAME = 18;

type Props = { sources: readonly ArgumentText[]; mask: (argument: number) => ReactNode };

/** Large arguments: only visible blocks are rendered, and none while the element is far from the viewport. */
export function LargeArguments({ sources, mask }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const near = useNearViewport(area);
  const blocks = useMemo(() => (near ? createBlockStore(sources) : emptyBlockStore), [near, sources]);
  useSyncExternalStore(blocks.subscribe, blocks.count);
  return (
    <VirtualList
      area={area}
      role="group"
      label={t("ask.arguments")}
      className={clsx(callArgumentsStyles.arguments, callArgumentsStyles.large, "selectable")}
      rowClassName={styles.block}
      items={blocks.all}
      rowHeight={estimatedHeight}
      measured
      overscan={1}
    >
      {(block) => {
        const source = sources[block.argument];
        if (!source) return null;
        return block.isName ? (
          <span className={styles.name}>
            <MarkedText text={source.name} />
            {mask(block.argument)}
          </span>
        ) : (
          <MarkedText text={blockText(source.text, block)} />
        );
      }}
    </VirtualList>
  );
}

function estimatedHeight({ isName, start, end }: Block): number {
  return isName ? NAME : Math.max(NAME, ((end - start) / BLOCK_CHARS) * HEIGHT);
}
