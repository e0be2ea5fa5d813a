import { Button } from "@mantine/core";
import { IconSend2 } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { RunProgress } from "../running/RunProgress";
import { useCore } from "../core/CoreProvider";
import { usePageState } from "../core/pageState";
import type { PromptView } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { ResultParts } from "../results/ResultParts";
import { useResultRequest } from "../results/useResultRequest";
import { CompletionField } from "./CompletionField";
import catalogStyles from "./catalog.module.css";

type Props = {
  prompt: PromptView;
  server: string;
  completes: boolean;
  /** Id of the client in whose name it is got; the user's where absent. */
  client?: string | null;
  /** The values to begin with, in place of those that were entered before. */
  given?: Readonly<Record<string, string>>;
};

const nothing: Readonly<Record<string, string>> = {};

/** One prompt: its arguments with the server's completions, and what it comes to. */
export function PromptPanel({ prompt, server, completes, client = null, given }: Props) {
  const { name, title, description, arguments: wanted } = prompt;
  const t = useMessages();
  const { platform } = useCore();
  const { shown, error, running, busy, run, cancel } = useResultRequest();
  const [values, setValues] = usePageState(`catalog.prompt/${server}/${name}`, nothing, given);
  const [tried, setTried] = useState(false);
  const missing = (argument: string) => (values[argument] ?? "").trim() === "";
  const get = () => {
    setTried(true);
    if (wanted.some((one) => one.required && missing(one.name))) return;
    const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    void run(async (run) =>
      platform.command("servers.getPrompt", { server, prompt: name, arguments: filled, client, run }),
    );
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
            <Button size="xs" variant="default" onClick={cancel}>
              {t("catalog.cancel")}
            </Button>
          )}
        </div>
        {running !== null && shown === null && <RunProgress run={running} />}
        {error && <ErrorAlert error={error} />}
        {shown && <ResultParts shown={shown} server={server} />}
      </form>
    </>
  );
}
