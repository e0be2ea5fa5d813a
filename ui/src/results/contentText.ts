// Texts of servers as people read them. Pure.

/** Whether a text is JSON, by its media type or because it parses as an object or array. */
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

/** Indents JSON unless that would change digits of long numbers. */
export function formatJson(text: string): string {
  if (/\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Size of a text as UTF-8, in bytes. */
export function utf8Size(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** How a media type can be shown from a `data:` URL. */
export function mediaKind(mimeType: string): "image" | "audio" | null {
  const kind = /^(image|audio)\/[\w.+-]+$/i.exec(mimeType)?.[1]?.toLowerCase();
  return kind === "image" || kind === "audio" ? kind : null;
}
