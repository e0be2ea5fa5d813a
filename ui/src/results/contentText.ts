// Texts of servers as people read them. Pure.

/** Whether a text is JSON: by its media type, or because it reads as an object or a list. */
export function isJson(text: string, mimeType: string | null): boolean {
  if (mimeType !== null && /[/+]json\b/i.test(mimeType)) return true;
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Indented, where it is whole; numbers keep their digits, since texts that hold long ones stay as they are. */
export function pretty(text: string): string {
  if (/\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** How many bytes a text is as UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A media type that can stand in a `data:` address, and what shows it. */
export function shownAs(mimeType: string): "image" | "audio" | null {
  const kind = /^(image|audio)\/[\w.+-]+$/i.exec(mimeType)?.[1]?.toLowerCase();
  return kind === "image" || kind === "audio" ? kind : null;
}
