import { Alert, Button, TextInput } from "@mantine/core";
import { IconBan, IconCheck, IconSearch } from "@tabler/icons-react";
import { useState } from "react";

import { ruleSentence } from "../ask/rules";
import { useAction } from "../core/useAction";
import { useNames } from "../core/useNames";
import { useReading } from "../core/useReading";
import { useMessages, useTimes } from "../messages";
import { Section } from "./Section";

/** Every rule in words, each to be taken back. */
export function Rules() {
  const t = useMessages();
  const { full } = useTimes();
  const names = useNames();
  const policy = useReading("policy.show", {}).data;
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const [filter, setFilter] = useState("");
  const all = (policy?.rules ?? []).map(({ rule }) => ({ rule, sentence: ruleSentence(t, rule, names) }));
  const shown = all.filter(({ sentence }) => sentence.toLowerCase().includes(filter.trim().toLowerCase()));
  return (
    <Section title={t("settings.rules")} text={t("settings.rulesText")}>
      {policy?.verified === false && (
        <Alert color="red">{[t("settings.unverified"), policy.problem].filter(Boolean).join(" ")}</Alert>
      )}
      {all.length > 5 && (
        <TextInput
          size="sm"
          aria-label={t("settings.rulesFilter")}
          placeholder={t("settings.rulesFilter")}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={filter}
          onChange={(event) => {
            setFilter(event.currentTarget.value);
          }}
        />
      )}
      {policy && all.length === 0 && <p className="settings-dim">{t("settings.noRules")}</p>}
      <ul className="rules">
        {shown.map(({ rule, sentence }) => (
          <li key={rule.id} className={`rule rule-${rule.effect}`}>
            {rule.effect === "allow" ? <IconCheck size={16} aria-hidden /> : <IconBan size={16} aria-hidden />}
            <span className="rule-words">
              {sentence} <span className="settings-dim">{t("settings.since", { date: full(rule.created) })}</span>
            </span>
            <Button
              size="xs"
              variant="default"
              aria-label={t("settings.takeBackRule", { rule: sentence })}
              onClick={() => void (rule.effect === "deny" ? unblock : revoke).run({ rule: rule.id })}
            >
              {t("settings.takeBack")}
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
