// The servers and clients of listed calls, by id: also those that are gone, which can be filtered by all the same. Pure.

import type { CallRecord } from "../generated/types";

type Names = ReadonlyMap<string, string>;
export type RecordedNames = { servers: Names; clients: Names };

export const noNames: RecordedNames = { servers: new Map(), clients: new Map() };

/** The names with those of these calls; the same object where these calls have no others. */
export function withRecorded(known: RecordedNames, records: readonly CallRecord[]): RecordedNames {
  const isNew = records.some(({ server, client }) => !known.servers.has(server) || !known.clients.has(client));
  if (!isNew) return known;
  const servers = new Map(known.servers);
  const clients = new Map(known.clients);
  for (const { server, serverName, client, clientName } of records) {
    servers.set(server, serverName);
    clients.set(client, clientName);
  }
  return { servers, clients };
}

/** Options for those that there are, and then for those that are gone. */
export function withGone(
  present: readonly (readonly [string, string])[],
  recorded: Names,
): (readonly [string, string])[] {
  const ids = new Set(present.map(([id]) => id));
  return [...present, ...[...recorded].filter(([id]) => !ids.has(id))];
}
