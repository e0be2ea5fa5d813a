import { lazy, useState, type ComponentType } from "react";

/** A lazily loaded component; `prefetch` loads it ahead of time. */
export type LazyComponent<Props extends object> = ComponentType<Props> & { prefetch: () => Promise<unknown> };

/**
 * A lazily loaded component. If it is loaded already, it renders at once, where `lazy` would show
 * the fallback for a moment. Must be rendered within a `Suspense`.
 */
export function lazyWithPrefetch<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyComponent<Props> {
  let there: ComponentType<Props> | null = null;
  const fetched = async () => (there = await load());
  const Awaited: ComponentType<Props> = lazy(async () => ({ default: await fetched() }));
  function Later(props: Props) {
    // Replacing the component would reset its state.
    const [Drawn] = useState(() => there ?? Awaited);
    return <Drawn {...props} />;
  }
  return Object.assign(Later, { prefetch: fetched });
}
