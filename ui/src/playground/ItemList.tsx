import { SegmentedControl } from "@mantine/core";
import { usePageState } from "../core/pageState";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import type { PlaygroundKind } from "../navigation/route";
import { FilterInput, FilterSelect } from "../components/FilterBar";
import { PickList } from "../components/PickList";
import { filterItems, type PlaygroundItem } from "./items";
import styles from "./ItemList.module.css";

type Props = {
  items: readonly PlaygroundItem[];
  servers: readonly ServerView[];
  /** Key of the selected item. */
  picked: string | null;
  onPick: (item: PlaygroundItem) => void;
};

const kinds: readonly Exclude<PlaygroundKind, "template">[] = ["tool", "prompt", "resource"];

/** What can be tried, of all servers or one. */
export function ItemList({ items, servers, picked, onPick }: Props) {
  const t = useMessages();
  const [words, setWords] = usePageState("playground.words", "");
  const [server, setServer] = usePageState("playground.server", "");
  const [kind, setKind] = usePageState<PlaygroundKind | "">("playground.kind", "");
  const wanted = servers.some(({ config }) => config.id === server) ? server : "";
  const picks = filterItems(items, { words, server: wanted, kind }).map((item) => ({
    key: item.key,
    title: item.title,
    line: `${item.serverName} · ${item.description ?? item.name}`,
    tag: t(`playground.tag.${item.kind}`),
  }));
  return (
    <div className={styles.items}>
      <FilterInput label={t("playground.search")} text={words} onChange={setWords} />
      <FilterSelect
        label={t("playground.server")}
        all={t("playground.anyServer")}
        options={servers.map(({ config }) => [config.id, config.name])}
        value={wanted}
        onChange={setServer}
      />
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("playground.kind")}
        data={[
          { value: "", label: t("playground.kind.any") },
          ...kinds.map((value) => ({ value, label: t(`playground.kind.${value}`) })),
        ]}
        value={kind}
        onChange={(value) => {
          setKind(kinds.find((one) => one === value) ?? "");
        }}
      />
      {picks.length === 0 ? (
        <p className="dim">{t("playground.noMatch")}</p>
      ) : (
        <PickList
          label={t("playground.items")}
          picks={picks}
          picked={picked}
          onPick={(key) => {
            const item = items.find((one) => one.key === key);
            if (item) onPick(item);
          }}
        />
      )}
    </div>
  );
}
