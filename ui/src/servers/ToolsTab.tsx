import { IconTool } from "@tabler/icons-react";
import { useCallback, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { PolicyView, ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { Collapse } from "../components/Collapse";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterInput } from "../components/FilterBar";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { VirtualList } from "../components/VirtualList";
import { ruleOf } from "../auto-approve/serverRules";
import { ToolRow } from "./ToolRow";
import serverPageStyles from "./ServerPage.module.css";
import styles from "./ToolsTab.module.css";

/** The tools of a server, each with its access class and what happens with it. */
export function ToolsTab({ server }: { server: string }) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("tools.list", { server });
  const policy = useCoreQuery("policy.show", {}).data;
  const [filter, setFilter] = useState("");
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
      <div className={styles.filter}>
        <FilterInput label={t("servers.filterTools")} text={filter} onChange={setFilter} />
      </div>
      {tools.length === 0 && <p className="dim">{t("servers.noToolMatch", { text: filter })}</p>}
      <ToolList server={server} tools={tools} policy={policy} />
      <OmittedTools server={server} />
    </>
  );
}

/** Tools that clients don't get, each with the reason. */
function OmittedTools({ server }: { server: string }) {
  const t = useMessages();
  const tools = useCoreQuery("tools.omitted", { server }).data ?? [];
  const [opened, setOpened] = useState(false);
  if (tools.length === 0) return null;
  return (
    <Collapse label={t("servers.omitted", { count: tools.length })} opened={opened} onOpened={setOpened}>
      <p className="dim">{t("servers.omittedText")}</p>
      <div
        className={styles.omitted}
        tabIndex={0}
        role="region"
        aria-label={t("servers.omitted", { count: tools.length })}
      >
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
};

/** Virtual list of tools. */
function ToolList({ server, tools, policy }: RowsProps) {
  const t = useMessages();
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set());
  const open = useCallback((name: string, whole: boolean) => {
    setOpened((before) => new Set(whole ? [...before, name] : [...before].filter((one) => one !== name)));
  }, []);
  const own = new Map(
    (policy?.overrides ?? []).filter((one) => one.server.server === server).map((one) => [one.tool, one.class]),
  );
  return (
    <VirtualList
      role="region"
      label={t("servers.tab.tools")}
      className={serverPageStyles.scroll}
      items={tools}
      itemKey={({ name }) => name}
      rowHeight={76}
      measured
    >
      {(tool) => (
        <ToolRow
          tool={tool}
          wider={ruleOf(policy, tool.permission.widerRule)}
          own={own.get(tool.name)}
          whole={opened.has(tool.name)}
          onWhole={open}
        />
      )}
    </VirtualList>
  );
}
