import { Menu } from "@mantine/core";
import { useMounted } from "@mantine/hooks";
import { Fragment, useEffect, useRef, useState } from "react";

import { ActionMenuButton, type ActionMenuProps } from "./ActionMenu";

/** A menu, which opens as soon as it is there. */
export function OpenedActionMenu({ groups, ...look }: ActionMenuProps) {
  const [opened, setOpened] = useState(true);
  const target = useRef<HTMLButtonElement>(null);
  // The menu gives the focus back to what had it before it opened: to this button, which is a new one.
  const mounted = useMounted();
  useEffect(() => {
    target.current?.focus();
  }, []);
  const shown = groups.map((group) => group.filter((action) => action !== false)).filter(({ length }) => length > 0);
  return (
    <Menu position="bottom-end" opened={mounted && opened} onChange={setOpened}>
      <Menu.Target>
        <ActionMenuButton {...look} ref={target} />
      </Menu.Target>
      <Menu.Dropdown>
        {shown.map((group, index) => (
          <Fragment key={group[0]?.label}>
            {index > 0 && <Menu.Divider />}
            {group.map(({ label, icon, isDanger, act }) => (
              <Menu.Item key={label} leftSection={icon} {...(isDanger ? { color: "red" } : {})} onClick={act}>
                {label}
              </Menu.Item>
            ))}
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
