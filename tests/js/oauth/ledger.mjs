// What an authorization server gave away and what it was sent, for tests to compare: every token, code,
// verifier and secret, and who asked how often for what. Keeps them in memory and never prints one.
import { createHash } from "node:crypto";

/** A short name for a secret that says nothing about it. */
export const hash = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);

export class Ledger {
  /** What was issued here, by value: its kind. */
  issued = new Map();
  /** What was sent here: kind and value. */
  heard = [];
  /** How often each kind of request came, and how often it was granted. */
  asked = {};
  granted = {};

  issue(kind, value) {
    if (typeof value === "string" && value.length > 0) this.issued.set(value, kind);
  }

  hear(kind, value) {
    if (typeof value === "string" && value.length > 0) this.heard.push({ kind, value });
  }

  count(kind, granted) {
    this.asked[kind] = (this.asked[kind] ?? 0) + 1;
    if (granted) this.granted[kind] = (this.granted[kind] ?? 0) + 1;
  }

  /** What was sent here although somebody else had issued it. */
  strays(others) {
    const foreign = this.heard.filter(({ value }) => !this.issued.has(value) && others.some((it) => it.issued.has(value)));
    return foreign.map(({ kind, value }) => ({ kind, hash: hash(value) }));
  }
}
