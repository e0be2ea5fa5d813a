import type { ToolListCost } from "../generated/types";
import { useMessages } from "../messages";
import clientsPageStyles from "./ClientsPage.module.css";

/** What a list of tools costs a model. */
export function ToolListText({ cost: { tools, listed, tokens } }: { cost: ToolListCost }) {
  const t = useMessages();
  return (
    <span className={clientsPageStyles.small} title={t("profiles.cost.how")}>
      {tools === listed ? t("profiles.cost", { tools, tokens }) : t("profiles.cost.search", { tools, listed, tokens })}
    </span>
  );
}
