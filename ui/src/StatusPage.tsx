import { Alert, Button, Code, Container, CopyButton, Group, Loader, NativeSelect, Stack, Text, Title } from "@mantine/core";

import type { StatusReport } from "./gen/types";
import { languageNames, useMessages, type MessageKey } from "./messages";
import type { Platform, PreferredLanguage, Preferences, Theme } from "./platform";
import { ProblemAlert } from "./ProblemAlert";
import { useStatus } from "./useStatus";

type Props = { platform: Platform; preferences: Preferences; onChange: (preferences: Preferences) => void };

/** What runs, what waits, what is wrong. */
export function StatusPage({ platform, preferences, onChange }: Props) {
  const t = useMessages();
  const { report, problem, tryAgain } = useStatus(platform);
  return (
    <Container size="md" py="lg" component="main">
      <Stack gap="lg">
        <Group justify="space-between" align="end">
          <Title order={1} size="h2">
            {t("app.name")}
          </Title>
          <Look preferences={preferences} onChange={onChange} />
        </Group>
        {problem && (
          <ProblemAlert problem={problem}>
            <Button variant="default" size="xs" onClick={tryAgain}>
              {t("status.again")}
            </Button>
          </ProblemAlert>
        )}
        {report && <Report report={report} />}
        {!report && !problem && (
          <Group role="status">
            <Loader size="sm" />
            <Text>{t("status.loading")}</Text>
          </Group>
        )}
      </Stack>
    </Container>
  );
}

function Report({ report }: { report: StatusReport }) {
  const t = useMessages();
  return (
    <>
      {report.paused && <Alert color="orange" title={t("status.paused")} />}
      {report.problems.map((problem) => (
        <ProblemAlert key={`${problem.code} ${problem.what}`} problem={problem} />
      ))}
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          {t("status.gateway")}
        </Text>
        <Group gap="sm">
          <Code fz="md">{report.endpoint}</Code>
          <CopyButton value={report.endpoint}>
            {({ copied, copy }) => (
              <Button variant="default" size="xs" onClick={copy}>
                {copied ? t("status.copied") : t("status.copy")}
              </Button>
            )}
          </CopyButton>
        </Group>
      </Stack>
      <dl className="status-figures">
        <Figure
          name={t("status.servers")}
          value={t("status.serversOf", { running: report.running, all: report.servers })}
        />
        <Figure name={t("status.tools")} value={report.tools} />
        <Figure name={t("status.clients")} value={report.clients} />
        <Figure name={t("status.waiting")} value={report.waiting} />
      </dl>
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          {t(secretsKey(report.secrets))}
        </Text>
        <Text size="sm" c="dimmed">
          {t("status.dataDir", { folder: report.dataDir })}
        </Text>
      </Stack>
    </>
  );
}

function secretsKey(kind: string): MessageKey {
  switch (kind) {
    case "keychain":
      return "status.secrets.keychain";
    case "vault":
      return "status.secrets.vault";
    default:
      return "status.secrets.memory";
  }
}

function Figure({ name, value }: { name: string; value: string | number }) {
  return (
    <div className="status-figure">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="xl" fw={600} m={0}>
        {value}
      </Text>
    </div>
  );
}

function Look({ preferences, onChange }: Pick<Props, "preferences" | "onChange">) {
  const t = useMessages();
  const themes: { value: Theme; label: string }[] = [
    { value: "system", label: t("theme.system") },
    { value: "light", label: t("theme.light") },
    { value: "dark", label: t("theme.dark") },
  ];
  const languages: { value: PreferredLanguage; label: string }[] = [
    { value: "system", label: t("language.system") },
    { value: "en", label: languageNames.en },
    { value: "zh-CN", label: languageNames["zh-CN"] },
  ];
  return (
    <Group gap="sm">
      <NativeSelect
        label={t("theme.label")}
        size="xs"
        value={preferences.theme}
        data={themes}
        onChange={(event) => {
          const chosen = themes.find(({ value }) => value === event.currentTarget.value);
          if (chosen) onChange({ ...preferences, theme: chosen.value });
        }}
      />
      <NativeSelect
        label={t("language.label")}
        size="xs"
        value={preferences.language}
        data={languages}
        onChange={(event) => {
          const chosen = languages.find(({ value }) => value === event.currentTarget.value);
          if (chosen) onChange({ ...preferences, language: chosen.value });
        }}
      />
    </Group>
  );
}
