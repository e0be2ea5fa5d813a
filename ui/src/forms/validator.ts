import { ErrorSchemaBuilder, toErrorList, type RJSFSchema, type ValidatorType } from "@rjsf/utils";

import type { Translate } from "../messages";
import { fits, schemaErrors, type SchemaError } from "./schemaErrors";

/** The validator of forms. The usual one compiles its schemas, which the content security policy refuses. */
export function validatorIn(t: Translate): ValidatorType {
  return {
    validateFormData: (value: unknown, schema) => {
      const builder = new ErrorSchemaBuilder();
      for (const { path, key, values } of formErrors(schema, value)) builder.addErrors(t(key, values), path);
      return { errors: toErrorList(builder.ErrorSchema), errorSchema: builder.ErrorSchema };
    },
    isValid: (schema, value: unknown, root) => fits(withDefinitions(schema, root), value),
    rawValidation: (schema, value) => ({ errors: schemaErrors(schema, value) as never[] }),
  };
}

/** What is wrong with a value that was typed into fields: also integers that the page cannot hold as they were typed. */
export function formErrors(schema: object, value: unknown): SchemaError[] {
  return [...schemaErrors(schema, value), ...inexact(value, [])];
}

function inexact(value: unknown, path: string[]): SchemaError[] {
  if (typeof value === "number")
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? [{ path, rule: "type", key: "fault.unsafe", values: {} }]
      : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => inexact(member, [...path, name]));
}

/** A part of a schema, with what it may refer to. */
function withDefinitions(schema: RJSFSchema, root: RJSFSchema): RJSFSchema {
  if (schema === root) return schema;
  const { definitions, $defs } = root;
  return { ...(definitions && { definitions }), ...($defs && { $defs }), ...schema };
}
