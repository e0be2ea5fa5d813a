/** An address that may be opened in the browser; `null` for every other, such as `javascript:` or a part of this page. */
export function safeAddress(address: string | undefined): string | null {
  if (address === undefined || !/^https?:\/\//i.test(address)) return null;
  return URL.canParse(address) ? new URL(address).href : null;
}
