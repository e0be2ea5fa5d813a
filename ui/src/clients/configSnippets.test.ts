import { expect, it } from "vitest";

import { bridgeSnippets, configSnippets } from "./configSnippets";

it("puts the token into every snippet over HTTP, and into none for the bridge", () => {
  const snippets = configSnippets("http://127.0.0.1:1/mcp", "t0ken");
  expect(snippets).not.toEqual([]);
  for (const { text } of snippets) expect(text).toContain("Bearer t0ken");
  expect(JSON.parse(bridgeSnippets("Zed").settings)).toEqual({
    mcpServers: { gatehouse: { command: "gatehousectl", args: ["bridge", "--client=Zed"] } },
  });
});

it.each([
  ["Claude Code", `"Claude Code"`],
  ["编辑器", `"编辑器"`],
  ["$(touch x)", "'$(touch x)'"],
  ["`id`", "'`id`'"],
  ['a" & b', `'a" & b'`],
  ["Ana's", String.raw`'Ana'\''s'`],
])("lets no shell expand the client's name %s", (name, word) => {
  expect(bridgeSnippets(name).keepToken).toBe(`gatehousectl clients keep-token ${word}`);
});
