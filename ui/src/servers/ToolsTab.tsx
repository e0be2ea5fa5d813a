import { NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { IconAlertTriangle, IconEye, IconPencil, IconSearch, IconTool } from "@tabler/icons-react";
import { memo, useRef, useState } from "react";

import { reasonWords } from "../ask/words";
import { useAction } from "../core/useAction";
import { useReading } from "../core/useReading";
import type { AccessClass, Grant, ToolView } from "../gen/types";
import { useMessages } from "../messages";
import { Empty } from "../parts/Empty";
import { ProblemAlert } from "../parts/ProblemAlert";
import { Waiting } from "../parts/Waiting";
import { freeOf, passesUnasked, rulesOf, type Free } from "./status";

/** The tools of a server, each with its access class and what happens with it. */
export function ToolsTab({ server }: { server: string }) {
  const t = useMessages();
  const { data, problem, loading } = useReading("tools.list", { server });
  const policy = useReading("policy.show", {}).data;
  const [filter, setFilter] = useState("");
  const area = useRef<HTMLDivElement>(null);
  const tools = (data ?? []).filter(({ name, title, description }) =>
    [name, title, description].join(" ").toLowerCase().includes(filter.trim().toLowerCase()),
  );
  const rules = new Map<string, Grant>();
  for (const { rule } of rulesOf(policy, server)) {
    const plain = rule.clients.clients === "every" && rule.lifetime.lifetime === "always" && rule.conditions.length === 0;
    if (plain && rule.width.width === "tool") rules.set(rule.width.tool, rule);
  }
  const free = freeOf(policy, server);
  const own = new Map(
    (policy?.overrides ?? []).filter((one) => one.server.server === server).map((one) => [one.tool, one.class]),
  );
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: tools.length,
    getScrollElement: () => area.current,
    estimateSize: () => 76,
    overscan: 8,
  });
  if (problem) return <ProblemAlert problem={problem} />;
  if (loading) return <Waiting />;
  if (data?.length === 0) {
    return <Empty icon={<IconTool size={26} />} title={t("servers.noTools")} text={t("servers.noToolsText")} />;
  }
  return (
    <>
      <TextInput
        size="sm"
        className="tab-filter"
        aria-label={t("servers.filterTools")}
        placeholder={t("servers.filterTools")}
        leftSection={<IconSearch size={15} aria-hidden />}
        value={filter}
        onChange={(event) => {
          setFilter(event.currentTarget.value);
        }}
      />
      <div className="tab-scroll" ref={area} tabIndex={0} role="region" aria-label={t("servers.tab.tools")}>
        <div role="list" style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((row) => {
            const tool = tools[row.index];
            if (!tool) return null;
            return (
              <div
                key={tool.exposedName}
                role="listitem"
                ref={rows.measureElement}
                data-index={row.index}
                className="tool"
                style={{ transform: `translateY(${String(row.start)}px)` }}
              >
                <Tool tool={tool} rule={rules.get(tool.name)} own={own.get(tool.name)} free={free} />
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

type Props = { tool: ToolView; rule: Grant | undefined; own: AccessClass | undefined; free: Free };

const Tool = memo(function Tool({ tool, rule, own, free }: Props) {
  const t = useMessages();
  const classify = useAction("tools.classify");
  const { server, name } = tool;
  const { class: access } = tool.class;
  return (
    <>
      <div className="tool-words">
        <div className="tool-name">
          <strong>{tool.title ?? tool.name}</strong> <code className="selectable">{tool.exposedName}</code>
        </div>
        {tool.description !== null && (
          <p className="dim tool-text" title={tool.description}>
            {tool.description}
          </p>
        )}
        <p className={`tool-class tool-class-${access}`}>
          {access === "read" ? <IconEye size={14} aria-hidden /> : <IconPencil size={14} aria-hidden />}
          <span>{t(`ask.class.${access}`)}</span>
          <span className="dim">({t("ask.because", { reason: reasonWords(t, tool.class.reason) })})</span>
          {rule === undefined && passesUnasked(free, tool) && (
            <span className="tool-free">{t("servers.tool.free", { free: t(`servers.free.${free}`) })}</span>
          )}
        </p>
        {tool.flags.length > 0 && (
          <p className="tool-flag">
            <IconAlertTriangle size={14} aria-hidden /> {t("servers.flagged", { places: tool.flags.join(", ") })}
          </p>
        )}
      </div>
      <NativeSelect
        size="xs"
        aria-label={t("servers.class", { tool: name })}
        value={own ?? "auto"}
        data={[
          { value: "auto", label: t("servers.class.auto", { class: t(`ask.class.${access}`) }) },
          { value: "read", label: t("servers.class.read") },
          { value: "write", label: t("servers.class.write") },
        ]}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          void classify.run({ server, tool: name, class: chosen === "read" || chosen === "write" ? chosen : null });
        }}
      />
      <ToolRule tool={tool} rule={rule} />
    </>
  );
});

/** Ask, allow or block one tool, for every client and until it is changed. */
function ToolRule({ tool: { server, name }, rule }: { tool: ToolView; rule: Grant | undefined }) {
  const t = useMessages();
  const grant = useAction("policy.grant");
  const deny = useAction("policy.deny");
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const now = rule === undefined ? "ask" : rule.effect === "allow" ? "allow" : "block";
  const choice = { lifetime: "always", width: "tool", everyClient: true, conditions: [] } as const;
  const about = { server, tool: name, client: null, choice: { ...choice, conditions: [] } };
  const change = async (wanted: string) => {
    if (rule && !(await (rule.effect === "allow" ? revoke : unblock).run({ rule: rule.id }))) return;
    if (wanted === "allow") await grant.run(about);
    if (wanted === "block") await deny.run({ ...about, reason: null });
  };
  return (
    <SegmentedControl
      size="xs"
      aria-label={t("servers.tool.rule", { tool: name })}
      disabled={grant.busy || deny.busy || revoke.busy || unblock.busy}
      data={(["ask", "allow", "block"] as const).map((value) => ({ value, label: t(`servers.tool.${value}`) }))}
      value={now}
      onChange={(wanted) => void change(wanted)}
    />
  );
}
