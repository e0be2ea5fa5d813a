import type { CallFilter } from "../generated/types";

/** The filter that every call matches. */
export const everyCall: CallFilter = {
  client: null,
  server: null,
  tool: null,
  decision: null,
  outcome: null,
  text: null,
  byUser: false,
  call: null,
  since: null,
  until: null,
  olderThan: null,
  limit: null,
};
