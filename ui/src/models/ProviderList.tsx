import { Button, Group } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";

import { useConfirm } from "../components/useConfirm";
import { useAction } from "../core/useAction";
import { useKeptDialog } from "../core/useKeptDialog";
import type { ProviderView } from "../generated/types";
import { useMessages } from "../messages";
import { ProviderDialog } from "./ProviderDialog";
import styles from "./ProviderList.module.css";

/** The providers, with the ways to add, change and remove one. */
export function ProviderList({ providers }: { providers: readonly ProviderView[] }) {
  const t = useMessages();
  const remove = useAction("models.removeProvider");
  const [confirm, confirmation] = useConfirm();
  const dialog = useKeptDialog("models.editor");
  return (
    <>
      {providers.length > 0 && (
        <ul className={styles.providers} aria-label={t("models.providers")}>
          {providers.map((provider) => (
            <li key={provider.id} className={styles.provider} aria-label={provider.name}>
              <div className={styles.about}>
                <strong>{provider.name}</strong>
                <span className={styles.small}>
                  {t(`models.api.${provider.api}`)} · <span className="mono">{provider.baseUrl}</span>
                </span>
                <span className={styles.small}>
                  {[
                    t(provider.hasKey ? "models.keyStored" : "models.noKey"),
                    ...(provider.defaultModel === null
                      ? []
                      : [t("models.defaultIs", { model: provider.defaultModel })]),
                  ].join(" · ")}
                </span>
              </div>
              <Group gap="xs">
                <Button
                  size="xs"
                  variant="default"
                  aria-label={t("models.editTitle", { name: provider.name })}
                  onClick={() => {
                    dialog.open(provider.id);
                  }}
                >
                  {t("models.edit")}
                </Button>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={t("models.removeTitle", { name: provider.name })}
                  onClick={() => {
                    confirm({
                      title: t("models.removeTitle", { name: provider.name }),
                      text: t("models.removeText"),
                      ok: t("models.remove"),
                      onOk: () => void remove.run({ provider: provider.id }),
                    });
                  }}
                >
                  {t("models.remove")}
                </Button>
              </Group>
            </li>
          ))}
        </ul>
      )}
      <div>
        <Button
          size="xs"
          variant={providers.length === 0 ? "filled" : "default"}
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => {
            dialog.open(null);
          }}
        >
          {t("models.add")}
        </Button>
      </div>
      {confirmation}
      <ProviderDialog dialog={dialog} />
    </>
  );
}
