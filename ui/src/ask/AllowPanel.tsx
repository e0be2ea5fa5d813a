import { useState } from "react";

import type { CallAsk, ChoiceWidth, GrantChoice } from "../gen/types";
import { useMessages } from "../messages";
import { AskButton } from "./AskButton";
import { atFirst, chosen, conditions, lifetimes, pick, widths } from "./choices";
import { Choice } from "./Choice";
import { choiceSentence, conditionWords, lifetimeWords, widthWords } from "./words";

type Props = { call: CallAsk; awake: boolean; onAllow: (choice: GrantChoice) => void; onBack: () => void };

/** Every choice that lasts: what, how long, for whom, and only when. The button says the whole deed. */
export function AllowPanel({ call, awake, onAllow, onBack }: Props) {
  const t = useMessages();
  const { choices } = call;
  const [picked, setPicked] = useState(() => atFirst(choices));
  const choice = chosen(choices, picked);
  const proposals = conditions(choices, picked.width);
  const canBeForEvery = chosen(choices, { ...picked, everyClient: true }) !== null;
  const change = (part: Parameters<typeof pick>[2]) => {
    setPicked(pick(choices, picked, part));
  };
  return (
    <section className="ask-panel">
      <Choice
        label={t("ask.howWide")}
        options={widths(choices).map((width: ChoiceWidth) => [width, widthWords(t, { width }, call)])}
        value={picked.width}
        onChange={(width) => {
          change({ width });
        }}
      />
      {proposals.length > 0 && (
        <Choice
          label={t("ask.onlyWhen")}
          options={[
            ["", t("ask.everyArgument")],
            ...proposals.map((one): [string, string] => [JSON.stringify(one), conditionWords(t, one)]),
          ]}
          value={picked.condition === null ? "" : JSON.stringify(picked.condition)}
          onChange={(text) => {
            change({ condition: proposals.find((one) => JSON.stringify(one) === text) ?? null });
          }}
        />
      )}
      <Choice
        label={t("ask.howLong")}
        options={lifetimes(choices, picked).map((lifetime) => [lifetime, lifetimeWords(t, lifetime, call)])}
        value={picked.lifetime}
        onChange={(lifetime) => {
          change({ lifetime });
        }}
      />
      {canBeForEvery && (
        <label className="ask-option">
          <input
            type="checkbox"
            checked={picked.everyClient}
            onChange={(event) => {
              change({ everyClient: event.currentTarget.checked });
            }}
          />
          {t("ask.everyClient", { client: call.client.name })}
        </label>
      )}
      {choice && (
        <p className="ask-sentence" aria-live="polite">
          {choiceSentence(t, choice, call)}
        </p>
      )}
      <div className="ask-buttons">
        <button type="button" className="ask-button" onClick={onBack}>
          {t("ask.back")}
        </button>
        {choice && (
          <AskButton
            awake={awake}
            strong
            label={choiceSentence(t, choice, call)}
            onPress={() => {
              onAllow(choice);
            }}
          >
            {t("ask.allow")}
          </AskButton>
        )}
      </div>
    </section>
  );
}
