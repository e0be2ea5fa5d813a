// What cannot be seen, or turns what is beside it around.
const invisible = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A server's own text with marks in place of what cannot be seen. */
export function seen(raw: string): string {
  return raw.replace(invisible, (char) =>
    char === "\n" || char === "\t"
      ? char
      : `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`,
  );
}
