import type { ConversationSummary } from "../generated/types";
import type { Translate } from "../messages";

/** The title of a conversation; one without a message has none of its own. */
export function titleOf(t: Translate, { title }: Pick<ConversationSummary, "title">): string {
  return title.trim() === "" ? t("chat.new") : title;
}
