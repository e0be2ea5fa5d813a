// The words of a command line, as a shell would split it.

/** Splits at white space; quotes and backslashes keep together. Nothing where a quote is not closed. */
export function splitCommand(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (char === "\\" && quote === '"' && '"\\'.includes(line.charAt(at + 1)))
        word = (word ?? "") + line.charAt(++at);
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "\\" && /[\s"'\\]/.test(line.charAt(at + 1))) {
      word = (word ?? "") + line.charAt(++at);
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote !== null) return null;
  if (word !== null) words.push(word);
  return words;
}

/** The line that splits into these words. */
export function joinCommand(words: readonly string[]): string {
  return words.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replace(/["\\]/g, "\\$&")}"`)).join(" ");
}
