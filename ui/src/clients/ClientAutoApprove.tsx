import { useId } from "react";

import { useReading } from "../core/useCoreQuery";
import type { AutoApprove, ClientView } from "../generated/types";
import { useMessages } from "../messages";
import { useConfirm } from "../components/useConfirm";
import { Late, Preset, presetWord } from "../components/AutoApproveControl";
import { presetOf } from "../permissions/clientAutoApprove";
import { useAutoApprove } from "../components/useAutoApprove";

/** What one client may do without asking, on every server that there is now. */
export function ClientPreset({ client: { id, name } }: { client: ClientView }) {
  const t = useMessages();
  const label = useId();
  const policy = useReading("policy.show", {}).data;
  const servers = useReading("servers.list", {}).data;
  const set = useAutoApprove();
  const [confirm, dialog] = useConfirm();
  const { value, parts, also, waiting, late } = presetOf(policy, servers ?? [], id);
  const change = (to: AutoApprove) => {
    const onOk = () => void set.run({ server: null, client: id, to });
    if (to === "ask" || to === "reads") onOk();
    else {
      confirm({
        title: t("preset.sureTitle", { preset: t(presetWord(to, true)), client: name }),
        text: t("preset.sureText"),
        ok: t(presetWord(to, true)),
        onOk,
      });
    }
  };
  const mixed = parts.map(({ preset, servers: of }) => t("preset.mixedPart", { preset: t(presetWord(preset, false)), servers: of.join(", ") }));
  return (
    <div className="client-preset">
      <span id={label}>{t("preset.client")}</span>
      <Preset
        labelledBy={label}
        everywhere
        value={value}
        disabled={set.busy || policy === undefined || (servers ?? []).length === 0}
        onChange={change}
      />
      {value === "mixed" && <strong className="client-mixed">{t("preset.mixed")}</strong>}
      <p className="client-small">
        {servers?.length === 0 ? t("preset.noServers") : t("preset.clientText")}
        {value === "mixed" && <span> {t("preset.mixedText", { parts: mixed.join("; ") })}</span>}
        {waiting.length > 0 && <span> {t("preset.waits", { servers: waiting.join(", ") })}</span>}
        {also.length > 0 && <span> {t("preset.alsoEvery", { servers: also.join(", ") })}</span>}
      </p>
      {late.count > 0 && (
        <p className="client-small client-late">
          <Late
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
