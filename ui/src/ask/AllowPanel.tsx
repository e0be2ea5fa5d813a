import { useState } from "react";

import type { CallAsk, GrantChoice } from "../gen/types";
import { useMessages } from "../messages";
import { atFirst, chosen, lasting } from "./choices";
import { Choices } from "./Choices";
import { Panel } from "./Panel";
import { choiceSentence } from "./words";

type Props = { call: CallAsk; onAllow: (choice: GrantChoice) => void; onBack: () => void };

/** Every choice that lasts: what, how long, for whom, and only when. */
export function AllowPanel({ call, onAllow, onBack }: Props) {
  const t = useMessages();
  const offered = lasting(call.choices);
  const [picked, setPicked] = useState(() => atFirst(offered));
  const choice = chosen(offered, picked);
  return (
    <Panel
      label={t("ask.allowMore")}
      deed={choice && choiceSentence(t, choice, call)}
      onDo={() => {
        if (choice) onAllow(choice);
      }}
      onBack={onBack}
    >
      <Choices call={call} offered={offered} picked={picked} onPick={setPicked} />
    </Panel>
  );
}
