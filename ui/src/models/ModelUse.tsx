import { NativeSelect } from "@mantine/core";
import { useId, useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useAction } from "../core/useAction";
import type { ModelChoice, ModelsView, ProviderId } from "../generated/types";
import { useMessages } from "../messages";
import { ModelField } from "./ModelField";
import { useModelList } from "./useModelList";
import styles from "./ModelUse.module.css";

type Props = { use: "sampling" | "opinion"; view: ModelsView };

/** The model for one use, which is off where none is chosen. A choice counts at once. */
export function ModelUse({ use, view }: Props) {
  const t = useMessages();
  const id = useId();
  const assign = useAction("models.assign");
  const set = view[use];
  const { sampling, opinion } = view;
  const choose = (choice: ModelChoice | null) => assign.run({ sampling, opinion, [use]: choice });
  // A provider without a default model counts only with a model.
  const [picked, setPicked] = useState<ProviderId | null>(null);
  const provider = picked ?? set?.provider ?? null;
  const pickProvider = (wanted: ProviderId | null) => {
    const model = view.providers.find((one) => one.id === wanted)?.defaultModel ?? null;
    setPicked(wanted !== null && model === null ? wanted : null);
    if (wanted === null) void choose(null);
    else if (model !== null) void choose({ provider: wanted, model });
  };
  return (
    <div role="group" aria-labelledby={id} aria-describedby={`${id}-text`} className={styles.use}>
      <div>
        <h3 id={id}>{t(`models.${use}`)}</h3>
        <p id={`${id}-text`} className={styles.text}>
          {t(`models.${use}Text`)}
        </p>
      </div>
      <div className={styles.fields}>
        <NativeSelect
          aria-label={t("models.provider")}
          data={[
            { value: "", label: t("models.off") },
            ...view.providers.map((one) => ({ value: one.id, label: one.name })),
          ]}
          value={provider ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget;
            pickProvider(value === "" ? null : value);
          }}
        />
        {provider !== null && (
          <ModelOfProvider
            key={`${provider} ${picked === null ? (set?.model ?? "") : ""}`}
            provider={provider}
            saved={picked === null ? (set?.model ?? "") : ""}
            onChoose={(model) => {
              void choose({ provider, model }).then((done) => {
                if (done) setPicked(null);
              });
            }}
          />
        )}
      </div>
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
      <ModelField
        label={null}
        placeholder={t(list.running ? "models.listing" : "models.model")}
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
      {list.error && (
        <div className={styles.error}>
          <ErrorAlert error={list.error} />
        </div>
      )}
    </>
  );
}
