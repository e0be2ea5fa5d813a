import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useSyncExternalStore, type ReactNode } from "react";

import { useMessages } from "../../messages";
import { BLOCK_CHARS, createBlockStore, blockText, type ArgumentText } from "./textBlocks";
import { MarkedText } from "./MarkedText";
import { useNearViewport } from "./useNearViewport";

/** Estimated height of a full block in pixels, until it is measured. */
const HEIGHT = 648;
const NAME = 18;

type Props = { sources: readonly ArgumentText[]; mask: (argument: number) => ReactNode };

/** Large arguments: only visible blocks are rendered, and none while the element is far from the viewport. */
export function LargeArguments({ sources, mask }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const near = useNearViewport(area);
  return (
    <div
      className="ask-arguments ask-arguments-large selectable"
      ref={area}
      tabIndex={0}
      role="group"
      aria-label={t("ask.arguments")}
    >
      {near && <Blocks area={area} sources={sources} mask={mask} />}
    </div>
  );
}

function Blocks({ area, sources, mask }: Props & { area: { current: HTMLDivElement | null } }) {
  const blocks = useMemo(() => createBlockStore(sources), [sources]);
  const count = useSyncExternalStore(blocks.subscribe, blocks.count);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count,
    getScrollElement: () => area.current,
    estimateSize: (at) => {
      const { isName = true, start = 0, end = 0 } = blocks.all[at] ?? {};
      return isName ? NAME : Math.max(NAME, ((end - start) / BLOCK_CHARS) * HEIGHT);
    },
    overscan: 1,
  });
  return (
    <div style={{ height: rows.getTotalSize(), position: "relative" }}>
      {rows.getVirtualItems().map((row) => {
        const block = blocks.all[row.index];
        const source = block && sources[block.argument];
        if (!source) return null;
        return (
          <div
            key={row.key}
            ref={rows.measureElement}
            data-index={row.index}
            className={block.isName ? "ask-block ask-block-name" : "ask-block"}
            style={{ transform: `translateY(${String(row.start)}px)` }}
          >
            <MarkedText text={block.isName ? source.name : blockText(source.text, block)} />
            {block.isName && mask(block.argument)}
          </div>
        );
      })}
    </div>
  );
}
