import { Button } from "@mantine/core";
import { IconPlus, IconServer2 } from "@tabler/icons-react";

import { useAction } from "../core/useAction";
import { usePageState } from "../core/pageState";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { ImportOffer } from "../imports/ImportOffer";
import { ActionMenu } from "../components/ActionMenu";
import { EmptyState } from "../components/EmptyState";
import { FilterInput } from "../components/FilterBar";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { useConfirm } from "../components/useConfirm";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { dropServerOffer, useServerOffer } from "../navigation/serverOffer";
import { AddServerDialog } from "./AddServerDialog";
import { ServerCard } from "./ServerCard";
import styles from "./ServersPage.module.css";

/** So many servers are seen at a glance, and need no filter. */
const FEW = 5;

/** All servers, by group. */
export function ServersPage() {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("servers.list", {});
  const [adding, setAdding] = usePageState<"form" | "import" | null>("servers.adding", null);
  const offer = useServerOffer();
  const [filter, setFilter] = usePageState("servers.filter", "");
  const all = data ?? [];
  const taken = all.map(({ config }) => config.name);
  const hasFilter = all.length > FEW;
  const shown = hasFilter ? all.filter((view) => matches(view, filter)) : all;
  const add = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => {
        setAdding("form");
      }}
    >
      {t("servers.add")}
    </Button>
  );
  return (
    <Page
      title={t("servers.title")}
      actions={
        <>
          {hasFilter && <FilterInput label={t("servers.filter")} text={filter} onChange={setFilter} />}
          {add}
          <PageMenu />
        </>
      }
    >
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data?.every(({ config }) => config.transport.type === "builtin") === true && (
        <ImportOffer
          onImport={() => {
            setAdding("import");
          }}
        />
      )}
      {data?.length === 0 && (
        <EmptyState icon={<IconServer2 size={26} />} title={t("servers.none")} text={t("servers.noneText")}>
          {add}
        </EmptyState>
      )}
      {all.length > 0 && shown.length === 0 && <p className="dim">{t("servers.noMatch", { text: filter })}</p>}
      {groups(shown).map(([group, views], _, list) => (
        <section key={group} aria-label={group === "" ? t("servers.title") : group}>
          {list.length > 1 && <h2 className={styles.groupName}>{group === "" ? t("servers.ungrouped") : group}</h2>}
          <div className={styles.list}>
            {views.map((view) => (
              <ServerCard key={view.config.id} view={view} taken={taken} />
            ))}
          </div>
        </section>
      ))}
      <AddServerDialog
        opened={adding !== null || offer !== null}
        start={adding ?? "form"}
        offer={offer}
        onClose={() => {
          setAdding(null);
          dropServerOffer();
        }}
      />
    </Page>
  );
}

/** What is done with all servers at once. */
function PageMenu() {
  const t = useMessages();
  const on = useCoreQuery("status", {}).data?.switchedOn ?? true;
  const switchOn = useAction("servers.switchOn");
  const switchOff = useAction("servers.switchOff");
  const reset = useAction("servers.reset");
  const [confirm, dialog] = useConfirm();
  return (
    <>
      <ActionMenu
        label={t("servers.menu")}
        size="lg"
        variant="default"
        groups={[
          [
            {
              label: t(on ? "servers.switchOff" : "servers.switchOn"),
              act: () => void (on ? switchOff : switchOn).run({}),
            },
          ],
          [
            {
              label: t("servers.reset"),
              isDanger: true,
              act: () => {
                confirm({
                  title: t("servers.reset"),
                  text: t("servers.resetText"),
                  ok: t("servers.resetOk"),
                  onOk: () => void reset.run({}),
                });
              },
            },
          ],
        ]}
      />
      {dialog}
    </>
  );
}

function matches({ config }: ServerView, filter: string): boolean {
  const words = [config.name, config.look.description, config.look.group].join(" ").toLowerCase();
  return words.includes(filter.trim().toLowerCase());
}

/** By group, those without one last. */
function groups(views: readonly ServerView[]): [string, ServerView[]][] {
  const found = new Map<string, ServerView[]>();
  for (const view of views) {
    const group = view.config.look.group ?? "";
    found.set(group, [...(found.get(group) ?? []), view]);
  }
  return [...found].sort(([one], [other]) => Number(one === "") - Number(other === "") || one.localeCompare(other));
}
