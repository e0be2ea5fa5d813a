import { Loader, VisuallyHidden } from "@mantine/core";
import {
  IconAlertCircle,
  IconBan,
  IconCheck,
  IconChevronRight,
  IconEye,
  IconPencil,
  IconShieldQuestion,
  IconShieldX,
  type TablerIcon,
} from "@tabler/icons-react";
import clsx from "clsx";
import { memo, use, useId, useMemo, useState } from "react";

import { ruleLabel } from "../activity/labels";
import { useRuleSentence } from "../activity/useRuleSentence";
import { ApprovalItem } from "../approvals/ApprovalItem";
import { CallArguments } from "../approvals/arguments/CallArguments";
import type { ToolCallBlock, ToolCallState, Verdict } from "../generated/types";
import { useMessages } from "../messages";
import { durationLabel } from "../messages/duration";
import { ResultParts } from "../results/ResultParts";
import { shownArguments } from "./callArguments";
import { ChatApprovalsContext } from "./ChatApprovals";
import styles from "./ToolCallItem.module.css";

/** A tool call of the model: what it is and how it stands in one line, its approval request, and all of it on demand. */
export const ToolCallItem = memo(function ToolCallItem({ call }: { call: ToolCallBlock }) {
  const t = useMessages();
  const id = useId();
  const [opened, setOpened] = useState(false);
  const { state, verdict, server, title, tookMs } = call;
  const isWaiting = state === "waiting";
  const times = [
    ...(verdict && !isWaiting ? [ruleLabel(t, verdict.rule)] : []),
    ...(tookMs !== null && state !== "denied" ? [durationLabel(t, tookMs)] : []),
  ];
  return (
    <div className={clsx(styles.call, isWaiting && styles.waits)}>
      <button
        type="button"
        className={styles.head}
        aria-expanded={opened}
        aria-controls={id}
        onClick={() => {
          setOpened(!opened);
        }}
      >
        <StateIcon state={state} />
        <span className={styles.what}>
          <strong>{title}</strong>
          {server !== null && <span className="dim"> · {server}</span>}
          {!isWaiting && (
            <>
              {" "}
              <Preview call={call} />
            </>
          )}
        </span>
        {state === "done" ? (
          <VisuallyHidden>{t("chat.call.done")}</VisuallyHidden>
        ) : (
          <span className={clsx(styles.state, styles[state])}>{t(`chat.call.${state}`)}</span>
        )}
        <span className={styles.times}>{times.join(" · ")}</span>
        <IconChevronRight size={14} className={styles.chevron} aria-hidden />
      </button>
      {isWaiting && <Approval call={call} />}
      <div id={id} className={styles.details}>
        {opened && <CallDetails call={call} />}
      </div>
    </div>
  );
});

const icons: Record<Exclude<ToolCallState, "writing" | "running">, TablerIcon> = {
  waiting: IconShieldQuestion,
  done: IconCheck,
  failed: IconAlertCircle,
  denied: IconShieldX,
  cancelled: IconBan,
};

function StateIcon({ state }: { state: ToolCallState }) {
  if (state === "writing" || state === "running") return <Loader size={14} className={styles.icon} aria-hidden />;
  const Icon = icons[state];
  return <Icon size={16} className={clsx(styles.icon, styles[state])} aria-hidden />;
}

/** The arguments, as far as they fit into the line. */
function Preview({ call }: { call: ToolCallBlock }) {
  const text = useMemo(() => {
    const all = shownArguments(call.arguments);
    return (all ? all.map(({ name, text: value }) => `${name}: ${value}`).join(", ") : call.arguments).slice(0, 300);
  }, [call.arguments]);
  return text === "" ? null : <span className={styles.preview}>{text}</span>;
}

/** The request for approval that the call waits for. */
function Approval({ call: { approval } }: { call: ToolCallBlock }) {
  const t = useMessages();
  const approvals = use(ChatApprovalsContext);
  const slot = approval === null ? undefined : approvals?.slots.get(approval);
  if (!slot || !approvals) return <p className={styles.note}>{t("chat.call.waitsText")}</p>;
  return (
    <div className={styles.approval}>
      <ApprovalItem slot={slot} keys={false} {...approvals.actions} />
    </div>
  );
}

function CallDetails({ call }: { call: ToolCallBlock }) {
  const t = useMessages();
  const { verdict, repairedFrom, result, server, waitedMs, tool } = call;
  const shown = useMemo(() => shownArguments(call.arguments), [call.arguments]);
  return (
    <>
      <p className={styles.facts}>
        {call.class !== null && (
          <span>
            {call.class === "read" ? <IconEye size={14} aria-hidden /> : <IconPencil size={14} aria-hidden />}{" "}
            {t(`ask.class.${call.class}`)}
          </span>
        )}
        {verdict && <Permission verdict={verdict} />}
        {waitedMs !== null && waitedMs > 0 && <span>{t("result.waited", { took: durationLabel(t, waitedMs) })}</span>}
        <code className="selectable">{tool}</code>
      </p>
      {repairedFrom !== null && (
        <details className={styles.repaired}>
          <summary>{t("chat.call.repaired")}</summary>
          <pre className="mono selectable" tabIndex={0}>
            {repairedFrom}
          </pre>
        </details>
      )}
      <section aria-label={t("ask.arguments")}>
        <h4>{t("ask.arguments")}</h4>
        {shown ? (
          <CallArguments shown={shown} veil={0} onReveal={neverMasked} />
        ) : (
          <pre className={clsx(styles.raw, "mono", "selectable")} tabIndex={0}>
            {call.arguments}
          </pre>
        )}
      </section>
      {result && <ResultParts shown={result} server={server ?? ""} />}
    </>
  );
}

/** Secrets are masked for good by the core, so no argument has a button that asks for one. */
const neverMasked = () => Promise.resolve("");

/** What let the call run, or didn't: the decision, and the rule of the user where it was one. */
function Permission({ verdict: { decision, rule } }: { verdict: Verdict }) {
  const t = useMessages();
  const sentence = useRuleSentence();
  return (
    <span>
      {t(`activity.verdict.${decision}`)}: {ruleLabel(t, rule)}
      {"grant" in rule && <> — {sentence(rule.grant)}</>}
    </span>
  );
}
