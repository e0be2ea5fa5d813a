import clsx from "clsx";
import { Fragment, type ReactNode } from "react";

import type { FieldChange } from "../../generated/types";
import { useMessages } from "../../messages";
import { displayText } from "../arguments/textBlocks";
import { MarkedText } from "../../components/MarkedText";
import { seen } from "../../components/invisibleChars";
import { pointerParts } from "../../components/jsonPointer";
import styles from "./FieldChanges.module.css";

/** A framed part of a request about fields. It scrolls, also by keyboard. */
export function FieldsSection({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={clsx(styles.fields, "selectable")} tabIndex={0} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Fields with their values before and after a change. */
export function FieldChanges({ changes }: { changes: readonly FieldChange[] }) {
  const t = useMessages();
  return changes.map((change) => (
    <dl key={change.pointer} className={styles.field}>
      <FieldName pointer={change.pointer} />
      <dd className={styles.before}>
        <span>{t("ask.before")}</span> <Value text={change.before} />
      </dd>
      <dd className={styles.after}>
        <span>{t("ask.after")}</span> <Value text={change.after} />
      </dd>
    </dl>
  ));
}

/** Fields of something new, with their values. */
export function NewFields({ changes }: { changes: readonly FieldChange[] }) {
  return changes.map((change) => (
    <dl key={change.pointer} className={styles.field}>
      <FieldName pointer={change.pointer} />
      <dd>
        <Value text={change.after} />
      </dd>
    </dl>
  ));
}

/** Names that stand without quotes. Others could pass for several parts. */
const plainName = /^[\p{L}\p{N}_$-]+$/u;

/** Where a field is, part by part. */
function FieldName({ pointer }: { pointer: string }) {
  return (
    <dt>
      {pointerParts(pointer).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <span className={styles.into}> › </span>}
          <MarkedText text={seen(plainName.test(part) ? part : JSON.stringify(part))} />
        </Fragment>
      ))}
    </dt>
  );
}

function Value({ text }: { text: string | null }) {
  const t = useMessages();
  return text === null ? <em>{t("ask.absent")}</em> : <MarkedText text={seen(displayText(text))} />;
}
