import { Button, Group, Stack } from "@mantine/core";
import { IconFileImport, IconRefresh } from "@tabler/icons-react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { ImportOrigin, ImportSource } from "../generated/types";
import { useMessages } from "../messages";
import { userErrorText } from "../messages/userError";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { ImportFileField } from "./ImportForm";
import styles from "./ImportSources.module.css";

/** What settings files end with. */
const ENDINGS = ["json", "jsonc", "toml", "yaml", "yml"];

type Props = { onPick: (from: ImportOrigin) => void };

/** The settings of other applications on this computer, and a field for any other file. */
export function ImportSources({ onPick }: Props) {
  const t = useMessages();
  const { data, error, loading, refetch } = useCoreQuery("imports.sources", {});
  return (
    <Stack gap="md">
      {loading && <LoadingIndicator />}
      {error && <ErrorAlert error={error} />}
      {data?.length === 0 && (
        <EmptyState icon={<IconFileImport size={26} />} title={t("imports.none")} text={t("imports.noneText")} />
      )}
      {data && data.length > 0 && (
        <ul className={styles.sources} aria-label={t("imports.found")}>
          {data.map((source) => (
            <SourceRow key={source.file} source={source} onPick={onPick} />
          ))}
        </ul>
      )}
      <ImportFileField
        label={t("imports.path")}
        description={t("imports.pathHint")}
        endings={ENDINGS}
        onPick={(file) => {
          onPick({ file });
        }}
      />
      <Group>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<IconRefresh size={14} aria-hidden />}
          onClick={() => void refetch()}
        >
          {t("imports.lookAgain")}
        </Button>
      </Group>
    </Stack>
  );
}

function SourceRow({ source: { name, file, servers, problem }, onPick }: { source: ImportSource } & Props) {
  const t = useMessages();
  return (
    <li className={styles.source}>
      <div className={styles.about}>
        <strong>{name}</strong>
        <span className={styles.file}>{file}</span>
        {problem && <span className={styles.problem}>{userErrorText(t, problem).title}</span>}
      </div>
      <span className="dim">{problem === null && t("imports.count", { count: servers })}</span>
      <Button
        size="xs"
        variant="default"
        disabled={servers === 0}
        aria-label={t("imports.chooseFrom", { name, file })}
        onClick={() => {
          onPick({ file });
        }}
      >
        {t("imports.choose")}
      </Button>
    </li>
  );
}
