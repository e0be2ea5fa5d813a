import { useMemo, type ReactNode } from "react";

import { DiffView } from "../../components/DiffView";
import { changeLines } from "../../components/diffLines";
import { MarkedText } from "../../components/MarkedText";
import { useMessages, type Translate } from "../../messages";
import { editPairOf, patchLinesOf, stringOf, type EditPair } from "./editPairs";
import type { JsonMember, JsonNode } from "./jsonTree";
import { displayText } from "./textBlocks";
import styles from "./JsonValue.module.css";

/** The value of an argument: objects and lists part by part, open until the user folds them. */
export function JsonValue({ member }: { member: JsonMember }): ReactNode {
  const t = useMessages();
  const { value } = member;
  if (value.kind === "scalar") return <ScalarText member={member} />;
  return (
    <Parts count={partsLabel(t, value)}>
      <JsonParts value={value} />
    </Parts>
  );
}

/** A text before and after an edit, as the lines that change. */
export function EditView({ pair: { before, after } }: { pair: EditPair }) {
  const t = useMessages();
  const [old, now] = [stringOf(before.value) ?? "", stringOf(after.value) ?? ""];
  const lines = useMemo(() => changeLines(old, now), [old, now]);
  const label = t("ask.diff", { before: before.name, after: after.name });
  return (
    <>
      <span className={styles.caption}>{label}</span>
      <DiffView inline label={label} lines={lines} />
    </>
  );
}

function ScalarText({ member }: { member: JsonMember }): ReactNode {
  const t = useMessages();
  const patch = useMemo(() => patchLinesOf(member), [member]);
  if (patch) return <DiffView inline label={t("ask.patch", { name: member.name })} lines={patch} />;
  return member.value.kind === "scalar" && <MarkedText text={displayText(member.value.text)} />;
}

/** Every part of an object or a list, each in its place; a pair of texts before and after an edit as a change. */
function JsonParts({ value }: { value: JsonNode }): ReactNode {
  if (value.kind === "scalar") return null;
  if (value.kind === "array")
    return value.items.map((item, at) => (
      <Part key={at} label={`[${String(at)}]`} member={{ name: "", value: item }} />
    ));
  const pair = editPairOf(value.members);
  return value.members.map((member) => {
    if (member === pair?.after) return null;
    if (member === pair?.before) return <EditView key={member.name} pair={pair} />;
    return <Part key={member.name} label={`"${member.name}":`} member={member} />;
  });
}

function Part({ label, member }: { label: string; member: JsonMember }) {
  const t = useMessages();
  const { value } = member;
  const name = (
    <span className={styles.name}>
      <MarkedText text={label} />
    </span>
  );
  if (value.kind === "scalar")
    return (
      <div>
        {name} <ScalarText member={member} />
      </div>
    );
  return (
    <Parts name={name} count={partsLabel(t, value)}>
      <JsonParts value={value} />
    </Parts>
  );
}

/** Parts that can be folded. Open at first: what is folded was seen before. */
function Parts({ name, count, children }: { name?: ReactNode; count: string; children: ReactNode }) {
  return (
    <details open className={styles.parts}>
      <summary>
        {name} <span className={styles.count}>{count}</span>
      </summary>
      {children}
    </details>
  );
}

function partsLabel(t: Translate, value: Exclude<JsonNode, { kind: "scalar" }>): string {
  return value.kind === "object"
    ? t("ask.fields", { count: value.members.length })
    : t("ask.items", { count: value.items.length });
}
