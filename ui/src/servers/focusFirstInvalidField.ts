/** Puts the keyboard into the first field that is wrong. */
export function toFirstFault(form: HTMLFormElement | null) {
  form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-fault] input')?.focus();
}
