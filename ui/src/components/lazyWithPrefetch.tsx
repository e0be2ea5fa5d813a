import { lazy, useState, type ComponentType } from "react";

/** What can be loaded ahead of time. */
export type Prefetched = { prefetch: () => Promise<unknown> };

/** A lazily loaded component; `prefetch` loads it ahead of time. */
export type LazyComponent<Props extends object> = ComponentType<Props> & Prefetched;

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

/** Prefetches one after the other when the page is idle. A failed one is loaded again on demand. */
export function prefetchWhenIdle(all: readonly Prefetched[]): void {
  idle(async () => {
    for (const one of all) await one.prefetch().catch(() => undefined);
  });
}

/** Not every web view knows when it is idle. */
function idle(act: () => Promise<void>) {
  const begin = () => void act();
  if ("requestIdleCallback" in window) window.requestIdleCallback(begin, { timeout: 2000 });
  else setTimeout(begin, 500);
}
