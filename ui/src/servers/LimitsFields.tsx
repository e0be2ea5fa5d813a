import { Checkbox, NativeSelect, NumberInput, Stack, Textarea } from "@mantine/core";
import { useState } from "react";

import { useMessages, useRender } from "../messages";
import {
  amounts,
  callAmounts,
  isCallAmount,
  minimumAmounts,
  type CallAmountName,
  type FormFaults,
  type LimitsForm,
} from "./serverForm";
import { Collapse } from "../components/Collapse";
import styles from "./LimitsFields.module.css";

const otherAmounts = amounts.filter((name) => !isCallAmount(name));

type Props = { limits: LimitsForm; faults: FormFaults; onChange: (limits: LimitsForm) => void };

/** What a server is held to. Open from the beginning where something in it is wrong. */
export function LimitsFields({ limits, faults, onChange }: Props) {
  const t = useMessages();
  const render = useRender();
  const [opened, setOpened] = useState(false);
  const said = (key: keyof FormFaults) => {
    const fault = faults[key];
    return fault === undefined ? null : render(fault);
  };
  const isWrong = amounts.some((name) => name in faults) || "roots" in faults;
  // It stays open when the fault is mended: nothing goes away while somebody types in it.
  if (isWrong && !opened) setOpened(true);
  return (
    <Collapse label={t("servers.form.limits")} opened={opened} onOpened={setOpened}>
      <Stack gap="sm">
        <div className={styles.limits}>
          {callAmounts.map((name) => (
            <CallLimit
              key={name}
              name={name}
              value={limits[name]}
              error={said(name)}
              onChange={(value) => {
                onChange({ ...limits, [name]: value });
              }}
            />
          ))}
          {otherAmounts.map((name) => (
            <NumberInput
              key={name}
              label={t(`servers.form.limit.${name}`)}
              description={name === "healthEverySecs" ? t("servers.form.limit.healthEverySecsHint") : undefined}
              inputWrapperOrder={["label", "input", "description", "error"]}
              min={minimumAmounts[name]}
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
    </Collapse>
  );
}

type CallLimitProps = {
  name: CallAmountName;
  value: number | string;
  error: string | null;
  onChange: (value: number | string) => void;
};

/** How long a call may take: as set for all servers, so many seconds, or as long as it wants. */
function CallLimit({ name, value, error, onChange }: CallLimitProps) {
  const t = useMessages();
  const label = t(`servers.form.limit.${name}`);
  const mode = value === "default" || value === "none" ? value : "own";
  return (
    <div className={styles.callLimit}>
      <NativeSelect
        label={label}
        description={t(`servers.form.limit.${name}Hint`)}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={(["default", "own", "none"] as const).map((one) => ({
          value: one,
          label: t(`servers.form.callLimit.${one}`),
        }))}
        value={mode}
        onChange={(event) => {
          const wanted = event.currentTarget.value;
          onChange(wanted === "own" ? usualSecs[name] : wanted);
        }}
      />
      {mode === "own" && (
        <NumberInput
          aria-label={t("servers.form.callLimit.secs", { limit: label })}
          min={minimumAmounts[name]}
          allowDecimal={false}
          allowNegative={false}
          hideControls
          suffix=" s"
          value={value}
          error={error}
          onChange={onChange}
        />
      )}
    </div>
  );
}

/** What a limit of its own begins with. */
const usualSecs: Record<CallAmountName, number> = { callSecs: 300, callCapSecs: 3600 };
