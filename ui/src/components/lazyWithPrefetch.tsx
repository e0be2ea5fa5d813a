import { lazy, useState, type ComponentType } from "react";

/** What is fetched only when it is needed, or ahead of that by `prefetch`. */
export type Later<Props extends object> = ComponentType<Props> & { prefetch: () => Promise<unknown> };

/**
 * A component from a file of its own. What is there already is drawn at once: React would show what
 * stands in for it for a moment even then. To be drawn within a `Suspense`.
 */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): Later<Props> {
  let there: ComponentType<Props> | null = null;
  const fetched = async () => (there = await load());
  const Awaited: ComponentType<Props> = lazy(async () => ({ default: await fetched() }));
  function Later(props: Props) {
    // Another component in its place would begin anew.
    const [Drawn] = useState(() => there ?? Awaited);
    return <Drawn {...props} />;
  }
  return Object.assign(Later, { prefetch: fetched });
}
