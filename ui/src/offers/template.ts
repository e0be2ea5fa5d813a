// Resource templates (RFC 6570). Pure.

import type { ServerOffer } from "../gen/types";

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

/** The address that a template stands for; a variable without a value is left out. */
export function expand(template: string, values: Readonly<Record<string, string | undefined>>): string {
  return template.replace(expression, (_, sign: string, list: string) => {
    const operator = operators[sign] ?? plain;
    const filled = list.split(",").flatMap((word) => {
      const [, name = "", length] = /^([^:*]*)(?::(\d+))?\*?$/.exec(word.trim()) ?? [];
      const value = values[name] ?? "";
      if (value === "") return [];
      const text = encoded(length === undefined ? value : Array.from(value).slice(0, Number(length)).join(""), operator.reserved);
      return [operator.named ? `${name}${text === "" ? operator.ifEmpty : `=${text}`}` : text];
    });
    return filled.length === 0 ? "" : operator.first + filled.join(operator.between);
  });
}

/** Percent-encoded; what is reserved, and what is encoded already, stays only where the template says so. */
function encoded(text: string, reserved: boolean): string {
  const strict = (part: string) =>
    encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\ufffd")).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  if (!reserved) return strict(text);
  return text
    .split(/(%[0-9A-Fa-f]{2}|[:/?#[\]@!$&'()*+,;=])/)
    .map((part, at) => (at % 2 === 1 ? part : strict(part)))
    .join("");
}

/** Whether an address is one that the server offers, listed or by a template. */
export function isOffered({ resources, templates }: Pick<ServerOffer, "resources" | "templates">, uri: string): boolean {
  if (resources.some((one) => one.uri === uri)) return true;
  return templates.some(({ uriTemplate }) => {
    const pattern = uriTemplate
      .split(/(\{[^{}]+\})/)
      .map((part, at) => (at % 2 === 1 ? ".*" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")))
      .join("");
    return new RegExp(`^${pattern}$`).test(uri);
  });
}
