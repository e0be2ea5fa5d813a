import { createContext } from "react";

import type { ApprovalId, CallHash, RiskOpinion, SamplingDraft } from "../generated/types";

/** What the user's models can be asked about pending requests. What they say decides nothing. */
export type ApprovalModels = {
  /** Lets the model for sampling write an answer. Nothing is sent to the server. */
  generate: (id: ApprovalId, run: string) => Promise<SamplingDraft>;
  /** Stops what was begun under a name. */
  stop: (run: string) => void;
  /** A model's opinion about a call, where it has one. */
  opinion: (which: { id: ApprovalId; hash: CallHash }) => Promise<RiskOpinion | null>;
};

/** Nothing is asked without it. */
export const ApprovalModelsContext = createContext<ApprovalModels | null>(null);

/** Most opinions that are kept, more than there can be pending calls on a page. */
const MAX_OPINIONS = 500;

/** Models that are asked for their opinion once for each call as it is shown, however often its card comes up. */
export function askOnce(models: ApprovalModels): ApprovalModels {
  const asked = new Map<string, Promise<RiskOpinion | null>>();
  return {
    ...models,
    opinion: ({ id, hash }) => {
      const key = `${id} ${hash}`;
      const known = asked.get(key);
      if (known) return known;
      const [oldest] = asked.keys();
      if (asked.size >= MAX_OPINIONS && oldest !== undefined) asked.delete(oldest);
      const opinion = models.opinion({ id, hash });
      asked.set(key, opinion);
      return opinion;
    },
  };
}
