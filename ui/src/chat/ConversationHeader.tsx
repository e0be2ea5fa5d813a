import { Button } from "@mantine/core";
import { IconAdjustmentsHorizontal, IconSparkles } from "@tabler/icons-react";
import { useState } from "react";

import { ActionMenu, type ActionMenuProps } from "../components/ActionMenu";
import type { ConversationSettings, ModelsView, TokenUsage, ConversationToolCost } from "../generated/types";
import { useMessages } from "../messages";
import { modelName } from "./modelNames";
import { SettingsDrawer } from "./SettingsDrawer";
import styles from "./ConversationHeader.module.css";

type Props = {
  title: string;
  settings: ConversationSettings;
  models: ModelsView;
  /** Absent before the conversation has begun. */
  tools: ConversationToolCost | null;
  usage: TokenUsage | null;
  onSettings: (settings: ConversationSettings) => void;
  /** The conversation's menu. */
  menu: ActionMenuProps["groups"] | null;
  onAddProvider: () => void;
};

/** The title of a conversation, its model and its tools, and what they cost. */
export function ConversationHeader({ title, settings, models, tools, usage, onSettings, menu, ...rest }: Props) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const open = () => {
    setOpened(true);
  };
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <h2 title={title}>{title}</h2>
        {usage && usage.input + usage.output > 0 && (
          <span className={styles.usage}>{t("chat.usageAll", { input: usage.input, output: usage.output })}</span>
        )}
      </div>
      <div className={styles.controls}>
        <Button
          size="xs"
          variant="default"
          className={styles.model}
          leftSection={<IconSparkles size={14} aria-hidden />}
          aria-label={t("chat.modelIs", { model: modelName(t, settings.model, models) })}
          onClick={open}
        >
          {modelName(t, settings.model, models)}
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconAdjustmentsHorizontal size={14} aria-hidden />}
          onClick={open}
        >
          {tools
            ? settings.toolSearch
              ? t("chat.searchesTools", { count: tools.tools })
              : t("chat.toolCount", { count: tools.tools })
            : t("chat.tools")}
        </Button>
        {menu !== null && <ActionMenu label={t("chat.menu")} size={30} variant="default" groups={menu} />}
      </div>
      <SettingsDrawer
        opened={opened}
        settings={settings}
        models={models}
        tools={tools}
        onChange={onSettings}
        {...rest}
        onClose={() => {
          setOpened(false);
        }}
      />
    </header>
  );
}
