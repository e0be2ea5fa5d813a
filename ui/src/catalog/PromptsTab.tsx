import { IconMessage2 } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { usePageState } from "../core/pageState";
import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CatalogColumns } from "./CatalogColumns";
import { PromptPanel } from "./PromptPanel";
import catalogStyles from "./catalog.module.css";

/** The prompts of a server, with the form of the selected one. */
export function PromptsTab({ server }: { server: string }) {
  const t = useMessages();
  const { data: catalog, error, loading } = useCoreQuery("servers.catalog", { server });
  const [filter, setFilter] = useState("");
  const [picked, setPicked] = usePageState<string | null>(`servers.prompt/${server}`, null);
  if (error) return <ErrorAlert error={error} />;
  if (loading || !catalog) return <LoadingIndicator />;
  const { prompts, declared, promptsProblem } = catalog;
  if (promptsProblem) return <ErrorAlert error={promptsProblem} />;
  if (prompts.length === 0) {
    return (
      <EmptyState
        icon={<IconMessage2 size={26} />}
        title={t("catalog.noPrompts")}
        text={t(declared.prompts ? "catalog.noPromptsNow" : "catalog.noPromptsText")}
      />
    );
  }
  const words = filter.trim().toLowerCase();
  const picks = prompts
    .map(({ name, title, description }) => ({ key: name, title, line: description ?? name }))
    .filter(({ key, title, line }) => `${key} ${title} ${line}`.toLowerCase().includes(words));
  const prompt = prompts.find(({ name }) => name === picked);
  return (
    <CatalogColumns
      filterLabel={t("catalog.filterPrompts")}
      filter={filter}
      onFilter={setFilter}
      listLabel={t("servers.tab.prompts")}
      picks={picks}
      picked={picked}
      onPick={setPicked}
    >
      {prompt ? (
        <PromptPanel key={prompt.name} prompt={prompt} server={server} completes={declared.completions} />
      ) : (
        <p className={clsx("dim", catalogStyles.hint)}>{t("catalog.pickPrompt")}</p>
      )}
    </CatalogColumns>
  );
}
