import { ActionIcon, type ActionIconProps } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { Suspense, useState, type ReactNode, type Ref } from "react";

import { lazyWithPrefetch } from "./lazyWithPrefetch";

/** An item of a menu. */
export type MenuAction = {
  label: string;
  icon?: ReactNode;
  /** Whether something is lost by it. */
  isDanger?: boolean;
  act: () => void;
};

export type ActionMenuProps = {
  /** What the button is called. */
  label: string;
  /** Lines stand between groups. What is `false` is left out. */
  groups: readonly (readonly (MenuAction | false)[])[];
} & Pick<ActionIconProps, "size" | "variant" | "className">;

/** The menu, of which there is nothing before it is opened: the toolkit's are large, and lists have one in each row. */
export const OpenedActionMenu = lazyWithPrefetch(async () => (await import("./OpenedActionMenu")).OpenedActionMenu);

/** A button with three dots, which opens a menu. */
export function ActionMenu({ groups, ...look }: ActionMenuProps) {
  const [wasOpened, setWasOpened] = useState(false);
  const button = (
    <ActionMenuButton
      {...look}
      onClick={() => {
        setWasOpened(true);
      }}
    />
  );
  if (!wasOpened) return button;
  return (
    <Suspense fallback={button}>
      <OpenedActionMenu {...look} groups={groups} />
    </Suspense>
  );
}

type ButtonProps = Omit<ActionMenuProps, "groups"> & {
  ref?: Ref<HTMLButtonElement>;
  /** The menu gives the button this, and what it says to assistive software. */
  onClick?: () => void;
};

/** The button of a menu. */
export function ActionMenuButton({ label, variant = "subtle", ...rest }: ButtonProps) {
  return (
    <ActionIcon
      variant={variant}
      {...(variant === "subtle" ? { color: "gray" } : {})}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      {...rest}
    >
      <IconDots size={18} aria-hidden />
    </ActionIcon>
  );
}
