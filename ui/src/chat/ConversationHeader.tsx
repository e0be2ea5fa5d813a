import { ActionIcon, Button, Menu } from "@mantine/core";
import { IconAdjustmentsHorizontal, IconDots, IconSparkles } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

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
  /** Items of the conversation's menu. */
  menu: ReactNode;
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
        {menu !== null && (
          <Menu position="bottom-end" width={210}>
            <Menu.Target>
              <ActionIcon size={30} variant="default" aria-label={t("chat.menu")}>
                <IconDots size={16} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>{menu}</Menu.Dropdown>
          </Menu>
        )}
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
