import { useCoreQuery } from "../core/useCoreQuery";
import type { GrantId } from "../generated/types";
import { useMessages } from "../messages";

/** What a rule of the user says, by its id; that it is gone, where it no longer exists. */
export function useRuleSentence(): (rule: GrantId) => string {
  const t = useMessages();
  const rules = useCoreQuery("policy.show", {}).data?.rules ?? [];
  return (rule) => {
    const view = rules.find((one) => one.rule.id === rule);
    return view ? t.render(view.sentence) : t("activity.ruleGone");
  };
}
