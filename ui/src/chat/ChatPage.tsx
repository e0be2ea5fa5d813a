import { Button } from "@mantine/core";
import { IconPlus, IconSparkles } from "@tabler/icons-react";

import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useCoreQuery } from "../core/useCoreQuery";
import { useKeptDialog } from "../core/useKeptDialog";
import type { ConversationId } from "../generated/types";
import { useMessages } from "../messages";
import { ProviderDialog } from "../models/ProviderDialog";
import { navigate } from "../navigation/route";
import { ConversationList } from "./ConversationList";
import { ConversationView } from "./ConversationView";
import { initialSettings } from "./modelNames";
import { NewConversation } from "./NewConversation";
import { useConversationMenu } from "./useConversationMenu";
import styles from "./ChatPage.module.css";

/** Conversations with a model that uses the tools; `null` for a new one. */
export function ChatPage({ conversation }: { conversation: ConversationId | null }) {
  const models = useCoreQuery("models.show", {});
  const latest = useCoreQuery("chat.list", { query: null });
  const menu = useConversationMenu((removed) => {
    if (removed === conversation) navigate({ page: "chat" });
  });
  // Here, since what needs the dialog goes when the provider is there.
  const dialog = useKeptDialog("chat.provider");
  const add = () => {
    dialog.open(null);
  };
  const error = models.error ?? latest.error;
  const hasNoProvider = models.data?.providers.length === 0;
  return (
    <div className={styles.page}>
      <ConversationList opened={conversation} menu={menu.groups} />
      <div className={styles.main}>
        {error && !models.data && (
          <div className={styles.failed}>
            <ErrorAlert error={error} />
          </div>
        )}
        {(models.loading || latest.loading) && !error && <LoadingIndicator />}
        {models.data && conversation !== null && (
          <ConversationView
            key={conversation}
            id={conversation}
            models={models.data}
            menu={(title) => menu.groups({ id: conversation, title })}
            onAddProvider={add}
          />
        )}
        {conversation === null && hasNoProvider && <NoProvider onAdd={add} />}
        {conversation === null && models.data && !hasNoProvider && latest.data && (
          <NewConversation
            models={models.data}
            initial={initialSettings(models.data, latest.data)}
            onAddProvider={add}
          />
        )}
      </div>
      {menu.dialogs}
      <ProviderDialog dialog={dialog} />
    </div>
  );
}

/** Without a provider there is no model to talk to. */
function NoProvider({ onAdd }: { onAdd: () => void }) {
  const t = useMessages();
  return (
    <EmptyState icon={<IconSparkles size={26} />} title={t("chat.noProvider")} text={t("chat.noProviderText")}>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={onAdd}>
        {t("models.add")}
      </Button>
    </EmptyState>
  );
}
