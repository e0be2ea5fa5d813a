import { everyCall } from "../core/callFilter";
import { useCoreQuery } from "../core/useCoreQuery";
import type { CallCursor, CallRecord, UserError } from "../generated/types";

/** The record of a call, where one is given: `undefined` until it is read, `null` if it is not kept any more. */
export function useRecordedCall(call: CallCursor | null): {
  record: CallRecord | null | undefined;
  error: UserError | null;
} {
  const { data, error, outdated } = useCoreQuery("calls.list", {
    filter: { ...everyCall, call, limit: call === null ? 0 : 1 },
  });
  if (call === null) return { record: null, error: null };
  if (data === undefined || outdated) return { record: undefined, error };
  return { record: data.find(({ id }) => id === call.id) ?? null, error };
}
