import { useEffect, useRef } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import { ModelUse } from "../models/ModelUse";
import { ProviderList } from "../models/ProviderList";
import { SettingsSection } from "./SettingsSection";
import styles from "./ModelsSection.module.css";

/** Model providers, and what their models are used for beside Chat. `wanted`: it is what the user came for. */
export function ModelsSection({ wanted }: { wanted: boolean }) {
  const t = useMessages();
  const { data, error } = useCoreQuery("models.show", {});
  const top = useRef<HTMLDivElement>(null);
  const isShown = data !== undefined || error !== null;
  useEffect(() => {
    if (wanted && isShown) top.current?.scrollIntoView({ block: "start" });
  }, [wanted, isShown]);
  if (!isShown) return null;
  return (
    <div ref={top} className={styles.anchor}>
      <SettingsSection title={t("models.title")} text={t("models.text")}>
        {error && <ErrorAlert error={error} />}
        {data && <ProviderList providers={data.providers} />}
        {data && data.providers.length > 0 && (
          <>
            <ModelUse use="sampling" view={data} />
            <ModelUse use="opinion" view={data} />
          </>
        )}
      </SettingsSection>
    </div>
  );
}
