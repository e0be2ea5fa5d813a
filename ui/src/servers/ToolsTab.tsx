import { TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { IconSearch, IconTool } from "@tabler/icons-react";
import { useCallback, useRef, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { PolicyView, ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { TryDrawer } from "../try/TryDrawer";
import { ruleOf } from "./serverRules";
import { ToolRow } from "./ToolRow";
import { Collapse } from "../components/Collapse";

/** The tools of a server, each with its access class and what happens with it. */
export function ToolsTab({ server }: { server: string }) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("tools.list", { server });
  const policy = useCoreQuery("policy.show", {}).data;
  const [filter, setFilter] = useState("");
  const [tried, setTried] = useState<ToolView | null>(null);
  if (error) return <ErrorAlert error={error} />;
  if (loading) return <LoadingIndicator />;
  if (data?.length === 0) {
    return (
      <>
        <EmptyState icon={<IconTool size={26} />} title={t("servers.noTools")} text={t("servers.noToolsText")} />
        <OmittedTools server={server} />
      </>
    );
  }
  const tools = (data ?? []).filter(({ name, exposedName, title, description }) =>
    [name, exposedName, title, description].join(" ").toLowerCase().includes(filter.trim().toLowerCase()),
  );
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
      {tools.length === 0 && <p className="dim">{t("servers.noToolMatch", { text: filter })}</p>}
      <ToolList server={server} tools={tools} policy={policy} onTry={setTried} />
      <OmittedTools server={server} />
      <TryDrawer
        tool={tried}
        onClose={() => {
          setTried(null);
        }}
      />
    </>
  );
}

/** Tools that clients don't get, each with the reason. */
function OmittedTools({ server }: { server: string }) {
  const t = useMessages();
  const tools = useCoreQuery("tools.leftOut", { server }).data ?? [];
  const [opened, setOpened] = useState(false);
  if (tools.length === 0) return null;
  return (
    <Collapse label={t("servers.leftOut", { count: tools.length })} opened={opened} onOpened={setOpened}>
      <p className="dim">{t("servers.leftOutText")}</p>
      <div className="left-out" tabIndex={0} role="region" aria-label={t("servers.leftOut", { count: tools.length })}>
        <dl>
          {tools.map(({ name, reason }) => (
            <div key={`${name} ${reason}`}>
              <dt className="mono">{name}</dt>
              <dd>{reason}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Collapse>
  );
}

type RowsProps = {
  server: string;
  tools: readonly ToolView[];
  policy: PolicyView | undefined;
  onTry: (tool: ToolView) => void;
};

/** Virtual list of tools. */
function ToolList({ server, tools, policy, onTry }: RowsProps) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set());
  const open = useCallback((name: string, whole: boolean) => {
    setOpened((before) => new Set(whole ? [...before, name] : [...before].filter((one) => one !== name)));
  }, []);
  const own = new Map(
    (policy?.overrides ?? []).filter((one) => one.server.server === server).map((one) => [one.tool, one.class]),
  );
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: tools.length,
    getScrollElement: () => area.current,
    estimateSize: () => 76,
    getItemKey: (at) => tools[at]?.name ?? at,
    overscan: 8,
  });
  return (
    <div className="tab-scroll" ref={area} tabIndex={0} role="region" aria-label={t("servers.tab.tools")}>
      <div role="list" className="tools" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const tool = tools[row.index];
          if (!tool) return null;
          return (
            <div
              key={row.key}
              role="listitem"
              aria-setsize={tools.length}
              aria-posinset={row.index + 1}
              ref={rows.measureElement}
              data-index={row.index}
              className="tool"
              style={{ transform: `translateY(${String(row.start)}px)` }}
            >
              <ToolRow
                tool={tool}
                wider={ruleOf(policy, tool.permission.widerRule)}
                own={own.get(tool.name)}
                whole={opened.has(tool.name)}
                onWhole={open}
                onTry={onTry}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
