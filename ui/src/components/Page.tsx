import { Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: ReactNode; actions?: ReactNode; children: ReactNode };

/** A page: its heading with what can be done, and below it what scrolls. */
export function Page({ title, actions, children }: Props) {
  return (
    <div className="page">
      <header className="page-head">
        <Title order={1} size="h2" className="page-title">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </header>
      <div className="page-body" data-testid="page-body">
        {children}
      </div>
    </div>
  );
}
