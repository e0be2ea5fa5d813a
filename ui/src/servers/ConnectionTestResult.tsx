import { Checkbox } from "@mantine/core";
import { IconCircleCheck, IconEye } from "@tabler/icons-react";

import clsx from "clsx";
import type { TestReport } from "../generated/types";
import { useMessages } from "../messages";
import { countLabel } from "./status";
import statusMarkStyles from "./StatusMark.module.css";
import styles from "./ConnectionTestResult.module.css";

type Props = { report: TestReport; trust: boolean; onTrust: (trust: boolean) => void };

/** The result of a connection test, and whether to trust the server's labels (PERM-2). */
export function ConnectionTestResult({ report: { server, tools, resources, prompts }, trust, onTrust }: Props) {
  const t = useMessages();
  const reads = tools.filter(({ readOnly }) => readOnly).length;
  return (
    <section className={styles.result} aria-live="polite">
      <p className={clsx(statusMarkStyles.status, statusMarkStyles.ok)}>
        <IconCircleCheck size={16} aria-hidden />
        <span>{t("servers.form.works", { name: server.title ?? server.name, version: server.version })}</span>
      </p>
      <p className="dim">
        {[
          countLabel(t, "tools", tools.length),
          ...(resources > 0 ? [countLabel(t, "resources", resources)] : []),
          ...(prompts > 0 ? [countLabel(t, "prompts", prompts)] : []),
        ].join(" · ")}
      </p>
      <ul className={styles.tools} tabIndex={0} aria-label={t("servers.tab.tools")}>
        {tools.map(({ name, title, readOnly }) => (
          <li key={name}>
            <code>{name}</code>
            {title !== null && <span className="dim">{title}</span>}
            {readOnly && (
              <span className={styles.readOnly}>
                <IconEye size={14} aria-hidden /> {t("servers.form.reads")}
              </span>
            )}
          </li>
        ))}
      </ul>
      {reads > 0 && (
        <Checkbox
          label={t("servers.form.trust")}
          description={t("servers.form.trustHint", { count: reads })}
          checked={trust}
          onChange={(event) => {
            onTrust(event.currentTarget.checked);
          }}
        />
      )}
    </section>
  );
}
