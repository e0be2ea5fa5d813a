import type { RJSFSchema } from "@rjsf/utils";

import { SchemaForm } from "./SchemaForm";
import { buttons } from "./formButtons";

type Props = {
  schema: RJSFSchema;
  value: unknown;
  onChange: (value: unknown, isByUser: boolean) => void;
  onSend: (value: unknown) => void;
  id: string;
};

/** The arguments of a tool as a form made from its schema. Its button is elsewhere: it names this form by `id`. */
export function ArgumentsForm({ schema, value, onChange, onSend, id }: Props) {
  return (
    <SchemaForm schema={schema} value={value} onChange={onChange} submit={{ id, onSubmit: onSend }} buttons={buttons} />
  );
}
