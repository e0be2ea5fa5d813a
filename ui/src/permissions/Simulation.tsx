import { Button, Drawer, NativeSelect } from "@mantine/core";
import { useId, useState } from "react";

import { useRemove } from "../core/useRemove";
import { useCoreQuery } from "../core/useCoreQuery";
import type { AutoApprove, DraftAutoApprove, Grant } from "../generated/types";
import { useMessages } from "../messages";
import { useConfirm } from "../components/useConfirm";
import { AutoApproveControl, autoApproveLabel } from "../auto-approve/AutoApproveControl";
import { SimulationResult, type SimulationQuery } from "./SimulationResult";
import { useAutoApprove } from "../auto-approve/useAutoApprove";
import styles from "./Simulation.module.css";

/** What is simulated: another auto-approve level, or revoking a rule. */
export type SimulationSubject = { is: "preset" } | { is: "rule"; rule: Grant; sentence: string };

/** Simulates other rules on past calls (PERM-15). */
export function Simulation({ about, onClose }: { about: SimulationSubject | null; onClose: () => void }) {
  const t = useMessages();
  return (
    <Drawer
      opened={about !== null}
      onClose={onClose}
      position="right"
      size="lg"
      lockScroll={false}
      closeButtonProps={{ "aria-label": t("appShell.close") }}
      title={about?.is === "rule" ? t("perm.whatIfBack") : t("perm.whatIf")}
    >
      {about?.is === "preset" && <AutoApproveSimulation />}
      {about?.is === "rule" && (
        <RevocationSimulation key={about.rule.id} rule={about.rule} sentence={about.sentence} onGone={onClose} />
      )}
    </Drawer>
  );
}

const DAY = 86_400_000;
const periods = ["1", "7", "30"] as const;
type Days = (typeof periods)[number];

const draftWithout = (rule: Grant): SimulationQuery["draft"] => ({ without: [rule.id], autoApprove: [], rules: [] });
const ago = (days: Days) => Date.now() - Number(days) * DAY;

function PeriodSelect({ days, onDays }: { days: Days; onDays: (days: Days) => void }) {
  const t = useMessages();
  return (
    <NativeSelect
      size="sm"
      label={t("perm.period")}
      data={periods.map((value) => ({ value, label: t(`perm.days.${value}`) }))}
      value={days}
      onChange={(event) => {
        onDays(periods.find((one) => one === event.currentTarget.value) ?? "7");
      }}
    />
  );
}

function AutoApproveSimulation() {
  const t = useMessages();
  const label = useId();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  const [days, setDays] = useState<Days>("7");
  const [to, setTo] = useState<AutoApprove>("reads");
  const [server, setServer] = useState("");
  const [client, setClient] = useState("");
  const [asked, setAsked] = useState<{ since: number; wanted: DraftAutoApprove } | null>(null);
  const set = useAutoApprove();
  const [applied, setApplied] = useState(false);
  const [confirm, dialog] = useConfirm();
  const simulate = () => {
    setApplied(false);
    setAsked({ since: ago(days), wanted: { server: server || null, client: client || null, to } });
  };
  const apply = ({ wanted }: NonNullable<typeof asked>) => {
    const preset = t(autoApproveLabel(wanted.to, wanted.server === null));
    confirm({
      title: t("perm.applyTitle", { preset }),
      text: t("perm.applyText", {
        preset,
        server: servers.find(({ config }) => config.id === wanted.server)?.config.name ?? t("perm.everyServerNow"),
        client: clients.find(({ id }) => id === wanted.client)?.name ?? t("perm.everyClientIn"),
      }),
      ok: t("perm.apply"),
      harmless: wanted.to === "ask",
      onOk: () => void set.run(wanted).then(setApplied),
    });
  };
  return (
    <div className={styles.simulation}>
      <p className="dim">{t("perm.simulateText")}</p>
      <div className={styles.row}>
        <PeriodSelect days={days} onDays={setDays} />
        <NativeSelect
          size="sm"
          label={t("perm.where")}
          data={[
            { value: "", label: t("perm.anyServer") },
            ...servers.map(({ config }) => ({ value: config.id, label: config.name })),
          ]}
          value={server}
          onChange={(event) => {
            setServer(event.currentTarget.value);
          }}
        />
        <NativeSelect
          size="sm"
          label={t("perm.for")}
          data={[
            { value: "", label: t("perm.anyClient") },
            ...clients.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={client}
          onChange={(event) => {
            setClient(event.currentTarget.value);
          }}
        />
      </div>
      <span id={label} className={styles.label}>
        {t("perm.wouldBe")}
      </span>
      <AutoApproveControl labelledBy={label} everywhere={server === ""} value={to} onChange={setTo} />
      <div>
        <Button onClick={simulate}>{t("perm.simulate")}</Button>
      </div>
      {asked && (
        <SimulationResult
          key={JSON.stringify(asked)}
          asked={{ since: asked.since, draft: { without: [], autoApprove: [asked.wanted], rules: [] } }}
        >
          {applied ? (
            <p role="status">{t("perm.applied")}</p>
          ) : (
            <Button
              variant="default"
              loading={set.busy}
              onClick={() => {
                apply(asked);
              }}
            >
              {t("perm.apply")}
            </Button>
          )}
        </SimulationResult>
      )}
      {dialog}
    </div>
  );
}

function RevocationSimulation({ rule, sentence, onGone }: { rule: Grant; sentence: string; onGone: () => void }) {
  const t = useMessages();
  const [days, setDays] = useState<Days>("7");
  const [asked, setAsked] = useState<SimulationQuery>(() => ({ since: ago("7"), draft: draftWithout(rule) }));
  const denies = rule.effect === "deny";
  const revoke = useRemove("policy.revoke");
  const unblock = useRemove("policy.unblock");
  const act = denies ? unblock : revoke;
  return (
    <div className={styles.simulation}>
      <p className={styles.rule}>{sentence}</p>
      <p className="dim">{t("perm.simulateText")}</p>
      <div className={styles.row}>
        <PeriodSelect
          days={days}
          onDays={(wanted) => {
            setDays(wanted);
            setAsked({ since: ago(wanted), draft: draftWithout(rule) });
          }}
        />
      </div>
      <SimulationResult key={asked.since} asked={asked}>
        <Button
          variant="default"
          aria-label={t(denies ? "perm.unblockRule" : "perm.takeBackRule", { rule: sentence })}
          loading={act.busy}
          onClick={() => {
            void act
              .run({ rule: rule.id }, t(denies ? "appShell.unblocked" : "appShell.revoked", { rule: sentence }))
              .then((done) => {
                if (done) onGone();
              });
          }}
        >
          {t(denies ? "perm.unblock" : "perm.takeBack")}
        </Button>
      </SimulationResult>
    </div>
  );
}
