import { fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { VirtualList, type VirtualListProps } from "./VirtualList";

const ROW = 20;
const VISIBLE = 100;

/** The document has no layout here: areas are 100 pixels high, and scroll to wherever they are told. */
beforeEach(() => {
  HTMLElement.prototype.scrollTo = function (options?: ScrollToOptions | number) {
    this.scrollTop = typeof options === "object" ? (options.top ?? 0) : 0;
  };
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(VISIBLE);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(VISIBLE);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(VISIBLE);
});

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

function list(items: readonly number[], differs: Partial<VirtualListProps<number>> = {}) {
  return (
    <VirtualList role="list" label="Numbers" items={items} itemKey={(item) => item} rowHeight={ROW} {...differs}>
      {(item) => <span>{item}</span>}
    </VirtualList>
  );
}

describe("a virtual list", () => {
  it("renders only rows near the visible part, with their position in the whole", () => {
    render(list(numbers(0, 10_000)));
    const rows = screen.getAllByRole("listitem");
    expect(rows.length).toBeGreaterThanOrEqual(VISIBLE / ROW);
    expect(rows.length).toBeLessThan(40);
    expect(rows[2]?.getAttribute("aria-setsize")).toBe("10000");
    expect(rows[2]?.getAttribute("aria-posinset")).toBe("3");
  });

  it.each([
    ["region", "list", "listitem"],
    ["listbox", null, "option"],
  ] as const)("has the roles of a %s", (role, inner, row) => {
    render(list([1, 2], { role }));
    expect(screen.getByRole(role, { name: "Numbers" })).toBeTruthy();
    if (inner) expect(screen.getByRole(inner)).toBeTruthy();
    expect(screen.getAllByRole(row)).toHaveLength(2);
  });

  it("asks for earlier items near the start and keeps the visible ones in place", () => {
    vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(100 * ROW);
    const onNearStart = vi.fn();
    const { rerender } = render(list(numbers(100, 200), { onNearStart }));
    const area = screen.getByRole("list");
    area.scrollTop = 600;
    fireEvent.scroll(area);
    expect(onNearStart).not.toHaveBeenCalled();
    area.scrollTop = 200;
    fireEvent.scroll(area);
    expect(onNearStart).toHaveBeenCalled();
    rerender(list(numbers(50, 200), { onNearStart }));
    expect(area.scrollTop).toBe(200 + 50 * ROW);
  });

  it("follows its end until the user scrolls up, and returns there by its button", () => {
    vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(1000);
    const toEndButton = (toEnd: () => void) => <button onClick={toEnd} aria-label="Newest" />;
    const { rerender } = render(list(numbers(0, 50), { toEndButton }));
    const area = screen.getByRole("list");
    expect(area.scrollTop).toBe(1000);
    area.scrollTop = 900;
    fireEvent.scroll(area);
    expect(screen.queryByRole("button")).toBeNull();
    area.scrollTop = 300;
    fireEvent.scroll(area);
    rerender(list(numbers(0, 51), { toEndButton }));
    expect(area.scrollTop).toBe(300);
    fireEvent.click(screen.getByRole("button", { name: "Newest" }));
    expect(area.scrollTop).toBe(1000);
    expect(screen.queryByRole("button")).toBeNull();
  });
});
