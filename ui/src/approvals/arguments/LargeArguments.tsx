import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useSyncExternalStore, type ReactNode } from "react";

import { useMessages } from "../../messages";
import { BLOCK, blocksInPieces, blockText, type Source } from "./textBlocks";
import { Marked } from "./MarkedText";
import { useNear } from "./useNearViewport";

/** A guess at the height of a whole block, until it was drawn. */
const HEIGHT = 648;
const NAME = 18;

type Props = { sources: readonly Source[]; mask: (argument: number) => ReactNode };

/** Huge arguments: only the blocks in sight are drawn, and none while the whole is far from sight. */
export function LargeArguments({ sources, mask }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const near = useNear(area);
  return (
    <div className="ask-arguments ask-arguments-large selectable" ref={area} tabIndex={0} role="group" aria-label={t("ask.arguments")}>
      {near && <Drawn area={area} sources={sources} mask={mask} />}
    </div>
  );
}

function Drawn({ area, sources, mask }: Props & { area: { current: HTMLDivElement | null } }) {
  const blocks = useMemo(() => blocksInPieces(sources), [sources]);
  const count = useSyncExternalStore(blocks.subscribe, blocks.count);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count,
    getScrollElement: () => area.current,
    estimateSize: (at) => {
      const { isName = true, start = 0, end = 0 } = blocks.all[at] ?? {};
      return isName ? NAME : Math.max(NAME, ((end - start) / BLOCK) * HEIGHT);
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
            <Marked text={block.isName ? source.name : blockText(source.text, block)} />
            {block.isName && mask(block.argument)}
          </div>
        );
      })}
    </div>
  );
}
