import { describe, expect, it } from "vitest";

import { isEmoji } from "./ServerIcon";

describe("isEmoji", () => {
  it.each(["🙂", "🗂️", "⚙️", "🇨🇭", "👩🏽‍💻", "👨‍👩‍👧‍👦", "❤️"])("accepts %s", (text) => {
    expect(isEmoji(text)).toBe(true);
  });

  it.each(["", "a", "folder", "🙂🙂", "🙂 Allow", "1", "#", "\u200d", "\u{202e}🙂", "🇨"])("refuses %j", (text) => {
    expect(isEmoji(text)).toBe(false);
  });
});
