import { useCoreQuery } from "../core/useCoreQuery";
import { CHAT_CLIENT, OWN_CLIENT } from "../core/useNames";
import { useMessages } from "../messages";
import { FilterBar, FilterInput, FilterSelect } from "../components/FilterBar";
import { decisions, outcomes, ranges, type CallChoice, type Range } from "./callFilter";
import { ExportCalls } from "./ExportCalls";
import { withGone, type RecordedNames } from "./recordedNames";
import type { CallFilter } from "../generated/types";

type Props = {
  choice: CallChoice;
  onChange: (choice: CallChoice) => void;
  /** The server that all calls are of; any where null. */
  of: string | null;
  /** What the list shows. */
  shown: CallFilter;
  /** Servers and clients of listed calls. */
  recorded: RecordedNames;
};

const rangeNames = Object.keys(ranges) as Range[];

/** What the list of calls is filtered by, over all stored calls. */
export function CallFilters({ choice, onChange, of, shown, recorded }: Props) {
  const t = useMessages();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  const server = of ?? choice.server;
  const set = (change: Partial<CallChoice>) => {
    onChange({ ...choice, ...change });
  };
  const any = (label: string) => t("activity.any", { what: label });
  return (
    <FilterBar>
      <FilterInput
        label={t("activity.filter")}
        text={choice.text}
        onChange={(text) => {
          set({ text });
        }}
      />
      {of === null && (
        <FilterSelect
          label={t("activity.server")}
          all={any(t("activity.server"))}
          options={withGone(
            servers.map(({ config }) => [config.id, config.name]),
            recorded.servers,
          )}
          value={choice.server}
          onChange={(value) => {
            // Its tools are others.
            set({ server: value, tool: "" });
          }}
        />
      )}
      {server !== "" && (
        <ToolFilter
          server={server}
          value={choice.tool}
          onChange={(tool) => {
            set({ tool });
          }}
        />
      )}
      <FilterSelect
        label={t("activity.client")}
        all={any(t("activity.client"))}
        options={withGone(
          [
            [OWN_CLIENT, t("app.name")],
            [CHAT_CLIENT, t("appShell.chat")],
            ...clients.map(({ id, name }) => [id, name] as const),
          ],
          recorded.clients,
        )}
        value={choice.client}
        onChange={(client) => {
          set({ client });
        }}
      />
      <FilterSelect
        label={t("activity.verdict")}
        all={any(t("activity.verdict"))}
        options={decisions.map((value) => [value, t(`activity.verdict.${value}`)])}
        value={choice.decision}
        onChange={(decision) => {
          set({ decision });
        }}
      />
      <FilterSelect
        label={t("activity.result")}
        all={any(t("activity.result"))}
        options={outcomes.map((value) => [value, t(`activity.outcomeClass.${value}`)])}
        value={choice.outcome}
        onChange={(outcome) => {
          set({ outcome });
        }}
      />
      <FilterSelect
        label={t("activity.range")}
        all={any(t("activity.range"))}
        options={rangeNames.map((value) => [value, t(`activity.range.${value}`)])}
        value={choice.range}
        onChange={(range) => {
          set({ range, now: Date.now() });
        }}
      />
      <ExportCalls filter={shown} />
    </FilterBar>
  );
}

type ToolProps = { server: string; value: string; onChange: (tool: string) => void };

function ToolFilter({ server, value, onChange }: ToolProps) {
  const t = useMessages();
  const tools = useCoreQuery("tools.list", { server }).data ?? [];
  const names = tools.map(({ name }) => name);
  return (
    <FilterSelect
      label={t("activity.tool")}
      all={t("activity.any", { what: t("activity.tool") })}
      options={[...names.map((name) => [name, name] as const), ["resource:", t("activity.resources")]]}
      value={value}
      onChange={onChange}
    />
  );
}
