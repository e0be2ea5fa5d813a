import { ActionIcon, NativeSelect, Tooltip } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import type { ModelChoice, ModelsView, ProviderId } from "../generated/types";
import { useMessages } from "../messages";
import { ModelField } from "./ModelField";
import { useModelList } from "./useModelList";
import styles from "./ModelChoiceFields.module.css";

type Props = {
  providers: ModelsView["providers"];
  choice: ModelChoice | null;
  onChoose: (choice: ModelChoice) => void;
  /** Makes it possible to choose none. */
  off?: { label: string; onChoose: () => void };
};

/** A provider, and one of the models that it lists or any other by its id. A choice counts at once. */
export function ModelChoiceFields({ providers, choice, onChoose, off }: Props) {
  const t = useMessages();
  // A provider without a default model counts only with a model.
  const [picked, setPicked] = useState<ProviderId | null>(null);
  const chosen = providers.find(({ id }) => id === choice?.provider);
  const provider = picked ?? chosen?.id ?? (off ? null : (providers[0]?.id ?? null));
  const saved = choice !== null && choice.provider === provider ? choice.model : "";
  const choose = (wanted: ProviderId, model: string) => {
    setPicked(null);
    onChoose({ provider: wanted, model });
  };
  const pick = (value: string) => {
    const wanted = providers.find(({ id }) => id === value);
    if (!wanted) {
      setPicked(null);
      off?.onChoose();
    } else if (wanted.defaultModel === null) {
      setPicked(wanted.id);
    } else {
      choose(wanted.id, wanted.defaultModel);
    }
  };
  return (
    <div className={styles.fields}>
      <NativeSelect
        label={t("models.provider")}
        disabled={providers.length === 0}
        data={[
          ...(off ? [{ value: "", label: off.label }] : []),
          ...providers.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={provider ?? ""}
        onChange={(event) => {
          pick(event.currentTarget.value);
        }}
      />
      {provider !== null && (
        <ModelOfProvider
          key={`${provider} ${saved}`}
          provider={provider}
          saved={saved}
          onChoose={(model) => {
            choose(provider, model);
          }}
        />
      )}
    </div>
  );
}

type ModelProps = { provider: ProviderId; saved: string; onChoose: (model: string) => void };

/** A model of a provider, which is asked for its list when the field is used. */
function ModelOfProvider({ provider, saved, onChoose }: ModelProps) {
  const t = useMessages();
  const [text, setText] = useState(saved);
  const { list, read } = useModelList();
  const commit = (model: string) => {
    const wanted = model.trim();
    if (wanted !== "" && wanted !== saved) onChoose(wanted);
  };
  return (
    <>
      <div className={styles.model}>
        <ModelField
          label={t("models.modelId")}
          description={t("models.modelHint")}
          models={list.reply ?? []}
          value={text}
          onChange={setText}
          onPick={commit}
          onFocus={() => {
            if (list.reply === null && !list.running) void read(provider);
          }}
          onBlur={() => {
            commit(text);
          }}
        />
        <Tooltip label={t("models.refresh")}>
          <ActionIcon
            size="lg"
            variant="default"
            loading={list.running}
            aria-label={t("models.refresh")}
            onClick={() => void read(provider)}
          >
            <IconRefresh size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </div>
      {list.error && <ErrorAlert error={list.error} />}
    </>
  );
}
