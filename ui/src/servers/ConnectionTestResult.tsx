import { Checkbox } from "@mantine/core";
import { IconCircleCheck, IconEye } from "@tabler/icons-react";

import type { TestReport } from "../generated/types";
import { useMessages } from "../messages";
import { counted } from "./status";

type Props = { report: TestReport; trust: boolean; onTrust: (trust: boolean) => void };

/** What a test found, and the one question about it (PERM-2). */
export function TestResult({ report: { server, tools, resources, prompts }, trust, onTrust }: Props) {
  const t = useMessages();
  const reads = tools.filter(({ readOnly }) => readOnly).length;
  return (
    <section className="test" aria-live="polite">
      <p className="status status-ok">
        <IconCircleCheck size={16} aria-hidden />
        <span>{t("servers.form.works", { name: server.title ?? server.name, version: server.version })}</span>
      </p>
      <p className="dim">
        {[
          counted(t, "tools", tools.length),
          ...(resources > 0 ? [counted(t, "resources", resources)] : []),
          ...(prompts > 0 ? [counted(t, "prompts", prompts)] : []),
        ].join(" · ")}
      </p>
      <ul className="test-tools" tabIndex={0} aria-label={t("servers.tab.tools")}>
        {tools.map(({ name, title, readOnly }) => (
          <li key={name}>
            <code>{name}</code>
            {title !== null && <span className="dim">{title}</span>}
            {readOnly && (
              <span className="test-reads">
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
