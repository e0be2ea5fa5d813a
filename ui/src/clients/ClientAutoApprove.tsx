import clsx from "clsx";
import { useId } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { AutoApprove, ClientView } from "../generated/types";
import { useMessages } from "../messages";
import { useConfirm } from "../components/useConfirm";
import { AllowNewTools, AutoApproveControl, autoApproveLabel } from "../auto-approve/AutoApproveControl";
import { clientAutoApprove } from "../auto-approve/clientAutoApprove";
import { useAutoApprove } from "../auto-approve/useAutoApprove";
import clientsPageStyles from "./ClientsPage.module.css";
import styles from "./ClientAutoApprove.module.css";

/** The auto-approve setting of one client for all present servers. */
export function ClientAutoApprove({ client: { id, name } }: { client: ClientView }) {
  const t = useMessages();
  const label = useId();
  const policy = useCoreQuery("policy.show", {}).data;
  const servers = useCoreQuery("servers.list", {}).data;
  const set = useAutoApprove();
  const [confirm, dialog] = useConfirm();
  const { value, parts, also, waiting, late } = clientAutoApprove(policy, servers ?? [], id);
  const change = (to: AutoApprove) => {
    const onOk = () => void set.run({ server: null, client: id, to });
    if (to === "ask" || to === "reads") onOk();
    else {
      confirm({
        title: t("preset.sureTitle", { preset: t(autoApproveLabel(to, true)), client: name }),
        text: t("preset.sureText"),
        ok: t(autoApproveLabel(to, true)),
        onOk,
      });
    }
  };
  const mixed = parts.map(({ preset, servers: of }) =>
    t("preset.mixedPart", { preset: t(autoApproveLabel(preset, false)), servers: of }),
  );
  return (
    <div className={styles.control}>
      <span id={label}>{t("preset.client")}</span>
      <AutoApproveControl
        labelledBy={label}
        everywhere
        value={value}
        disabled={set.busy || policy === undefined || (servers ?? []).length === 0}
        onChange={change}
      />
      {value === "mixed" && <strong className={styles.mixed}>{t("preset.mixed")}</strong>}
      <p className={clientsPageStyles.small}>
        {servers?.length === 0 ? t("preset.noServers") : t("preset.clientText")}
        {value === "mixed" && <span> {t("preset.mixedText", { parts: mixed.join("; ") })}</span>}
        {waiting.length > 0 && <span> {t("preset.waits", { servers: waiting })}</span>}
        {also.length > 0 && <span> {t("preset.alsoEvery", { servers: also })}</span>}
      </p>
      {late.count > 0 && (
        <p className={clsx(clientsPageStyles.small, styles.late)}>
          <AllowNewTools
            count={late.count}
            onRenew={() => {
              change(late.to);
            }}
          />
        </p>
      )}
      {dialog}
    </div>
  );
}
