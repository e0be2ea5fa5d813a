import clsx from "clsx";

import type { ResourceView, ServerCatalog, TemplateView } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { usePageState } from "../core/pageState";
import { expandTemplate } from "../core/uriTemplate";
import { CompletionField } from "./CompletionField";
import { ResourceReader } from "./ResourceReader";
import catalogStyles from "./catalog.module.css";

type PanelProps = {
  server: string;
  catalog: ServerCatalog;
  /** Id of the client in whose name it is read; the user's where absent. */
  client?: string | null;
};

/** One resource, and its contents. */
export function ResourcePanel({
  resource: { uri, title, description, mimeType, size: bytes },
  ...one
}: PanelProps & { resource: ResourceView }) {
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

const nothing: Readonly<Record<string, string>> = {};

/** A template with one field for each variable; what they come to is shown before it is read. */
export function TemplatePanel({
  template: { uriTemplate, variables, title, description, mimeType },
  ...one
}: PanelProps & { template: TemplateView }) {
  const t = useMessages();
  const [values, setValues] = usePageState(`catalog.template/${one.server}/${uriTemplate}`, nothing);
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
