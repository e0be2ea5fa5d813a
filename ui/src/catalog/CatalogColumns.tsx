import { type ReactNode } from "react";

import { FilterInput } from "../components/FilterBar";
import { PickList, type PickListItem } from "../components/PickList";
import { useMessages } from "../messages";
import catalogStyles from "./catalog.module.css";

type Props = {
  filterLabel: string;
  filter: string;
  onFilter: (text: string) => void;
  listLabel: string;
  /** Those that the filter leaves. */
  picks: readonly PickListItem[];
  picked: string | null;
  onPick: (key: string) => void;
  /** The picked one. */
  children: ReactNode;
};

/** What a server offers, beside the one that is picked. */
export function CatalogColumns({ filterLabel, filter, onFilter, listLabel, picks, picked, onPick, children }: Props) {
  const t = useMessages();
  return (
    <div className={catalogStyles.catalog}>
      <div className={catalogStyles.list}>
        <FilterInput label={filterLabel} text={filter} onChange={onFilter} />
        {picks.length === 0 ? (
          <p className="dim">{t("catalog.noMatch", { text: filter })}</p>
        ) : (
          <PickList label={listLabel} picks={picks} picked={picked} onPick={onPick} />
        )}
      </div>
      <div className={catalogStyles.selected} tabIndex={0} role="region" aria-label={t("catalog.one")}>
        {children}
      </div>
    </div>
  );
}
