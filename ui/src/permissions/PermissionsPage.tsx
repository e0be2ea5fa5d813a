import "./permissions.css";

import { Alert, Button, NativeSelect, TextInput } from "@mantine/core";
import { IconQuestionMark, IconSearch, IconShieldCheck } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useReading } from "../core/useCoreQuery";
import { format } from "../app-shell/route";
import type { PolicyView } from "../generated/types";
import { useMessages, useRender, useTimes } from "../messages";
import { Empty } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import { RuleList } from "./RuleList";
import { fitting, noFilter, said, type Filter } from "./describedRules";
import { WhatIf, type About } from "./Simulation";

/** How long calls are gathered before it is read again which rules they used, in milliseconds. */
const GATHER = 1000;

/** Every rule in words, and what other rules would have done. */
export function PermissionsPage() {
  const t = useMessages();
  const { data: policy, problem, loading, readAgain } = useReading("policy.show", {});
  const [about, setAbout] = useState<About | null>(null);
  useUses(readAgain);
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
      {problem && <ProblemAlert problem={problem} />}
      {loading && <Waiting />}
      {policy?.verified === false && (
        <Alert color="red" role="alert">
          {[t("perm.unverified"), policy.problem].filter(Boolean).join(" ")}
        </Alert>
      )}
      {policy?.rules.length === 0 && (
        <Empty icon={<IconShieldCheck size={26} />} title={t("perm.none")} text={t("perm.noneText")}>
          <Button component="a" href={format({ page: "servers" })}>
            {t("perm.toServers")}
          </Button>
        </Empty>
      )}
      {policy !== undefined && policy.rules.length > 0 && <Rules policy={policy} onWhatIf={setAbout} onOver={readAgain} />}
      <WhatIf
        about={about}
        onClose={() => {
          setAbout(null);
        }}
      />
    </Page>
  );
}

/** A call that ended may have used a rule. */
function useUses(readAgain: () => Promise<void>) {
  const { hear } = useCore();
  const tell = useRef(readAgain);
  useEffect(() => {
    tell.current = readAgain;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = hear((envelope) => {
      if (envelope?.event.event !== "call_finished") return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void tell.current();
      }, GATHER);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [hear]);
}

type RulesProps = { policy: PolicyView; onWhatIf: (about: About) => void; onOver: () => Promise<void> };

function Rules({ policy, onWhatIf, onOver }: RulesProps) {
  const t = useMessages();
  const render = useRender();
  const { full } = useTimes();
  const servers = useReading("servers.list", {}).data ?? [];
  const clients = useReading("clients.list", {}).data ?? [];
  const [filter, setFilter] = useState(noFilter);
  const change = (part: Partial<Filter>) => {
    setFilter((before) => ({ ...before, ...part }));
  };
  const all = said({ t, render, time: full }, policy.rules);
  const shown = fitting(all, filter);
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
          data={[{ value: "", label: t("perm.anyServer") }, ...servers.map(({ config }) => ({ value: config.id, label: config.name }))]}
          value={filter.server}
          onChange={(event) => {
            change({ server: event.currentTarget.value });
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("perm.client")}
          data={[{ value: "", label: t("perm.anyClient") }, ...clients.map(({ id, name }) => ({ value: id, label: name }))]}
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
              setFilter(noFilter);
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
