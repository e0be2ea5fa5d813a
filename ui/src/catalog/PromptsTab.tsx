import { Button } from "@mantine/core";
import { IconMessage2, IconSend2 } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import type { PromptView } from "../generated/types";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { PickList } from "../components/PickList";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { ResultParts } from "../results/ResultParts";
import { useResultRequest } from "../results/useResultRequest";
import { CompletionField } from "./CompletionField";
import { FilterInput } from "../components/FilterBar";
import catalogStyles from "./catalog.module.css";

/** The prompts of a server, with the form of the selected one. */
export function PromptsTab({ server }: { server: string }) {
  const t = useMessages();
  const { data: catalog, error, loading } = useCoreQuery("servers.catalog", { server });
  const [filter, setFilter] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
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
    <div className={catalogStyles.catalog}>
      <div className={catalogStyles.list}>
        <FilterInput label={t("catalog.filterPrompts")} text={filter} onChange={setFilter} />
        {picks.length === 0 && <p className="dim">{t("catalog.noMatch", { text: filter })}</p>}
        {picks.length > 0 && (
          <PickList label={t("servers.tab.prompts")} picks={picks} picked={picked} onPick={setPicked} />
        )}
      </div>
      <div className={catalogStyles.selected} tabIndex={0} role="region" aria-label={t("catalog.one")}>
        {prompt ? (
          <Prompt key={prompt.name} prompt={prompt} server={server} completes={declared.completions} />
        ) : (
          <p className={clsx("dim", catalogStyles.hint)}>{t("catalog.pickPrompt")}</p>
        )}
      </div>
    </div>
  );
}

type PromptProps = { prompt: PromptView; server: string; completes: boolean };

function Prompt({ prompt: { name, title, description, arguments: wanted }, server, completes }: PromptProps) {
  const t = useMessages();
  const { platform } = useCore();
  const { shown, error, busy, run, stop } = useResultRequest();
  const [values, setValues] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const missing = (argument: string) => (values[argument] ?? "").trim() === "";
  const get = () => {
    setTried(true);
    if (wanted.some((one) => one.required && missing(one.name))) return;
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    void run(platform.command("servers.getPrompt", { server, prompt: name, arguments: given }));
  };
  return (
    <>
      <header className={catalogStyles.head}>
        <h2>{title}</h2>
        {title !== name && (
          <p className={catalogStyles.uri}>
            <code className="selectable">{name}</code>
          </p>
        )}
        {description !== null && <p className={clsx(catalogStyles.text, "selectable")}>{description}</p>}
      </header>
      <form
        noValidate
        className={catalogStyles.read}
        onSubmit={(event) => {
          event.preventDefault();
          get();
        }}
      >
        <div className={catalogStyles.fields}>
          {wanted.map((one) => (
            <CompletionField
              key={one.name}
              server={server}
              of={{ kind: "prompt", name }}
              name={one.name}
              label={one.title}
              description={one.description}
              required={one.required}
              completes={completes}
              values={values}
              error={tried && one.required && missing(one.name) ? t("catalog.needed") : null}
              onChange={(value) => {
                setValues((before) => ({ ...before, [one.name]: value }));
              }}
            />
          ))}
        </div>
        <div className={catalogStyles.actions}>
          <Button size="xs" type="submit" loading={busy} leftSection={<IconSend2 size={14} aria-hidden />}>
            {t("catalog.get")}
          </Button>
          {busy && (
            <Button size="xs" variant="default" onClick={stop}>
              {t("catalog.stop")}
            </Button>
          )}
        </div>
        {busy && shown === null && <LoadingIndicator />}
        {error && <ErrorAlert error={error} />}
        {shown && <ResultParts shown={shown} server={server} />}
      </form>
    </>
  );
}
