// Where an authorization server keeps what it knows: in memory, each server for itself, so that a test
// can take back the grants of one user or end all access tokens at once.
import { createHash } from "node:crypto";

/** The values of one kind. */
class Shelf {
  #values = new Map();

  constructor(store) {
    this.store = store;
  }

  async upsert(id, payload, expiresIn) {
    const ends = expiresIn === undefined ? Infinity : Date.now() + expiresIn * 1000;
    this.#values.set(id, { payload, ends });
  }

  async find(id) {
    const found = this.#values.get(id);
    return found && found.ends > Date.now() ? found.payload : undefined;
  }

  async findByUid(uid) {
    return this.alive().find(({ payload }) => payload.uid === uid)?.payload;
  }

  async findByUserCode() {
    return undefined;
  }

  async consume(id) {
    const found = this.#values.get(id);
    if (found) found.payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    this.#values.delete(id);
  }

  async revokeByGrantId(grantId) {
    for (const shelf of this.store.shelves.values()) shelf.drop((payload) => payload.grantId === grantId);
  }

  drop(unwanted) {
    for (const [id, { payload }] of this.#values) if (unwanted(payload, id)) this.#values.delete(id);
  }

  alive() {
    return [...this.#values].filter(([, { ends }]) => ends > Date.now()).map(([id, { payload }]) => ({ id, payload }));
  }
}

export class Store {
  shelves = new Map();

  shelf(kind) {
    const shelf = this.shelves.get(kind) ?? new Shelf(this);
    this.shelves.set(kind, shelf);
    return shelf;
  }

  /** Takes back everything that a user allowed. */
  revoke(user) {
    for (const kind of ["Grant", "AccessToken", "RefreshToken", "AuthorizationCode"]) {
      this.shelf(kind).drop((payload) => payload.accountId === user);
    }
  }

  /** Ends all access tokens; what renews them stays. */
  expire() {
    for (const kind of ["AccessToken", "ClientCredentials"]) this.shelf(kind).drop(() => true);
  }

  /** How many access tokens are valid at this moment. */
  accessTokens() {
    const now = Math.floor(Date.now() / 1000);
    const kinds = ["AccessToken", "ClientCredentials"].flatMap((kind) => this.shelf(kind).alive());
    return kinds.filter(({ payload }) => payload.exp > now).length;
  }
}

/** A password of a client that is registered from the start: long, and another at each issuer. */
export const password = (issuer, client, seed) =>
  createHash("sha256").update(`${issuer} ${client} ${seed}`).digest("base64url");
