import { Alert, Badge, Button, Group, Stack } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconCloudOff, IconPackages } from "@tabler/icons-react";
import { useState } from "react";

import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { ErrorDetails, ErrorTitle } from "../components/ErrorDetails";
import { FilterInput } from "../components/FilterBar";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { RegistryEntry, RegistryPage, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import type { WantedEntry } from "./registryForm";
import styles from "./RegistryPanel.module.css";

/** How long typing has to pause before the registry is asked, in milliseconds. */
const PAUSE = 300;

type Props = {
  text: string;
  onText: (text: string) => void;
  onOpen: (entry: WantedEntry) => void;
};

/** The entries of the registry by a part of their names. */
export function RegistryList({ text, onText, onOpen }: Props) {
  const t = useMessages();
  const [wanted] = useDebouncedValue(text.trim(), PAUSE);
  const { data, error, loading, outdated, refetch, stop } = useCoreQuery("registry.search", {
    text: wanted,
    cursor: null,
    refresh: false,
    run: null,
  });
  const search = useAction("registry.search");
  const [further, setFurther] = useState<{ of: string; pages: RegistryPage[] }>({ of: "", pages: [] });
  const [failed, setFailed] = useState<UserError | null>(null);
  /** Why reloading brought only an earlier answer. */
  const [away, setAway] = useState<UserError | null>(null);
  const pages = data === undefined ? [] : [data, ...(further.of === wanted ? further.pages : [])];
  const entries = pages.flatMap((page) => page.entries);
  const omitted = pages.reduce((sum, page) => sum + page.omitted, 0);
  const cursor = pages.at(-1)?.nextCursor ?? null;
  const shownError = error ?? failed;
  const offline = data?.offline ?? away;
  const ask = (request: Promise<unknown>) => {
    setFailed(null);
    setAway(null);
    request.catch((thrown: unknown) => {
      const why = toUserError(thrown);
      if (why.code !== "cancelled") setFailed(why);
    });
  };
  const more = async () => {
    const page = await search.request({ text: wanted, cursor, refresh: false, run: crypto.randomUUID() });
    setFurther((before) => ({ of: wanted, pages: before.of === wanted ? [...before.pages, page] : [page] }));
  };
  const reload = async () => {
    const page = await search.request({ text: wanted, cursor: null, refresh: true, run: crypto.randomUUID() });
    setAway(page.offline);
    setFurther({ of: "", pages: [] });
    await refetch();
  };
  return (
    <Stack gap="sm">
      <p className="dim">{t("registry.about")}</p>
      <Group gap="xs" wrap="nowrap">
        <div className={styles.grow}>
          <FilterInput label={t("registry.search")} text={text} onChange={onText} />
        </div>
        <Button
          variant="default"
          loading={search.busy}
          onClick={() => {
            ask(reload());
          }}
        >
          {t("registry.reload")}
        </Button>
      </Group>
      {offline !== null && <Offline error={offline} />}
      {shownError && <ErrorAlert error={shownError} />}
      {stop !== null && (loading || outdated) && <LoadingIndicator onCancel={stop} />}
      {data !== undefined && error === null && entries.length === 0 && (
        <EmptyState
          icon={<IconPackages size={26} />}
          title={t("registry.nothing")}
          text={wanted === "" ? t("registry.empty") : t("registry.noMatch", { text: wanted })}
        />
      )}
      {entries.length > 0 && (
        <ul className={styles.list} aria-label={t("registry.results")}>
          {entries.map((entry) => (
            <li key={`${entry.name} ${entry.version}`}>
              <EntryButton
                entry={entry}
                onOpen={() => {
                  onOpen({ name: entry.name, version: null });
                }}
              />
            </li>
          ))}
        </ul>
      )}
      {omitted > 0 && <p className="dim">{t("registry.omitted", { count: omitted })}</p>}
      {cursor !== null && (
        <Button
          variant="subtle"
          loading={search.busy}
          onClick={() => {
            ask(more());
          }}
        >
          {t("registry.more")}
        </Button>
      )}
    </Stack>
  );
}

function EntryButton({ entry, onOpen }: { entry: RegistryEntry; onOpen: () => void }) {
  const t = useMessages();
  const ways = [...new Set(entry.options.map(({ kind }) => t(`registry.kind.${kind}`)))];
  return (
    <button type="button" className={styles.entry} onClick={onOpen}>
      <span className={styles.head}>
        <strong>{entry.title ?? entry.name}</strong>
        <span className="dim">{entry.version}</span>
        <StatusBadge entry={entry} />
      </span>
      {entry.title !== null && <code className={styles.name}>{entry.name}</code>}
      <span>{entry.description}</span>
      <span className="dim">{ways.length === 0 ? t("registry.noOptions") : ways.join(" · ")}</span>
    </button>
  );
}

/** Says that an entry should not be used any more. */
export function StatusBadge({ entry }: { entry: RegistryEntry }) {
  const t = useMessages();
  if (entry.status === "active") return null;
  return (
    <Badge color={entry.status === "deleted" ? "red" : "orange"} variant="light">
      {t(`registry.status.${entry.status}`)}
    </Badge>
  );
}

/** Says that what is shown is an earlier answer, and of when. */
export function Offline({ error }: { error: UserError }) {
  return (
    <Alert
      color="orange"
      role="status"
      icon={<IconCloudOff size={18} aria-hidden />}
      title={<ErrorTitle error={error} />}
    >
      <ErrorDetails error={error} />
    </Alert>
  );
}
