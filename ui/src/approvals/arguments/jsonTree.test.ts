import { describe, expect, it } from "vitest";

import { MOST_NODES, parseTree, type JsonNode } from "./jsonTree";

/** The tree as compact JSON text. */
function written(node: JsonNode): string {
  switch (node.kind) {
    case "scalar":
      return node.text;
    case "array":
      return `[${node.items.map(written).join(",")}]`;
    case "object":
      return `{${node.members.map(({ name, value }) => `"${name}":${written(value)}`).join(",")}}`;
  }
}

describe("the tree of a JSON text", () => {
  it.each([
    "1",
    "10000000000000000000001",
    "1e400",
    "-0.10",
    "null",
    '"plain"',
    String.raw`"quote \" and backslash \\ and {[,:]}"`,
    String.raw`"{\"json\":1}"`,
    "{}",
    "[]",
    "[[],{}]",
    '{"a":{"b":[1,"x",{"c":null}]},"d":"⟦U+202E⟧"}',
    String.raw`{"\u0061":1,"a\"b":[true,false]}`,
  ])("keeps %s as it is", (text) => {
    const tree = parseTree(text);
    expect(tree && written(tree)).toBe(text);
  });

  it("does not parse JSON inside of strings", () => {
    expect(parseTree(String.raw`"{\"json\":1}"`)).toEqual({ kind: "scalar", text: String.raw`"{\"json\":1}"` });
  });

  it.each(["", "{", "[1", '{"a"}', '{"a":}', "[1,]", "{,}", "1 2", '1"x', "1]", "]", '"open', "{1:2}", '{"a":1,}'])(
    "leaves %j as the text that it is",
    (text) => {
      expect(parseTree(text)).toBeNull();
    },
  );

  it("leaves what is too large or too deep as the text that it is", () => {
    const items = (count: number) => `[${Array.from({ length: count }, () => "1").join(",")}]`;
    expect(parseTree(items(MOST_NODES - 1))).not.toBeNull();
    expect(parseTree(items(MOST_NODES))).toBeNull();
    expect(parseTree("[".repeat(100) + "]".repeat(100))).toBeNull();
  });
});
