import { Button } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";

import { VirtualList, type VirtualListProps } from "./VirtualList";

type Props<Item> = Omit<VirtualListProps<Item>, "toEndButton"> & {
  /** Text of the button that returns to the end. */
  toEndLabel: string;
};

/** A list with the newest item at the bottom, which stays at its end until the user scrolls up. */
export function FollowingList<Item>({ toEndLabel, ...list }: Props<Item>) {
  return (
    <VirtualList
      {...list}
      toEndButton={(toEnd) => (
        <Button size="xs" leftSection={<IconArrowDown size={14} aria-hidden />} onClick={toEnd}>
          {toEndLabel}
        </Button>
      )}
    />
  );
}
