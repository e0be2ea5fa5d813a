import { Button, Checkbox, Drawer, Switch, Textarea } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";

import { Collapse } from "../components/Collapse";
import { useCoreQuery } from "../core/useCoreQuery";
import type {
  ConversationSettings,
  ModelsView,
  ServerId,
  SimplifiedTool,
  ConversationToolCost,
} from "../generated/types";
import { useMessages } from "../messages";
import { ModelChoiceFields } from "../models/ModelChoiceFields";
import styles from "./SettingsDrawer.module.css";

type Props = {
  opened: boolean;
  settings: ConversationSettings;
  models: ModelsView;
  /** What the tools of the conversation cost; absent before it has begun. */
  tools: ConversationToolCost | null;
  onChange: (settings: ConversationSettings) => void;
  onAddProvider: () => void;
  onClose: () => void;
};

/** What the user chooses for a conversation. Every choice counts at once, from the next message on. */
export function SettingsDrawer({ opened, onClose, ...content }: Props) {
  const t = useMessages();
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="md"
      lockScroll={false}
      closeButtonProps={{ "aria-label": t("appShell.close") }}
      title={t("chat.settings")}
    >
      {opened && <Content {...content} />}
    </Drawer>
  );
}

function Content({ settings, models, tools, onChange, onAddProvider }: Omit<Props, "opened" | "onClose">) {
  const t = useMessages();
  const change = (part: Partial<ConversationSettings>) => {
    onChange({ ...settings, ...part });
  };
  return (
    <div className={styles.settings}>
      <section aria-labelledby="chat-model">
        <h3 id="chat-model">{t("chat.model")}</h3>
        <ModelChoiceFields
          providers={models.providers}
          choice={settings.model}
          onChoose={(model) => {
            change({ model });
          }}
        />
        <div>
          <Button size="xs" variant="default" leftSection={<IconPlus size={14} aria-hidden />} onClick={onAddProvider}>
            {t(models.providers.length === 0 ? "models.add" : "chat.addProvider")}
          </Button>
        </div>
      </section>
      <section aria-labelledby="chat-tools">
        <h3 id="chat-tools">{t("chat.tools")}</h3>
        {tools && (
          <p className={styles.cost}>
            {t("chat.toolCount", { count: tools.tools })} · {t("chat.toolTokens", { count: tools.tokens })}
          </p>
        )}
        <Switch
          label={t("chat.toolSearch")}
          description={t("chat.toolSearchText")}
          checked={settings.toolSearch}
          onChange={(event) => {
            change({ toolSearch: event.currentTarget.checked });
          }}
        />
        <ServerChoice
          chosen={settings.servers}
          onChange={(servers) => {
            change({ servers });
          }}
        />
        {tools && tools.simplified.length > 0 && <Simplified tools={tools.simplified} />}
      </section>
      <section aria-labelledby="chat-instructions">
        <h3 id="chat-instructions">{t("chat.instructions")}</h3>
        <Instructions
          saved={settings.instructions ?? ""}
          onChange={(text) => {
            change({ instructions: text === "" ? null : text });
          }}
        />
      </section>
    </div>
  );
}

type ServerChoiceProps = { chosen: readonly ServerId[] | null; onChange: (servers: ServerId[] | null) => void };

/** The servers whose tools the model gets. */
function ServerChoice({ chosen, onChange }: ServerChoiceProps) {
  const t = useMessages();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const ids = servers.map(({ config }) => config.id);
  const isChosen = (id: ServerId) => chosen === null || chosen.includes(id);
  return (
    <fieldset className={styles.servers}>
      <legend>{t("chat.servers")}</legend>
      <Checkbox
        label={t("chat.allServers")}
        checked={chosen === null}
        onChange={(event) => {
          onChange(event.currentTarget.checked ? null : ids);
        }}
      />
      <div className={styles.each}>
        {servers.map(({ config: { id, name }, status }) => (
          <Checkbox
            key={id}
            label={
              <>
                {name}
                {status.state !== "connected" && <span className="dim"> · {t("chat.serverOff")}</span>}
              </>
            }
            checked={isChosen(id)}
            onChange={(event) => {
              const wanted = event.currentTarget.checked;
              onChange(ids.filter((one) => (one === id ? wanted : isChosen(one))));
            }}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** Which tools the provider's format can't carry whole, and what is missing of them. */
function Simplified({ tools }: { tools: readonly SimplifiedTool[] }) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  return (
    <div className={styles.simplified}>
      <Collapse label={t("chat.simplified", { count: tools.length })} opened={opened} onOpened={setOpened}>
        <p className="dim">{t("chat.simplifiedText")}</p>
        <ul className="selectable">
          {tools.map(({ tool, changes }) => (
            <li key={tool}>
              <code>{tool}</code>
              <ul>
                {changes.map((change) => (
                  <li key={change}>
                    <code>{change}</code>
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      </Collapse>
    </div>
  );
}

function Instructions({ saved, onChange }: { saved: string; onChange: (text: string) => void }) {
  const t = useMessages();
  const [text, setText] = useState(saved);
  return (
    <Textarea
      aria-label={t("chat.instructions")}
      description={t("chat.instructionsText")}
      autosize
      minRows={3}
      maxRows={12}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
      }}
      onBlur={() => {
        if (text.trim() !== saved) onChange(text.trim());
      }}
    />
  );
}
