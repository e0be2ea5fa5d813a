import { ActionIcon, Loader } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconMessagePlus } from "@tabler/icons-react";
import { useState } from "react";

import { ActionMenu, type ActionMenuProps } from "../components/ActionMenu";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterInput } from "../components/FilterBar";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useNow } from "../components/useNow";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ConversationId, ConversationSummary } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { formatRoute } from "../navigation/route";
import { titleOf } from "./titleOf";
import styles from "./ConversationList.module.css";

type Props = {
  /** The one that is open; `null` for a new one. */
  opened: ConversationId | null;
  /** The menu of a conversation. */
  menu: (conversation: Pick<ConversationSummary, "id" | "title">) => ActionMenuProps["groups"];
};

/** All conversations, newest first, or those with the words that are searched for. */
export function ConversationList({ opened, menu }: Props) {
  const t = useMessages();
  const [words, setWords] = useState("");
  const [query] = useDebouncedValue(words.trim(), 200);
  const { data, error, loading } = useCoreQuery("chat.list", { query: query === "" ? null : query });
  return (
    <section className={styles.side} aria-labelledby="chat-heading">
      <header className={styles.head}>
        <h1 id="chat-heading">{t("appShell.chat")}</h1>
        <ActionIcon
          component="a"
          href={formatRoute({ page: "chat" })}
          variant="default"
          size="lg"
          aria-label={t("chat.new")}
          title={t("chat.new")}
          aria-current={opened === null ? "page" : undefined}
        >
          <IconMessagePlus size={18} aria-hidden />
        </ActionIcon>
      </header>
      <FilterInput label={t("chat.search")} text={words} onChange={setWords} />
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data?.length === 0 && (
        <p className={styles.none} role="status">
          {t(query === "" ? "chat.noneYet" : "chat.noMatch")}
        </p>
      )}
      {data && data.length > 0 && (
        <ul className={styles.list} aria-label={t("chat.conversations")}>
          {data.map((one) => (
            <ConversationRow key={one.id} conversation={one} isOpen={one.id === opened} menu={menu} />
          ))}
        </ul>
      )}
    </section>
  );
}

type RowProps = { conversation: ConversationSummary; isOpen: boolean; menu: Props["menu"] };

function ConversationRow({ conversation, isOpen, menu }: RowProps) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const now = useNow(60_000);
  const { id, updated, isRunning, excerpt } = conversation;
  const title = titleOf(t, conversation);
  return (
    <li className={styles.row}>
      <a href={formatRoute({ page: "chat", conversation: id })} aria-current={isOpen ? "page" : undefined}>
        <span className={styles.title} title={title}>
          {title}
        </span>
        <span className={styles.line} title={full(updated)}>
          {isRunning && <Loader size={10} aria-label={t("chat.running")} role="img" />}
          <span>{excerpt ?? ago(updated, now)}</span>
        </span>
      </a>
      <ActionMenu label={t("chat.menuOf", { title })} className={styles.menu} groups={menu({ id, title })} />
    </li>
  );
}
