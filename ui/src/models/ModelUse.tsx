import { useId } from "react";

import { useAction } from "../core/useAction";
import type { ModelChoice, ModelsView } from "../generated/types";
import { useMessages } from "../messages";
import { ModelChoiceFields } from "./ModelChoiceFields";
import styles from "./ModelUse.module.css";

type Props = { use: "sampling" | "opinion"; view: ModelsView };

/** The model for one use, which is off where none is chosen. */
export function ModelUse({ use, view }: Props) {
  const t = useMessages();
  const id = useId();
  const assign = useAction("models.assign");
  const { sampling, opinion } = view;
  const choose = (choice: ModelChoice | null) => void assign.run({ sampling, opinion, [use]: choice });
  return (
    <div role="group" aria-labelledby={id} aria-describedby={`${id}-text`} className={styles.use}>
      <div>
        <h3 id={id}>{t(`models.${use}`)}</h3>
        <p id={`${id}-text`} className={styles.text}>
          {t(`models.${use}Text`)}
        </p>
      </div>
      <ModelChoiceFields
        providers={view.providers}
        choice={view[use]}
        onChoose={choose}
        off={{
          label: t("models.off"),
          onChoose: () => {
            choose(null);
          },
        }}
      />
    </div>
  );
}
