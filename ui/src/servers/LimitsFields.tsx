import { Checkbox, NumberInput, Stack, Textarea } from "@mantine/core";
import { useState } from "react";

import { useMessages } from "../messages";
import { amounts, least, type Faults, type LimitsForm } from "./form";
import { Unfold } from "./Unfold";

type Props = { limits: LimitsForm; faults: Faults; onChange: (limits: LimitsForm) => void };

/** What a server is held to. Open from the beginning where something in it is wrong. */
export function LimitsFields({ limits, faults, onChange }: Props) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const said = (key: keyof Faults) => {
    const fault = faults[key];
    return fault === undefined ? null : t(fault);
  };
  const isWrong = amounts.some((name) => name in faults) || "roots" in faults;
  // It stays open when the fault is mended: nothing goes away while somebody types in it.
  if (isWrong && !opened) setOpened(true);
  return (
    <Unfold label={t("servers.form.limits")} opened={opened} onOpened={setOpened}>
      <Stack gap="sm">
        <div className="limits">
          {amounts.map((name) => (
            <NumberInput
              key={name}
              label={t(`servers.form.limit.${name}`)}
              description={name === "callSecs" || name === "healthEverySecs" ? t(`servers.form.limit.${name}Hint`) : undefined}
              inputWrapperOrder={["label", "input", "description", "error"]}
              min={least[name]}
              allowDecimal={false}
              allowNegative={false}
              hideControls
              value={limits[name]}
              error={said(name)}
              onChange={(value) => {
                onChange({ ...limits, [name]: value });
              }}
            />
          ))}
        </div>
        <Checkbox
          label={t("servers.form.strict")}
          description={t("servers.form.strictHint")}
          checked={limits.strict}
          onChange={(event) => {
            onChange({ ...limits, strict: event.currentTarget.checked });
          }}
        />
        <Textarea
          label={t("servers.form.roots")}
          description={t("servers.form.rootsHint")}
          classNames={{ input: "mono" }}
          rows={3}
          spellCheck={false}
          value={limits.roots}
          error={said("roots")}
          onChange={(event) => {
            onChange({ ...limits, roots: event.currentTarget.value });
          }}
        />
      </Stack>
    </Unfold>
  );
}
