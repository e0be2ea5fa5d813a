import { ActionIcon, Button, NativeSelect } from "@mantine/core";
import {
  IconAlertTriangle,
  IconChevronRight,
  IconEye,
  IconHistory,
  IconPencil,
  IconPlayerPlay,
  IconShieldX,
  IconVersions,
  IconWorldShare,
} from "@tabler/icons-react";

import clsx from "clsx";
import { classLabel, classReasonLabel } from "../approvals/labels";
import { useAction } from "../core/useAction";
import type { AccessClass, AutoApprove, Grant, RuleView, ToolView } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { formatRoute } from "../navigation/route";
import { ToolPermission } from "./ToolPermission";
import styles from "./ToolRow.module.css";

type Props = {
  tool: ToolView;
  /** The wider rule that holds for it as well. */
  wider: RuleView | undefined;
  /** The user's own access class. */
  own: AccessClass | undefined;
  /** Whether the whole description is shown. */
  whole: boolean;
  onWhole: (name: string, whole: boolean) => void;
};

/** A row of the tool list: name, access class, and permission. */
export function ToolRow({ tool, wider, own, whole, onWhole }: Props) {
  const t = useMessages();
  const render = useRender();
  const { name, class: known } = tool;
  return (
    <div className={styles.tool}>
      <ActionIcon
        variant="subtle"
        color="gray"
        className={styles.open}
        aria-expanded={whole}
        aria-label={t("servers.tool.whole", { tool: name })}
        onClick={() => {
          onWhole(name, !whole);
        }}
      >
        <IconChevronRight size={16} aria-hidden />
      </ActionIcon>
      <div className={styles.text}>
        <div className={styles.name}>
          <strong>{tool.title ?? name}</strong> <code className="selectable">{tool.exposedName}</code>{" "}
          <Button
            size="compact-xs"
            variant="subtle"
            component="a"
            href={formatRoute({ page: "playground", server: tool.server, kind: "tool", item: name })}
            aria-label={t("playground.tryTool", { tool: tool.title ?? name })}
            leftSection={<IconPlayerPlay size={12} aria-hidden />}
          >
            {t("playground.try")}
          </Button>
        </div>
        {tool.description !== null && (
          <p className={whole ? clsx("dim", styles.whole, "selectable") : clsx("dim", styles.description)}>
            {tool.description}
          </p>
        )}
        <p className={clsx(styles.mark, styles[known.class])}>
          {known.class === "read" ? <IconEye size={14} aria-hidden /> : <IconPencil size={14} aria-hidden />}
          <span>{classLabel(t, known)}</span>
          <span className="dim">· {classReasonLabel(t, known.reason)}</span>
          {wider?.rule.effect === "allow" && (
            <span className={styles.free}>
              {t("servers.tool.free", { free: t(`preset.${autoApproveOfScope(wider.rule)}`) })}
            </span>
          )}
        </p>
        {known.class === "read" && known.reachesOutside && (
          <p className={clsx(styles.mark, "dim")}>
            <IconWorldShare size={14} aria-hidden /> {t("servers.tool.outside")}
          </p>
        )}
        {wider?.rule.effect === "deny" && (
          <p className={clsx(styles.mark, "dim")}>
            <IconShieldX size={14} aria-hidden /> {render(wider.sentence)}
          </p>
        )}
        {tool.permission.changed && (
          <p className={clsx(styles.mark, styles.flag)}>
            <IconHistory size={14} aria-hidden /> {t("servers.tool.changed")}
          </p>
        )}
        {tool.approvedVersions > 1 && (
          <p className={clsx(styles.mark, "dim")}>
            <IconVersions size={14} aria-hidden /> {t("servers.tool.versions", { count: tool.approvedVersions })}
          </p>
        )}
        {tool.flags.length > 0 && (
          <p className={clsx(styles.mark, styles.flag)}>
            <IconAlertTriangle size={14} aria-hidden /> {t("servers.flagged", { places: tool.flags })}
          </p>
        )}
      </div>
      <AccessClassSelect tool={tool} own={own} />
      <ToolPermission tool={tool} wider={wider?.rule} />
    </div>
  );
}

/** The word above that a wide rule stands behind. */
function autoApproveOfScope({ width }: Grant): AutoApprove {
  if (width.width === "reads" || width.width === "writes") return width.width;
  return "all";
}

/** The access class that the user sets for a tool. */
function AccessClassSelect({ tool: { server, name, class: known }, own }: Pick<Props, "tool" | "own">) {
  const t = useMessages();
  const classify = useAction("tools.classify");
  const auto =
    own === undefined ? t("servers.class.auto", { class: classLabel(t, known) }) : t("servers.class.byItself");
  return (
    <NativeSelect
      size="xs"
      className={styles.accessClass}
      aria-label={t("servers.class", { tool: name })}
      disabled={classify.busy}
      value={own ?? "auto"}
      data={[
        { value: "auto", label: auto },
        { value: "read", label: t("servers.class.read") },
        { value: "write", label: t("servers.class.write") },
      ]}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        void classify.run({ server, tool: name, class: chosen === "read" || chosen === "write" ? chosen : null });
      }}
    />
  );
}
