import { IconFiles } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { usePageState } from "../core/pageState";
import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { type PickListItem } from "../components/PickList";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CatalogColumns } from "./CatalogColumns";
import { ResourcePanel, TemplatePanel } from "./ResourcePanel";
import catalogStyles from "./catalog.module.css";

/** The resources and templates of a server, with the selected one. */
export function ResourcesTab({ server }: { server: string }) {
  const t = useMessages();
  const { data: catalog, error, loading } = useCoreQuery("servers.catalog", { server });
  const [filter, setFilter] = useState("");
  const [picked, setPicked] = usePageState<string | null>(`servers.resource/${server}`, null);
  if (error) return <ErrorAlert error={error} />;
  if (loading || !catalog) return <LoadingIndicator />;
  const { resources, templates, declared, resourcesProblem } = catalog;
  if (resourcesProblem) return <ErrorAlert error={resourcesProblem} />;
  if (resources.length + templates.length === 0) {
    return (
      <EmptyState
        icon={<IconFiles size={26} />}
        title={t("catalog.noResources")}
        text={t(declared.resources ? "catalog.noResourcesNow" : "catalog.noResourcesText")}
      />
    );
  }
  const words = filter.trim().toLowerCase();
  const picks: PickListItem[] = [
    ...resources.map(({ uri, title }) => ({ key: `resource ${uri}`, title, line: uri, isAddress: true })),
    ...templates.map(({ uriTemplate, title }) => ({
      key: `template ${uriTemplate}`,
      title,
      line: uriTemplate,
      isAddress: true,
      tag: t("catalog.template"),
    })),
  ].filter(({ title, line }) => `${title} ${line}`.toLowerCase().includes(words));
  const resource = resources.find(({ uri }) => `resource ${uri}` === picked);
  const template = templates.find(({ uriTemplate }) => `template ${uriTemplate}` === picked);
  return (
    <CatalogColumns
      filterLabel={t("catalog.filterResources")}
      filter={filter}
      onFilter={setFilter}
      listLabel={t("servers.tab.resources")}
      picks={picks}
      picked={picked}
      onPick={setPicked}
    >
      {resource && <ResourcePanel key={picked} resource={resource} server={server} catalog={catalog} />}
      {template && <TemplatePanel key={picked} template={template} server={server} catalog={catalog} />}
      {!resource && !template && <p className={clsx("dim", catalogStyles.hint)}>{t("catalog.pickResource")}</p>}
    </CatalogColumns>
  );
}
