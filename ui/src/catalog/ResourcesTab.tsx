import { IconFiles } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { ResourceView, ServerCatalog, TemplateView } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { PickList, type PickListItem } from "../components/PickList";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CompletionField } from "./CompletionField";
import { FilterInput } from "../components/FilterBar";
import { ResourceReader } from "./ResourceReader";
import { expandTemplate } from "../core/uriTemplate";
import catalogStyles from "./catalog.module.css";

/** The resources and templates of a server, with the selected one. */
export function ResourcesTab({ server }: { server: string }) {
  const t = useMessages();
  const { data: catalog, error, loading } = useCoreQuery("servers.catalog", { server });
  const [filter, setFilter] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
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
    <div className={catalogStyles.catalog}>
      <div className={catalogStyles.list}>
        <FilterInput label={t("catalog.filterResources")} text={filter} onChange={setFilter} />
        {picks.length === 0 && <p className="dim">{t("catalog.noMatch", { text: filter })}</p>}
        {picks.length > 0 && (
          <PickList label={t("servers.tab.resources")} picks={picks} picked={picked} onPick={setPicked} />
        )}
      </div>
      <div className={catalogStyles.selected} tabIndex={0} role="region" aria-label={t("catalog.one")}>
        {resource && <Resource key={picked} resource={resource} server={server} catalog={catalog} />}
        {template && <Template key={picked} template={template} server={server} catalog={catalog} />}
        {!resource && !template && <p className={clsx("dim", catalogStyles.hint)}>{t("catalog.pickResource")}</p>}
      </div>
    </div>
  );
}

type OneProps = { server: string; catalog: ServerCatalog };

function Resource({
  resource: { uri, title, description, mimeType, size: bytes },
  ...one
}: OneProps & { resource: ResourceView }) {
  const t = useMessages();
  const size = useSizes();
  const facts = [mimeType, bytes === null ? null : size(bytes)].filter((fact) => fact !== null);
  return (
    <>
      <header className={catalogStyles.head}>
        <h2>{title}</h2>
        <p className={catalogStyles.uri}>
          <code className="selectable">{uri}</code> <CopyButton text={uri} label={t("catalog.copyUri")} />
        </p>
        {facts.length > 0 && <p className="dim">{facts.join(" · ")}</p>}
        {description !== null && <p className={clsx(catalogStyles.text, "selectable")}>{description}</p>}
      </header>
      <ResourceReader uri={uri} {...one} />
    </>
  );
}

/** One field for each variable; what they come to is shown before it is read. */
function Template({
  template: { uriTemplate, variables, title, description, mimeType },
  ...one
}: OneProps & { template: TemplateView }) {
  const t = useMessages();
  const [values, setValues] = useState<Record<string, string>>({});
  const uri = expandTemplate(uriTemplate, values);
  return (
    <>
      <header className={catalogStyles.head}>
        <h2>{title}</h2>
        <p className={catalogStyles.uri}>
          <code className="selectable">{uriTemplate}</code>
        </p>
        {mimeType !== null && <p className="dim">{mimeType}</p>}
        {description !== null && <p className={clsx(catalogStyles.text, "selectable")}>{description}</p>}
      </header>
      <div className={catalogStyles.fields}>
        {variables.map((name) => (
          <CompletionField
            key={name}
            server={one.server}
            of={{ kind: "template", uriTemplate }}
            name={name}
            label={name}
            completes={one.catalog.declared.completions}
            values={values}
            onChange={(value) => {
              setValues((before) => ({ ...before, [name]: value }));
            }}
          />
        ))}
      </div>
      <p className={catalogStyles.uri}>
        <span className="dim">{t("catalog.reads")}</span> <code className="selectable">{uri}</code>
      </p>
      <ResourceReader uri={uri} disabled={variables.every((name) => (values[name] ?? "") === "")} {...one} />
    </>
  );
}
