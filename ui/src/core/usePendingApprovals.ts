import type { PendingApproval } from "../generated/types";
import { useCore } from "./CoreProvider";
import { useReading, type Reading } from "./useCoreQuery";

/** The questions that wait, each with the whole arguments of its call. */
export function useQuestions(): Reading<PendingApproval[]> {
  const { questions } = useCore();
  return useReading("approvals.list", { known: [] }, questions);
}
