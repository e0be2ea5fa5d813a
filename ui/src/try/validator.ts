import { ErrorSchemaBuilder, toErrorList, type RJSFSchema, type ValidatorType } from "@rjsf/utils";

import type { Translate } from "../messages";
import { faultsOf, fits } from "./check";

/** The form's validator. The usual one compiles its schemas, which the content security policy refuses. */
export function validatorIn(t: Translate): ValidatorType {
  return {
    validateFormData: (value: unknown, schema) => {
      const builder = new ErrorSchemaBuilder();
      for (const { path, key, values } of faultsOf(schema, value)) builder.addErrors(t(key, values), path);
      return { errors: toErrorList(builder.ErrorSchema), errorSchema: builder.ErrorSchema };
    },
    isValid: (schema, value: unknown, root) => fits(withDefinitions(schema, root), value),
    rawValidation: (schema, value) => ({ errors: faultsOf(schema, value) as never[] }),
  };
}

/** A part of a schema, with what it may refer to. */
function withDefinitions(schema: RJSFSchema, root: RJSFSchema): RJSFSchema {
  if (schema === root) return schema;
  const { definitions, $defs } = root;
  return { ...(definitions && { definitions }), ...($defs && { $defs }), ...schema };
}
