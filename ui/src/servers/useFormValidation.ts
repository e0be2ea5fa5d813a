// Validation of a server's form: what is wrong with its fields, and actions that wait until nothing is.

import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";

import type { ServerConfig, UserError } from "../generated/types";
import { focusFirstInvalidField } from "./focusFirstInvalidField";
import { faultsOf, formErrorOf, formSyntax, toValidation, type FormFaults, type ServerForm } from "./serverForm";
import { useServerValidation } from "./useServerValidation";

export type FormValidation<Action extends string> = {
  /** What is wrong with the form, as far as the core has answered. */
  faults: FormFaults;
  /** What is wrong with the form and belongs to none of its fields. */
  formError: UserError | null;
  /** Whether an action was refused because of faults. */
  wasRefused: boolean;
  /** The action that is under way, from the validation to the end of what it runs. */
  pending: Action | null;
  /**
   * Validates the form and runs an action if nothing is wrong; else it focuses the first invalid field. Only one
   * action is under way at a time. It is dropped if the form changes or closes before the core answers.
   */
  begin: (action: Action, run: () => Promise<void> | void, onError: (thrown: unknown) => void) => Promise<void>;
};

/** `before` is the server that is edited, and `fields` the element with the form's fields. */
export function useFormValidation<Action extends string>(
  form: ServerForm,
  fields: RefObject<HTMLFormElement | null>,
  before?: ServerConfig,
): FormValidation<Action> {
  const { report, validate } = useServerValidation(toValidation(form, before));
  const syntax = formSyntax(form);
  const [pending, setPending] = useState<Action | null>(null);
  const isBusy = useRef(false);
  /** How often an action was refused. */
  const [refusals, setRefusals] = useState(0);
  /** Counts the changes of the form; closing it is one too. */
  const revision = useRef(0);
  useLayoutEffect(
    () => () => {
      revision.current += 1;
    },
    [form, before],
  );
  useEffect(() => {
    if (refusals > 0) focusFirstInvalidField(fields.current);
  }, [refusals, fields]);

  const begin = async (action: Action, run: () => Promise<void> | void, onError: (thrown: unknown) => void) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setPending(action);
    const validated = revision.current;
    try {
      const { problems } = await validate();
      if (revision.current !== validated) return;
      if (problems.length === 0 && Object.keys(syntax).length === 0) await run();
      else setRefusals((count) => count + 1);
    } catch (thrown) {
      if (revision.current === validated) onError(thrown);
    } finally {
      isBusy.current = false;
      setPending(null);
    }
  };
  // The same error for as long as the report is: what shows it is scrolled to when it is another one.
  const formError = useMemo(() => formErrorOf(report?.problems ?? []), [report]);
  return {
    faults: { ...faultsOf(report?.problems ?? []), ...syntax },
    formError,
    wasRefused: refusals > 0,
    pending,
    begin,
  };
}
