import { useState } from "react";

import type { CallApprovalRequest, GrantChoice } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { atFirst, chosen, lasting } from "./grantChoices";
import { Choices } from "./GrantOptions";
import { Panel } from "./AnswerPanel";

type Props = { call: CallApprovalRequest; onAllow: (choice: GrantChoice) => void; onBack: () => void };

/** Every choice that lasts: what, how long, for whom, and only when. */
export function AllowPanel({ call, onAllow, onBack }: Props) {
  const t = useMessages();
  const render = useRender();
  const offered = lasting(call.choices);
  const [picked, setPicked] = useState(() => atFirst(offered));
  const answer = chosen(offered, picked, call.conditions);
  return (
    <Panel
      label={t("ask.allowMore")}
      deed={answer && render(answer.sentence)}
      onDo={() => {
        if (answer) onAllow(answer.choice);
      }}
      onBack={onBack}
    >
      <Choices call={call} offered={offered} picked={picked} onPick={setPicked} />
    </Panel>
  );
}
