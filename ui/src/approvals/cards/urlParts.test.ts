import { describe, expect, it } from "vitest";

import { splitUrl } from "./urlParts";

describe("an address", () => {
  it.each([
    ["https://example.org/a?b#c", "example.org", ["https://", "example.org", "/a?b#c"], ""],
    ["https://example.org:8443/a", "example.org", ["https://", "example.org", ":8443/a"], ""],
    [
      "https://bank.example@evil.example/bank.example",
      "evil.example",
      ["https://bank.example@", "evil.example", "/bank.example"],
      "user",
    ],
    ["https://a@b@evil.example", "evil.example", ["https://a@b@", "evil.example", ""], "user"],
    ["https://xn--pypal-4ve.example/", "xn--pypal-4ve.example", ["https://", "xn--pypal-4ve.example", "/"], "foreign"],
    ["https://pаypal.example/", "xn--pypal-4ve.example", ["https://", "pаypal.example", "/"], "foreign"],
    ["http://example.org", "example.org", ["http://", "example.org", ""], "open"],
    ["http://127.0.0.1:8/x", "127.0.0.1", ["http://", "127.0.0.1", ":8/x"], ""],
    ["http://[::1]:8/x", "[::1]", ["http://", "[::1]", ":8/x"], ""],
  ])("%j", (url, host, [before, name, after], hint) => {
    const taken = splitUrl(url, host);
    expect([taken.before, taken.host, taken.after]).toEqual([before, name, after]);
    expect(taken.before + taken.host + taken.after).toBe(url);
    expect([taken.hasUser && "user", taken.isForeign && "foreign", taken.isOpen && "open"].filter(Boolean).join()).toBe(
      hint,
    );
  });
});
