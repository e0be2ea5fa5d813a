import type { CallAsk, GrantChoice } from "../gen/types";
import { useMessages } from "../messages";
import { Choice } from "./Choice";
import { chosen, conditions, lifetimes, pick, widths, type Picked } from "./choices";
import { conditionWords, lifetimeWords, widthWords } from "./words";

type Props = { call: CallAsk; offered: readonly GrantChoice[]; picked: Picked; onPick: (picked: Picked) => void };

/** The parts of an answer that goes on: what, only when, how long, and for whom. */
export function Choices({ call, offered, picked, onPick }: Props) {
  const t = useMessages();
  const proposals = conditions(offered, picked.width);
  const canBeForEvery = chosen(offered, { ...picked, everyClient: true }) !== null;
  const change = (part: Partial<Picked>) => {
    onPick(pick(offered, picked, part));
  };
  return (
    <>
      <Choice
        label={t("ask.howWide")}
        options={widths(offered).map((width) => [width, widthWords(t, { width }, call)])}
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
        options={lifetimes(offered, picked).map((lifetime) => [lifetime, lifetimeWords(t, lifetime, call)])}
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
    </>
  );
}
