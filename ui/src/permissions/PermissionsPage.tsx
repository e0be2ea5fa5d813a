import { Alert, Button } from "@mantine/core";
import { IconQuestionMark, IconShieldCheck } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { usePageState } from "../core/pageState";
import { useCoreQuery } from "../core/useCoreQuery";
import { formatRoute } from "../navigation/route";
import type { PolicyView } from "../generated/types";
import { useMessages, useRender, useTimes } from "../messages";
import { userErrorLine } from "../messages/userError";
import { EmptyState } from "../components/EmptyState";
import { FilterBar, FilterInput, FilterSelect } from "../components/FilterBar";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { RuleList } from "./RuleList";
import { filterRules, emptyFilter, ruleKinds, describeRules, type RuleFilter } from "./describedRules";
import { Simulation, type SimulationSubject } from "./Simulation";
import styles from "./PermissionsPage.module.css";

/** How long calls are gathered before it is read again which rules they used, in milliseconds. */
const BATCH_MS = 1000;

/** The Permissions page: all rules, and simulation. */
export function PermissionsPage() {
  const t = useMessages();
  const { data: policy, error, loading, refetch } = useCoreQuery("policy.show", {});
  const [about, setAbout] = useState<SimulationSubject | null>(null);
  useUsageUpdates(refetch);
  return (
    <Page
      title={t("perm.title")}
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={<IconQuestionMark size={15} aria-hidden />}
          onClick={() => {
            setAbout({ is: "preset" });
          }}
        >
          {t("perm.whatIf")}
        </Button>
      }
    >
      <p className={styles.text}>{t("perm.text")}</p>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {policy?.verified === false && (
        <Alert color="red" role="alert">
          {t("perm.unverified")} {policy.problem && userErrorLine(t, policy.problem)}
        </Alert>
      )}
      {policy?.rules.length === 0 && (
        <EmptyState icon={<IconShieldCheck size={26} />} title={t("perm.none")} text={t("perm.noneText")}>
          <Button component="a" href={formatRoute({ page: "servers" })}>
            {t("perm.toServers")}
          </Button>
        </EmptyState>
      )}
      {policy !== undefined && policy.rules.length > 0 && (
        <Rules policy={policy} onWhatIf={setAbout} onOver={refetch} />
      )}
      <Simulation
        about={about}
        onClose={() => {
          setAbout(null);
        }}
      />
    </Page>
  );
}

/** A call that ended may have used a rule. */
function useUsageUpdates(refetch: () => Promise<void>) {
  const { subscribe } = useCore();
  const tell = useRef(refetch);
  useEffect(() => {
    tell.current = refetch;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = subscribe((envelope) => {
      if (envelope?.event.event !== "call_finished") return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void tell.current();
      }, BATCH_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [subscribe]);
}

type RulesProps = { policy: PolicyView; onWhatIf: (about: SimulationSubject) => void; onOver: () => Promise<void> };

function Rules({ policy, onWhatIf, onOver }: RulesProps) {
  const t = useMessages();
  const render = useRender();
  const { full } = useTimes();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  const [filter, setFilter] = usePageState("permissions.rules", emptyFilter);
  const change = (part: Partial<RuleFilter>) => {
    setFilter((before) => ({ ...before, ...part }));
  };
  const all = describeRules({ t, render, time: full }, policy.rules);
  const shown = filterRules(all, filter);
  return (
    <>
      <FilterBar>
        <FilterInput
          label={t("perm.search")}
          text={filter.text}
          onChange={(text) => {
            change({ text });
          }}
        />
        <FilterSelect
          label={t("perm.kind")}
          all={t("perm.kind.any")}
          options={ruleKinds.map((kind) => [kind, t(`perm.kind.${kind}`)])}
          value={filter.kind}
          onChange={(kind) => {
            change({ kind });
          }}
        />
        <FilterSelect
          label={t("perm.server")}
          all={t("perm.anyServer")}
          options={servers.map(({ config }) => [config.id, config.name])}
          value={filter.server}
          onChange={(server) => {
            change({ server });
          }}
        />
        <FilterSelect
          label={t("perm.client")}
          all={t("perm.anyClient")}
          options={clients.map(({ id, name }) => [id, name])}
          value={filter.client}
          onChange={(client) => {
            change({ client });
          }}
        />
        <span className="dim" role="status">
          {shown.length === all.length
            ? t("perm.all", { count: all.length })
            : t("perm.shown", { count: shown.length, all: all.length })}
        </span>
      </FilterBar>
      {shown.length === 0 ? (
        <p className={clsx("dim", styles.noMatch)}>
          {t("perm.noMatch")}{" "}
          <Button
            size="compact-sm"
            variant="light"
            onClick={() => {
              setFilter(emptyFilter);
            }}
          >
            {t("perm.clear")}
          </Button>
        </p>
      ) : (
        <RuleList shown={shown} onWhatIf={onWhatIf} onOver={onOver} />
      )}
    </>
  );
}
