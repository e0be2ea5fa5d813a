import "./permissions.css";

import { Alert, Button, NativeSelect, TextInput } from "@mantine/core";
import { IconQuestionMark, IconSearch, IconShieldCheck } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import { formatRoute } from "../app-shell/route";
import type { PolicyView } from "../generated/types";
import { useMessages, useRender, useTimes } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { RuleList } from "./RuleList";
import { filterRules, emptyFilter, describeRules, type RuleFilter } from "./describedRules";
import { Simulation, type SimulationSubject } from "./Simulation";

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
      <p className="perm-text">{t("perm.text")}</p>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {policy?.verified === false && (
        <Alert color="red" role="alert">
          {[t("perm.unverified"), policy.problem].filter(Boolean).join(" ")}
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
  const [filter, setFilter] = useState(emptyFilter);
  const change = (part: Partial<RuleFilter>) => {
    setFilter((before) => ({ ...before, ...part }));
  };
  const all = describeRules({ t, render, time: full }, policy.rules);
  const shown = filterRules(all, filter);
  return (
    <>
      <div className="perm-filters">
        <TextInput
          size="sm"
          className="perm-search"
          aria-label={t("perm.search")}
          placeholder={t("perm.search")}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={filter.text}
          onChange={(event) => {
            change({ text: event.currentTarget.value });
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("perm.kind")}
          data={[
            { value: "", label: t("perm.kind.any") },
            ...(["allow", "deny", "timed"] as const).map((value) => ({ value, label: t(`perm.kind.${value}`) })),
          ]}
          value={filter.kind}
          onChange={(event) => {
            const { value } = event.currentTarget;
            change({ kind: value === "allow" || value === "deny" || value === "timed" ? value : "" });
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("perm.server")}
          data={[
            { value: "", label: t("perm.anyServer") },
            ...servers.map(({ config }) => ({ value: config.id, label: config.name })),
          ]}
          value={filter.server}
          onChange={(event) => {
            change({ server: event.currentTarget.value });
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("perm.client")}
          data={[
            { value: "", label: t("perm.anyClient") },
            ...clients.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={filter.client}
          onChange={(event) => {
            change({ client: event.currentTarget.value });
          }}
        />
        <span className="perm-dim" role="status">
          {shown.length === all.length
            ? t("perm.all", { count: all.length })
            : t("perm.shown", { count: shown.length, all: all.length })}
        </span>
      </div>
      {shown.length === 0 ? (
        <p className="perm-dim perm-no-match">
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
