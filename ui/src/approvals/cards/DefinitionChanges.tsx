import type { FieldChange, FieldConcern } from "../../generated/types";
import { useMessages } from "../../messages";
import { FieldChanges, FieldsSection } from "./FieldChanges";

const concerns: readonly FieldConcern[] = ["safety", "shape", "words"];

/** What changed in the definition of a tool, field by field; what it claims about safety comes first. */
export function DefinitionChanges({ changes }: { changes: readonly FieldChange[] }) {
  const t = useMessages();
  return (
    <FieldsSection title={t("ask.changes")}>
      {concerns.map((concern) => {
        const own = changes.filter((change) => change.concern === concern);
        if (own.length === 0) return null;
        return (
          <div key={concern}>
            <h4>{t(`ask.concern.${concern}`)}</h4>
            <FieldChanges changes={own} />
          </div>
        );
      })}
    </FieldsSection>
  );
}
