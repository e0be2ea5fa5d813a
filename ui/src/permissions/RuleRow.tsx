import { Button } from "@mantine/core";
import { IconAlertTriangle, IconBan, IconCheck, IconClock } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useRef } from "react";

import { formatCountdown } from "../messages/countdown";
import { useRemove } from "../core/useRemove";
import { useMessages, useTimes } from "../messages";
import { useNow } from "../components/useNow";
import type { DescribedRule } from "./describedRules";
import type { SimulationSubject } from "./Simulation";
import styles from "./RuleRow.module.css";

type Props = {
  said: DescribedRule;
  now: number;
  onWhatIf: (about: SimulationSubject) => void;
  /** Its time is over. */
  onOver: () => Promise<void>;
  /** It was taken back. */
  onGone: () => void;
};

/** One rule: description, use, affected tools, and buttons to simulate or revoke it. */
export function RuleRow({ said: { view, sentence, note }, now, onWhatIf, onOver, onGone }: Props) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const revoke = useRemove("policy.revoke");
  const unblock = useRemove("policy.unblock");
  const { rule, lastUsed, reach } = view;
  const denies = rule.effect === "deny";
  const isWide = rule.width.width !== "tool";
  const act = denies ? unblock : revoke;
  const takeBack = () => {
    void act
      .run({ rule: rule.id }, t(denies ? "appShell.unblocked" : "appShell.revoked", { rule: sentence }))
      .then((done) => {
        if (done) onGone();
      });
  };
  return (
    <div className={clsx(styles.rule, styles[rule.effect])}>
      {denies ? (
        <IconBan size={17} className={styles.icon} aria-hidden />
      ) : (
        <IconCheck size={17} className={styles.icon} aria-hidden />
      )}
      <div className={styles.text}>
        <span className="selectable" data-testid="rule-sentence">
          {sentence}
        </span>
        <span className={styles.facts}>
          <span title={full(rule.created)}>{t("perm.given", { ago: ago(rule.created, now) })}</span>
          {lastUsed === null ? (
            <span>{t("perm.never")}</span>
          ) : (
            <span title={full(lastUsed)}>{t("perm.used", { ago: ago(lastUsed, now) })}</span>
          )}
          {rule.lifetime.lifetime === "until" && <RuleExpiry at={rule.lifetime.at} onOver={onOver} />}
          {reach !== null && isWide && <span>{t("perm.covers", { count: reach.covered })}</span>}
          {reach !== null && isWide && reach.later > 0 && <span>{t("perm.later", { count: reach.later })}</span>}
          {reach?.waitsForFirstUse === true && <span>{t("perm.waits")}</span>}
          {rule.program !== null && <span>{t("perm.program", { program: rule.program })}</span>}
          {rule.reason !== null && <span>{t("perm.reason", { reason: rule.reason })}</span>}
        </span>
        {note !== null && (
          <span className={styles.note}>
            <IconAlertTriangle size={14} aria-hidden /> {note}
          </span>
        )}
        {reach !== null && reach.changed.length > 0 && (
          <span className={styles.changed}>
            <IconAlertTriangle size={14} aria-hidden /> {t("perm.changed", { tools: reach.changed })}
          </span>
        )}
      </div>
      <span className={styles.actions}>
        <Button
          size="xs"
          variant="subtle"
          aria-label={t("perm.whatIfRule", { rule: sentence })}
          title={t("perm.whatIfBack")}
          onClick={() => {
            onWhatIf({ is: "rule", rule, sentence });
          }}
        >
          {t("perm.whatIf")}
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-label={t(denies ? "perm.unblockRule" : "perm.takeBackRule", { rule: sentence })}
          loading={act.busy}
          onClick={takeBack}
        >
          {t(denies ? "perm.unblock" : "perm.takeBack")}
        </Button>
      </span>
    </div>
  );
}

/** Time until the rule expires. Reads the rules again when it does. */
function RuleExpiry({ at, onOver }: { at: number; onOver: () => Promise<void> }) {
  const t = useMessages();
  const now = useNow(1000);
  const { full } = useTimes();
  const over = now >= at;
  const tell = useRef(onOver);
  useEffect(() => {
    tell.current = onOver;
  });
  useEffect(() => {
    if (over) void tell.current();
  }, [over]);
  return (
    <span className={styles.expiry} title={full(at)} role="timer">
      <IconClock size={13} aria-hidden /> {over ? t("perm.over") : t("perm.ends", { time: formatCountdown(at - now) })}
    </span>
  );
}
