// Resource templates (RFC 6570). Pure.

import type { ServerCatalog } from "../generated/types";

type Operator = { first: string; between: string; named: boolean; ifEmpty: string; reserved: boolean };

const plain: Operator = { first: "", between: ",", named: false, ifEmpty: "", reserved: false };
const operators: Readonly<Record<string, Operator>> = {
  "": plain,
  "+": { ...plain, reserved: true },
  "#": { ...plain, first: "#", reserved: true },
  ".": { ...plain, first: ".", between: "." },
  "/": { ...plain, first: "/", between: "/" },
  ";": { ...plain, first: ";", between: ";", named: true },
  "?": { ...plain, first: "?", between: "&", named: true, ifEmpty: "=" },
  "&": { ...plain, first: "&", between: "&", named: true, ifEmpty: "=" },
};

const expression = /\{([+#./;?&]?)([^{}]+)\}/g;

/** Expands a template; variables without a value are left out. */
export function expandTemplate(template: string, values: Readonly<Record<string, string | undefined>>): string {
  return template.replace(expression, (_, sign: string, list: string) => {
    const operator = operators[sign] ?? plain;
    const filled = list.split(",").flatMap((word) => {
      const [, name = "", length] = /^([^:*]*)(?::(\d+))?\*?$/.exec(word.trim()) ?? [];
      const value = values[name] ?? "";
      if (value === "") return [];
      const text = encoded(
        length === undefined ? value : Array.from(value).slice(0, Number(length)).join(""),
        operator.reserved,
      );
      return [operator.named ? `${name}${text === "" ? operator.ifEmpty : `=${text}`}` : text];
    });
    return filled.length === 0 ? "" : operator.first + filled.join(operator.between);
  });
}

/** Percent-encoded; what is reserved, and what is encoded already, stays only where the template says so. */
function encoded(text: string, reserved: boolean): string {
  const strict = (part: string) =>
    encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\ufffd")).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  if (!reserved) return strict(text);
  return text
    .split(/(%[0-9A-Fa-f]{2}|[:/?#[\]@!$&'()*+,;=])/)
    .map((part, at) => (at % 2 === 1 ? part : strict(part)))
    .join("");
}

/** Whether a URI is listed or matches a template. */
export function isInCatalog(
  { resources, templates }: Pick<ServerCatalog, "resources" | "templates">,
  uri: string,
): boolean {
  if (resources.some((one) => one.uri === uri)) return true;
  return templates.some(({ uriTemplate }) => matchesTemplate(uriTemplate, uri));
}

const MAX_PARTS = 64;
const MAX_URI_CHARS = 8 * 1024;

/** Whether a template can be expanded to an address, by the rules that the core goes by. Takes time in proportion to both. */
export function matchesTemplate(template: string, uri: string): boolean {
  const parts = template.split(/(\{[^}]*\})/).filter((part) => part !== "");
  if (uri.length > MAX_URI_CHARS || parts.length > MAX_PARTS) return false;
  // Where in the address the parts so far may have ended.
  let ends = new Uint8Array(uri.length + 1);
  ends[0] = 1;
  for (const part of parts) {
    const next = new Uint8Array(ends.length);
    if (!part.startsWith("{")) {
      if (part.includes("{")) return false;
      ends.forEach((end, at) => {
        if (end && uri.startsWith(part, at)) next[at + part.length] = 1;
      });
    } else if (part === "{}" || !part.endsWith("}")) {
      return false;
    } else if (/^\{[A-Za-z0-9_%]/.test(part)) {
      // At least one character, none of them a slash.
      let inside = 0;
      for (let at = 0; at < uri.length; at += 1) {
        inside = uri[at] === "/" ? 0 : inside | (ends[at] ?? 0);
        next[at + 1] = inside;
      }
    } else {
      let inside = 0;
      ends.forEach((end, at) => {
        inside |= end;
        next[at] = inside;
      });
    }
    ends = next;
  }
  return ends[uri.length] === 1;
}
