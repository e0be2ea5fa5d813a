import { createContext } from "react";

import type { ApprovalActions } from "../approvals/ApprovalItem";
import type { QueueSlot } from "../approvals/queue";
import type { ApprovalId } from "../generated/types";

/** The approval requests of a conversation's calls: the same ones as on the Approvals page and in the prompt. */
export type ChatApprovals = { slots: ReadonlyMap<ApprovalId, QueueSlot>; actions: ApprovalActions };

export const ChatApprovalsContext = createContext<ChatApprovals | null>(null);
