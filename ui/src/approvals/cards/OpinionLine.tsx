import { IconAlertCircle, IconAlertOctagon, IconInfoCircle, type TablerIcon } from "@tabler/icons-react";
import clsx from "clsx";
import { useContext, useEffect, useState } from "react";

import { seen } from "../../components/invisibleChars";
import { MarkedText } from "../../components/MarkedText";
import type { ApprovalId, CallHash, RiskLevel, RiskOpinion } from "../../generated/types";
import { useMessages } from "../../messages";
import { ApprovalModelsContext } from "../ApprovalModelsContext";
import styles from "./OpinionLine.module.css";

// No tick and no green: what a model finds harmless is not approved by that.
const icons: Record<RiskLevel, TablerIcon> = {
  low: IconInfoCircle,
  medium: IconAlertCircle,
  high: IconAlertOctagon,
};

type Props = {
  id: ApprovalId;
  hash: CallHash;
  /** Who is asked. */
  model: string;
};

/**
 * A model's opinion about a call (PERM-17). It comes after the card and takes the same height from the start, so that
 * nothing moves; no button knows of it. Has to be mounted anew for another call.
 */
export function OpinionLine({ id, hash, model }: Props) {
  const t = useMessages();
  const models = useContext(ApprovalModelsContext);
  const [opinion, setOpinion] = useState<RiskOpinion | "asked" | "none">("asked");
  useEffect(() => {
    let gone = false;
    const say = (said: RiskOpinion | null) => {
      if (!gone) setOpinion(said ?? "none");
    };
    const none = () => {
      say(null);
    };
    if (models) models.opinion({ id, hash }).then(say, none);
    return () => {
      gone = true;
    };
  }, [models, id, hash]);
  if (!models) return null;
  return (
    <div className={styles.opinion} role="status" tabIndex={0} data-testid="opinion">
      {opinion === "asked" ? (
        <span className="dim">{t("ask.opinion.asked", { model })}</span>
      ) : opinion === "none" ? (
        <span className="dim">{t("ask.opinion.none", { model })}</span>
      ) : (
        <Opinion opinion={opinion} />
      )}
    </div>
  );
}

function Opinion({ opinion: { level, sentence, model } }: { opinion: RiskOpinion }) {
  const t = useMessages();
  const Icon = icons[level];
  return (
    <>
      <span className="dim">{t("ask.opinion.of", { model })}</span>{" "}
      <strong className={clsx(styles.level, styles[level])}>
        <Icon size={15} aria-hidden /> {t(`ask.opinion.${level}`)}
      </strong>{" "}
      <MarkedText text={seen(sentence)} />
    </>
  );
}
