import { describe, expect, it, vi } from "vitest";

import { BLOCK_CHARS, createBlockStore, blocksOf, blockText, displayText, type ArgumentText } from "./textBlocks";

const one = (text: string): ArgumentText[] => [{ name: "text", text }];
const textOf = (sources: ArgumentText[]) =>
  [...blocksOf(sources)]
    .flat()
    .filter(({ isName }) => !isName)
    .map((block) => blockText(sources[block.argument]?.text ?? "", block));

/** What is seen of a text in all. */
const whole = (text: string) => textOf(one(text)).join("");

describe("blocks of a large argument", () => {
  const long = "x".repeat(3 * BLOCK_CHARS);
  const lines = Array.from({ length: 5000 }, (_, at) => `line ${String(at)}`).join("\n");

  it.each<[string, string, string]>([
    ["a plain text", JSON.stringify(long), JSON.stringify(long)],
    ["lines, as lines", JSON.stringify(lines), `"${lines}"`],
    [
      "quotes, tabs and backslashes between lines",
      JSON.stringify(`"\\\t\n`.repeat(4000)),
      `"${`"\\\t\n`.repeat(4000)}"`,
    ],
    ["characters of two halves", JSON.stringify("a" + "😀".repeat(3000)), JSON.stringify("a" + "😀".repeat(3000))],
    ["an object", JSON.stringify({ a: [long, lines] }), JSON.stringify({ a: [long, lines] })],
    [
      "nothing but backslashes",
      JSON.stringify("\\".repeat(3 * BLOCK_CHARS + 1)),
      JSON.stringify("\\".repeat(3 * BLOCK_CHARS + 1)),
    ],
  ])("contain all of %s", (_, text, expected) => {
    expect(whole(text) === expected).toBe(true);
    expect(textOf(one(text)).every((part) => part.length <= BLOCK_CHARS)).toBe(true);
  });

  it("decode surrogate pairs that were escaped as two halves", () => {
    const text = `"${"\\ud83d\\ude00\\n".repeat(2000)}"`;
    expect(whole(text) === `"${"😀\n".repeat(2000)}"`).toBe(true);
  });

  it("never split a mark of a hidden character", () => {
    for (let before = BLOCK_CHARS - 14; before < BLOCK_CHARS + 2; before += 1) {
      const parts = textOf(one(`"${"x".repeat(before)}⟦U+202E⟧${"y".repeat(BLOCK_CHARS)}"`));
      expect(
        parts.filter((part) => part.includes("⟦U+202E⟧")),
        String(before),
      ).toHaveLength(1);
    }
  });

  it("end at line breaks", () => {
    const parts = textOf(one(JSON.stringify(lines)));
    expect(parts.slice(0, -1).every((part) => part.endsWith("\n"))).toBe(true);
  });

  it("keep line breaks escaped above the line limit", () => {
    const parts = textOf(one(JSON.stringify("\n".repeat(100_000))));
    expect(parts.slice(0, -1).some((part) => part.includes("\n"))).toBe(false);
    expect(parts.slice(0, -1).join("").startsWith('"\\n\\n')).toBe(true);
  });

  it("never output a hidden character", () => {
    expect(whole(`"${"\\u202e\\n".repeat(3000)}"`)).not.toContain("\u202e");
    expect(displayText('"a\\u202eb\\n"')).toBe('"a⟦U+202E⟧b\n"');
  });

  it("start with the name of each argument", () => {
    const all = [...blocksOf([...one('"a"'), ...one('"b"')])].flat();
    expect(all.map(({ argument, isName }) => [argument, isName])).toEqual([
      [0, true],
      [0, false],
      [1, true],
      [1, false],
    ]);
  });
});

describe("the block store", () => {
  it("cuts in chunks of bounded size while it has subscribers", async () => {
    const size = 5 * 1024 * 1024;
    const pieces = [...blocksOf(one(`"${"\\n".repeat(size / 2)}"`))];
    expect(pieces.length).toBeGreaterThan(20);
    for (const piece of pieces)
      expect(piece.reduce((sum, { start, end }) => sum + end - start, 0)).toBeLessThanOrEqual(202_000);

    const blocks = createBlockStore(one(`"${"word ".repeat(size / 5)}"`));
    const first = blocks.count();
    expect(first).toBeGreaterThan(0);
    const all = await new Promise<number>((done) => {
      let before = first;
      const stop = blocks.subscribe(() => {
        const now = blocks.count();
        if (now === before) {
          stop();
          done(now);
        }
        before = now;
      });
    });
    expect(all).toBe([...blocksOf(one(`"${"word ".repeat(size / 5)}"`))].flat().length);
    expect(all).toBeGreaterThan(10 * first);
  });

  it("reads each character a bounded number of times", () => {
    // One backslash far behind: whoever looked for it in every block would look a thousand times.
    const text = `"${"x".repeat(1_000_000)}\\\\"`;
    const find = vi.spyOn(String.prototype, "indexOf");
    const blocks = [...blocksOf(one(text))].flat();
    const looked = find.mock.contexts
      .map(String)
      .map((of, at) => (of.length > BLOCK_CHARS ? of.length - (find.mock.calls[at]?.[1] ?? 0) : 0));
    find.mockRestore();
    expect(blocks.length).toBeGreaterThan(500);
    expect(looked.reduce((sum, part) => sum + part, 0)).toBeLessThan(2 * text.length);
  });
});
