/** Focuses the first invalid field. */
export function focusFirstInvalidField(form: HTMLFormElement | null) {
  form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-fault] input')?.focus();
}
