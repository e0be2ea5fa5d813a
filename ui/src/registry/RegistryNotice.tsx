import { Button } from "@mantine/core";
import { IconAlertTriangle, IconArrowUp } from "@tabler/icons-react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { RegistrySource, ServerConfig } from "../generated/types";
import { useMessages } from "../messages";
import { formatRoute } from "../navigation/route";
import styles from "./RegistryNotice.module.css";

/** Says that there is a newer version of a server that came from the registry, or that its version is no longer offered. */
export function RegistryNotice({ config }: { config: ServerConfig }) {
  return config.registry === null ? null : <KnownSource key={config.id} config={config} source={config.registry} />;
}

function KnownSource({ config, source }: { config: ServerConfig; source: RegistrySource }) {
  const t = useMessages();
  // That the registry can't be reached is no news here.
  const { data } = useCoreQuery("registry.report", { server: config.id });
  if (data === undefined) return null;
  const { status, statusMessage, update } = data;
  const warning = status === null ? t("registry.withdrawn") : status === "active" ? null : t(`registry.warn.${status}`);
  return (
    <>
      {warning !== null && (
        <p className={styles.line} role="status">
          <IconAlertTriangle size={16} aria-hidden /> {warning} {statusMessage}
        </p>
      )}
      {update !== null && (
        <p className={styles.line} role="status">
          <IconArrowUp size={16} aria-hidden />
          {t(update.isNewer ? "registry.update" : "registry.otherVersion", {
            from: source.version,
            to: update.version,
          })}
          {update.draft === null ? (
            <span className="dim">{t("registry.updateByHand")}</span>
          ) : (
            <Button
              component="a"
              size="compact-xs"
              variant="default"
              href={formatRoute({ page: "server", id: config.id, tab: "settings", at: "update" })}
            >
              {t("registry.showUpdate")}
            </Button>
          )}
        </p>
      )}
    </>
  );
}
