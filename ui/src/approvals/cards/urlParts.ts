// An address that somebody is asked to open, taken apart so that its host stands out. Pure.

export type UrlParts = {
  /** Before the host, the host, after it; together the whole address. */
  before: string;
  host: string;
  after: string;
  /** Something before the host that looks like a name or a site. */
  hasUser: boolean;
  /** The host has letters of other alphabets. */
  isForeign: boolean;
  /** What is sent can be read on the way. */
  isOpen: boolean;
};

export function splitUrl(url: string, host: string): UrlParts {
  const [, scheme = "", authority = "", rest = ""] = /^([a-z][a-z\d+.-]*:[\\/]*)([^/\\?#]*)([\s\S]*)$/i.exec(url) ?? [
    null,
    "",
    "",
    url,
  ];
  const at = authority.lastIndexOf("@") + 1;
  const place = authority.slice(at);
  const name = place.replace(/:\d*$/, "");
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(name);
  return {
    before: scheme + authority.slice(0, at),
    host: name,
    after: place.slice(name.length) + rest,
    hasUser: at > 0,
    isForeign: [name, host].some((one) => /(^|\.)xn--/i.test(one) || /[^ -~]/.test(one)),
    isOpen: /^http:/i.test(url) && !isHere,
  };
}
