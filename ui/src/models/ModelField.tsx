import { Autocomplete, type AutocompleteProps } from "@mantine/core";

import type { ModelInfo } from "../generated/types";

type Props = Pick<
  AutocompleteProps,
  "label" | "description" | "error" | "disabled" | "onFocus" | "onBlur" | "placeholder"
> & {
  /** What the provider lists, as far as it is known; other ids can be typed. */
  models: readonly ModelInfo[];
  value: string;
  onChange: (model: string) => void;
  /** One of the listed models was picked. */
  onPick?: (model: string) => void;
};

/** The id of a model: one that the provider lists, or any other. */
export function ModelField({ models, value, onChange, onPick, ...field }: Props) {
  const names = new Map(models.map(({ id, name }) => [id, name]));
  // With a whole id in the field all are offered, so that another one can be picked at once.
  const isWhole = names.has(value);
  return (
    <Autocomplete
      {...field}
      classNames={{ input: "mono" }}
      spellCheck={false}
      autoComplete="off"
      maxDropdownHeight={220}
      limit={200}
      data={[...names.keys()]}
      value={value}
      onChange={onChange}
      {...(onPick && { onOptionSubmit: onPick })}
      {...(isWhole && { filter: ({ options }) => options })}
      renderOption={({ option }) => {
        const name = names.get(option.value);
        return (
          <span>
            <span className="mono">{option.value}</span>
            {name && name !== option.value && <span className="dim"> · {name}</span>}
          </span>
        );
      }}
    />
  );
}
