import { describe, expect, it } from "vitest";

import { filterItems, itemKey, routeKey, type PlaygroundItem } from "./items";

const item = (kind: PlaygroundItem["kind"], server: string, name: string): PlaygroundItem => ({
  key: itemKey(server, kind, name),
  kind,
  server,
  serverName: `server ${server}`,
  name,
  title: name.toUpperCase(),
  description: kind === "tool" ? "Writes a note" : null,
});

const all = [
  item("tool", "a", "write"),
  item("prompt", "a", "greet"),
  item("resource", "b", "x://y"),
  item("template", "b", "x://{id}"),
];
const names = (filter: Partial<Parameters<typeof filterItems>[1]>) =>
  filterItems(all, { words: "", server: "", kind: "", ...filter }).map(({ name }) => name);

describe("items", () => {
  it("are filtered by server, kind and all words", () => {
    expect(names({})).toHaveLength(4);
    expect(names({ server: "b" })).toEqual(["x://y", "x://{id}"]);
    expect(names({ kind: "resource" })).toEqual(["x://y", "x://{id}"]);
    expect(names({ kind: "prompt" })).toEqual(["greet"]);
    expect(names({ words: " note  WRITE" })).toEqual(["write"]);
    expect(names({ words: "note server b" })).toEqual([]);
  });

  it("are named by a route with all three parts", () => {
    expect(routeKey({ page: "playground", server: "a", kind: "tool", item: "write" })).toBe(all[0]?.key);
    expect(routeKey({ page: "playground", server: "a", kind: "tool" })).toBeNull();
  });
});
