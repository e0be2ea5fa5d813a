import { useEffect, useState, type RefObject } from "react";

/** Whether an element has come near to where it can be seen. It stays so from then on. */
export function useNear(element: RefObject<Element | null>): boolean {
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
