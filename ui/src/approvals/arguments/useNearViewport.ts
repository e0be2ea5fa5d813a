import { useEffect, useState, type RefObject } from "react";

/** Whether an element has been within 400 px of the viewport. Stays true from then on. */
export function useNearViewport(element: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (near || !current) return;
    const observer = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) setNear(true);
      },
      { rootMargin: "400px 0px" },
    );
    observer.observe(current);
    return () => {
      observer.disconnect();
    };
  }, [element, near]);
  return near;
}
