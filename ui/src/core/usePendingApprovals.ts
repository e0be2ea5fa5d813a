import type { PendingApproval } from "../generated/types";
import { useCore } from "./CoreProvider";
import { useCoreQuery, type CoreQuery } from "./useCoreQuery";

/** Pending approvals, each with all arguments of its call. */
export function usePendingApprovals(): CoreQuery<PendingApproval[]> {
  const { readPendingApprovals } = useCore();
  return useCoreQuery("approvals.list", { known: [] }, readPendingApprovals);
}
